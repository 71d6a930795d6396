import * as z from 'zod';
import { pageCursor, pageLimit } from '../console-schemas/values.ts';
import { givenId } from '../given-id.ts';

export const projectParams = z.object({ projectId: givenId });
export const batchParams = z.object({ projectId: givenId, batchId: givenId });
export const keyParams = z.object({ projectId: givenId, keyId: givenId });

export const page = { cursor: pageCursor, limit: pageLimit(50) };
