import { type Kysely, sql } from 'kysely';

/** Stores the operator whose key is lost, while the recovery key acts in its place. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table flywheels add column lost_operator text;
    alter table flywheels add constraint only_recovered_operators_are_lost
      check (lost_operator is null or operator = recovery);
  `.execute(db);
}
