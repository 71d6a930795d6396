import { type Kysely, sql } from 'kysely';
import { lockTables } from './shared/lock-tables.ts';

/**
 * Compares what all projects together use that the company has not admitted with their caps while the transaction of a new batch
 * commits. Their requests wait for each other at this comparison, so nothing else may happen during it: the lock is taken by
 * the commit itself. The process passes the caps in the setting `flywheel.unadmitted_caps`, as JSON of the day and two amounts;
 * one of the previous release passes none, and takes the same lock for a comparison of its own.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ schema: string }>`select current_schema() as schema`.execute(db);
  const schema = sql.id(rows[0]?.schema ?? 'public');
  await lockTables(db, ['batches']);
  await sql`
    create function unadmitted_use(of_day date) returns table (locked numeric, spent numeric)
    language sql stable as $$
      select coalesce(sum(locked_lamports), 0),
        coalesce(sum(reserved_lamports), 0) + (
          select coalesce(sum(lamports), 0) from daily_spending
          where day = of_day and not exists (
            select from flywheels join company_admissions on company_admissions.multisig = flywheels.multisig
            where flywheels.project_id = daily_spending.project_id and archived_at is null
          )
        )
      from batches
      where (locked_lamports > 0 or reserved_lamports > 0) and not exists (
        select from flywheels join company_admissions on company_admissions.multisig = flywheels.multisig
        where flywheels.id = batches.flywheel_id
      )
    $$;
    create function keep_unadmitted_caps() returns trigger
    language plpgsql set search_path = ${schema}, pg_temp as $$
    declare
      caps json := nullif(current_setting('flywheel.unadmitted_caps', true), '')::json;
      used record;
    begin
      if caps is null then
        return null;
      end if;
      perform pg_advisory_xact_lock(${sql.lit(UNADMITTED_LOCK)});
      -- A statement of its own, which sees what was committed before the lock was free.
      select * into used from unadmitted_use((caps ->> 'day')::date);
      if used.locked > (caps ->> 'locked')::numeric or used.spent > (caps ->> 'spent')::numeric then
        raise exception 'The projects that are not admitted have reached a cap.'
          using errcode = 'FWCAP', detail = json_build_object('use', json_build_object(
            'locked', used.locked::text, 'spent', used.spent::text
          ), 'caps', caps)::text;
      end if;
      return null;
    end $$;
    create constraint trigger unadmitted_caps_are_kept after insert on batches
      deferrable initially deferred for each row execute function keep_unadmitted_caps();
  `.execute(db);
}

/** The lock that processes of the previous release take for their comparison. */
const UNADMITTED_LOCK = 0x63617073; // 'caps'
