import { type Kysely, sql } from 'kysely';

/**
 * Binds the project and the flywheel of a batch to each other. Workers read the rules of the one and the pause of the other,
 * and HTTP processes write both.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table flywheels add constraint flywheels_of_project unique (id, project_id);
    alter table batches
      drop constraint batches_flywheel_id_fkey,
      add constraint batches_flywheel_of_project foreign key (flywheel_id, project_id) references flywheels (id, project_id);
  `.execute(db);
}
