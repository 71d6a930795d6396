import { type Kysely, sql } from 'kysely';
import { lockTables } from './shared/lock-tables.ts';

/**
 * Keeps the sums of what the batches of a day use of the company's caps, so that init reads one row for each of its recipients and
 * types, however many batches the day has. Also tells which token accounts were looked up on chain: init counts those of a batch
 * without asking, as long as the cap has room for all of them.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ schema: string }>`select current_schema() as schema`.execute(db);
  const schema = sql.id(rows[0]?.schema ?? 'public');
  await lockTables(db, ['policy_uses']);
  await sql`
    create table policy_sums (
      project_id uuid not null,
      day date not null,
      -- A token account's amount is the number of batches that count it. One row has the number of a day's token accounts that
      -- any batch counts; its subject is empty.
      kind text not null check (kind in ('recipient', 'type', 'token-account', 'token-accounts')),
      subject text not null,
      amount numeric not null,
      -- The day comes first, so that old rows are found for deletion.
      primary key (day, project_id, kind, subject)
    );

    -- The columns of the table by name: a later release may add one.
    create type policy_sum as (project_id uuid, day date, kind text, subject text, amount numeric);

    -- Triggers keep the sums, so that every writer counts alike, one of the release before included. Rows are locked in one order.
    create function keep_policy_sums() returns trigger
    language plpgsql security definer set search_path = ${schema}, pg_temp as $$
    declare
      changes policy_sum[] := '{}';
    begin
      if tg_op <> 'INSERT' then
        changes := array(
          select row(project_id, day, kind, subject, -sum(amount))::policy_sum from uses_before
          group by project_id, day, kind, subject
        );
      end if;
      if tg_op <> 'DELETE' then
        changes := changes || array(
          select row(project_id, day, kind, subject, sum(amount))::policy_sum from uses_after
          group by project_id, day, kind, subject
        );
      end if;
      with changed as (
        select project_id, day, kind, subject, sum(amount) as amount from unnest(changes)
        group by project_id, day, kind, subject having sum(amount) <> 0
      ), summed as (
        insert into policy_sums as sums (project_id, day, kind, subject, amount)
        select * from changed order by project_id, day, kind, subject
        on conflict (project_id, day, kind, subject) do update set amount = sums.amount + excluded.amount
        returning project_id, day, kind, subject, amount
      )
      insert into policy_sums as sums (project_id, day, kind, subject, amount)
      select project_id, day, 'token-accounts', '', sum(sign(summed.amount) - sign(summed.amount - changed.amount))
      from summed join changed using (project_id, day, kind, subject)
      where kind = 'token-account'
      group by project_id, day having sum(sign(summed.amount) - sign(summed.amount - changed.amount)) <> 0
      order by project_id, day
      on conflict (project_id, day, kind, subject) do update set amount = sums.amount + excluded.amount;
      return null;
    end $$;
    revoke all on function keep_policy_sums from public;

    insert into policy_sums (project_id, day, kind, subject, amount)
      select project_id, day, kind, subject, sum(amount) from policy_uses group by project_id, day, kind, subject;
    insert into policy_sums (project_id, day, kind, subject, amount)
      select project_id, day, 'token-accounts', '', count(*) from policy_sums where kind = 'token-account' and amount > 0
      group by project_id, day;

    create trigger policy_uses_inserted after insert on policy_uses
      referencing new table as uses_after for each statement execute function keep_policy_sums();
    create trigger policy_uses_updated after update on policy_uses
      referencing old table as uses_before new table as uses_after for each statement execute function keep_policy_sums();
    create trigger policy_uses_deleted after delete on policy_uses
      referencing old table as uses_before for each statement execute function keep_policy_sums();

    alter table policy_uses add column is_read boolean not null default true;
    create index policy_uses_unread on policy_uses (project_id, day) where not is_read;
    drop index policy_uses_of_day;
    create index policy_uses_of_day on policy_uses (day, project_id);
  `.execute(db);
}
