import { ApiError } from '@flywheel/api';

/** First letter of a cursor, so that the cursor of one list is not accepted by another. */
export type CursorKind = 'b' | 'd' | 'e';

export interface Page<Row> {
  readonly rows: readonly Row[];
  /** null on the last page. */
  readonly nextCursor: string | null;
}

/**
 * Builds a page of a list that is read newest first. The cursor is the number of the page's last row.
 * @param found the rows of the page, and one more if there is a next page.
 */
export function pageOf<Row>(
  kind: CursorKind,
  found: readonly Row[],
  { limit, numberOf }: { readonly limit: number; readonly numberOf: (row: Row) => bigint },
): Page<Row> {
  const rows = found.slice(0, limit);
  const last = rows.at(-1);
  return { rows, nextCursor: found.length > limit && last !== undefined ? `${kind}${numberOf(last)}` : null };
}

/**
 * Parses a cursor to the number below which the page begins; null for the first page.
 * @throws ApiError ERR_INVALID_REQUEST for a cursor that this list did not return.
 */
export function parseCursor(kind: CursorKind, cursor: string | undefined): bigint | null {
  if (cursor === undefined) return null;
  // Eighteen digits always fit the database's bigint.
  const number = cursor.startsWith(kind) ? /^[1-9]\d{0,17}$/.exec(cursor.slice(kind.length)) : null;
  if (number !== null) return BigInt(number[0]);
  throw new ApiError('ERR_INVALID_REQUEST', {
    place: 'query.cursor',
    problem: 'is not a cursor of this list.',
  });
}
