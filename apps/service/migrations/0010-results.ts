import { type Kysely, sql } from 'kysely';

/**
 * Refuses a result that cannot be true: counts that do not add up, negative counts, or a batch that is FAILED although
 * all of its pipelines were executed. Batches that ended under earlier releases stay as they are: they are still updated
 * when their accounts are closed, which a constraint checks even if it is not valid.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table batches add column is_result_checked boolean not null default true;
    update batches set is_result_checked = false where ended_at is not null;
    alter table batches add constraint batches_execute_result_counts check (
      execute_result is null or not is_result_checked or (
        (execute_result->>'totalSuccessful')::integer >= 0
        and (execute_result->>'totalFailed')::integer >= 0
        and (execute_result->>'totalSuccessful')::integer + (execute_result->>'totalFailed')::integer
          = (execute_result->>'total')::integer
        and ((status = 'EXECUTED') = ((execute_result->>'totalFailed')::integer = 0))
      )
    ) not valid;
  `.execute(db);
}
