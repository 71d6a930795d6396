import { type CompiledQuery, type RawBuilder, sql } from 'kysely';
import type { Db } from './db.ts';

/** Stands in a statement for a value that is given when it runs. */
export type Slots<Values> = <Name extends keyof Values & string>(name: Name) => RawBuilder<Values[Name]>;

/**
 * Prepares a statement that every request needs: its text is built with the first use, and later ones only give their values.
 * Building the text of a long one takes as long as everything else that the process does for it.
 */
export function prepare<Values extends object, Row>(
  build: (db: Db, slot: Slots<Values>) => { compile(db: Db): CompiledQuery<Row> },
): (db: Db, values: Values) => Promise<readonly Row[]> {
  let built: CompiledQuery<Row> | null = null;
  return async (db, values) => {
    built ??= build(db, (name) => sql.val(new Slot(name)) as RawBuilder<Values[typeof name]>).compile(db);
    const given: ReadonlyMap<string, unknown> = new Map(Object.entries(values));
    const parameters = built.parameters.map((value) => (value instanceof Slot ? given.get(value.name) : value));
    const { rows } = await db.executeQuery<Row>({ ...built, parameters });
    return rows;
  };
}

/**
 * Selecting this in a transaction makes PostgreSQL plan each later statement of it once per connection. By default PostgreSQL
 * plans a statement again with each use if the values at hand seem to save work, and planning a long one takes longer than that
 * work.
 */
export const planOnce = sql`set_config('plan_cache_mode', 'force_generic_plan', true)`;

class Slot {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}
