/** A kind of process, which has its own rights in the database. */
export type DatabaseRole = 'serve' | 'work';

/**
 * Statements that a role may run on a table. Locking a row needs the right to update one of its columns, any one; a clause
 * `returning` or `where` needs the right to select.
 */
export interface Rights<Column extends string = string> {
  readonly select?: true;
  /** Columns that an insert may name; the others get their defaults. */
  readonly insert?: readonly Column[] | 'all';
  readonly update?: readonly Column[] | 'all';
  readonly delete?: true;
  /** Rebuilding indexes (PostgreSQL 17, `MAINTAIN`). */
  readonly maintain?: true;
  /** Calling a function that has the rights of the tables' owner. */
  readonly execute?: true;
}

export type RightsOfTable<Column extends string> = { readonly [R in DatabaseRole]: Rights<Column> };

export const NONE = {} as const;
export const ALL = { select: true, insert: 'all', update: 'all', delete: true } as const;
