import { type Kysely, sql } from 'kysely';
import { lockTables } from './shared/lock-tables.ts';

const LOCKED = [
  'projects',
  'tokens',
  'flywheels',
  'api_keys',
  'batches',
  'pipelines',
  'created_token_accounts',
  'bundles',
] as const;

/**
 * Lets the settled batches of a project be in a database in which the project is not: a move to another shard copies them before it,
 * and removes them after it. A batch refers to the pair of its flywheel and its project, which still binds the two to each other;
 * the trigger stores the pair for processes of every release.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ schema: string }>`select current_schema() as schema`.execute(db);
  const schema = sql.id(rows[0]?.schema ?? 'public');
  // A foreign key is dropped on both of its tables.
  await lockTables(db, LOCKED);
  await sql`
    create table flywheel_owners (
      flywheel_id uuid primary key,
      project_id uuid not null,
      unique (flywheel_id, project_id)
    );
    insert into flywheel_owners (flywheel_id, project_id) select id, project_id from flywheels;
    create function own_flywheel() returns trigger
    language plpgsql security definer set search_path = ${schema}, pg_temp as $$
    begin
      insert into flywheel_owners (flywheel_id, project_id) values (new.id, new.project_id) on conflict do nothing;
      return null;
    end $$;
    revoke all on function own_flywheel from public;
    create trigger flywheel_is_owned after insert on flywheels for each row execute function own_flywheel();
    alter table batches
      drop constraint batches_flywheel_of_project,
      drop constraint batches_project_id_fkey,
      drop constraint batches_token_id_fkey,
      drop constraint batches_key_id_fkey,
      add constraint batches_flywheel_of_project foreign key (flywheel_id, project_id)
        references flywheel_owners (flywheel_id, project_id);
    alter table pipelines drop constraint pipelines_project_id_fkey;
    alter table created_token_accounts drop constraint created_token_accounts_project_id_fkey;
    -- It was for a sum that is now kept by day.
    drop index bundles_settled;
  `.execute(db);
}
