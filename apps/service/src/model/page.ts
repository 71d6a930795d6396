import { ApiError } from '@flywheel/api';

/** What a cursor begins with: one list's is none of another's. */
export type CursorKind = 'b' | 'e';

export interface Page<Row> {
  readonly rows: readonly Row[];
  /** null on the last page. */
  readonly nextCursor: string | null;
}

/**
 * A page of a list that is read newest first. Its cursor is the number of the last row seen, in our own words.
 * @param found one row more than the page may hold, where there are as many.
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
 * The number below which the page begins; null for the first page.
 * @throws ApiError ERR_INVALID_REQUEST for a cursor that is none of ours.
 */
export function parseCursor(kind: CursorKind, cursor: string | undefined): bigint | null {
  if (cursor === undefined) return null;
  // Eighteen digits always fit the database's bigint.
  const number = cursor.startsWith(kind) ? /^[1-9]\d{0,17}$/.exec(cursor.slice(kind.length)) : null;
  if (number !== null) return BigInt(number[0]);
  throw new ApiError('ERR_INVALID_REQUEST', {
    place: 'query.cursor',
    problem: 'is none that this operation answered.',
  });
}
