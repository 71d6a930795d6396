import * as z from 'zod';

/** An id as a caller gives it; parsed, as the database writes it. */
export const givenId = z.guid().toLowerCase();
