import type { Page } from '../../model/page.ts';

/** As the wire says beside the query’s `limit`. */
const DEFAULT_ROWS = 50;

export interface AskedPage {
  readonly cursor: string | undefined;
  readonly limit: number;
}

/** What a query asks of a list. */
export function askedPage(
  { cursor, limit }: { readonly cursor?: string | undefined; readonly limit?: string | undefined },
  defaultRows = DEFAULT_ROWS,
): AskedPage {
  return { cursor, limit: limit === undefined ? defaultRows : Number(limit) };
}

/** What an answer says of the page after it: nothing on the last. */
export function presentNext({ nextCursor }: Pick<Page<unknown>, 'nextCursor'>): { readonly nextCursor?: string } {
  return nextCursor === null ? {} : { nextCursor };
}
