import { type Kysely, sql } from 'kysely';

/**
 * Stores the recovery key of a multisig: a member that proposes and executes if the operator's key is lost. Multisigs of
 * earlier releases have none, and none can be added to them by this service.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table flywheels add column recovery text`.execute(db);
}
