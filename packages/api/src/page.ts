import * as z from 'zod';

/** Largest number of entries in a page of any list. */
export const MAX_PAGE_SIZE = 100;
/** Entries in a page of the console's lists, unless the query says how many. */
export const DEFAULT_PAGE_SIZE = 50;
/** Batches in a page of `GET /v1/flywheel/batches`, unless the query says how many. */
export const DEFAULT_BATCHES_PAGE_SIZE = 20;

/** A page's limit as text: 1 to `MAX_PAGE_SIZE` without a leading zero. */
export const PAGE_LIMIT = /^([1-9]\d?|100)$/;

/** Query parameter: maximum number of entries of a page. Numbers in a query are text. */
export function pageLimit(byDefault: number, entries = 'entries') {
  return z
    .string()
    .regex(PAGE_LIMIT, `must be a number from 1 to ${MAX_PAGE_SIZE}`)
    .optional()
    .describe(`Maximum number of ${entries}; default ${byDefault}.`);
}

export const pageCursor = z.string().max(64).optional().describe('`nextCursor` of the previous page.');

export const nextCursor = z
  .string()
  .optional()
  .describe('Pass it as `cursor` to get the next page; absent on the last page.');
