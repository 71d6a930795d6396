import { type Kysely, sql } from 'kysely';

/**
 * Refuses a result that cannot be true: counts that do not add up, negative counts, or a batch that is FAILED although
 * all of its pipelines were executed. Batches that ended under earlier releases stay as they are: they are still updated
 * when their accounts are closed, which a constraint checks even if it is not valid.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const now = new Date().toISOString();
  await sql`
    alter table batches add constraint batches_execute_result_counts check (
      execute_result is null or ended_at <= ${sql.lit(now)} or (
        (execute_result->>'totalSuccessful')::integer >= 0
        and (execute_result->>'totalFailed')::integer >= 0
        and (execute_result->>'totalSuccessful')::integer + (execute_result->>'totalFailed')::integer
          = (execute_result->>'total')::integer
        and ((status = 'EXECUTED') = ((execute_result->>'totalFailed')::integer = 0))
      )
    ) not valid;
  `.execute(db);
}
