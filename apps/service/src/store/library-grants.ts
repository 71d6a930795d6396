import { ALL, NONE, type RightsOfTable } from './rights.ts';

/** Columns that pg-boss writes when it accepts a job (pg-boss 12.35, `insertJobs`). */
const JOB_COLUMNS = [
  ...['id', 'name', 'data', 'priority', 'start_after', 'created_on', 'singleton_key', 'singleton_on', 'group_id'],
  ...['group_tier', 'expire_seconds', 'deletion_seconds', 'keep_until', 'retry_limit', 'retry_delay', 'retry_backoff'],
  ...['retry_delay_max', 'policy', 'dead_letter', 'heartbeat_seconds', 'blocked', 'blocking', 'pending_dependencies'],
];

/** Tables that libraries own: the migrator, and pg-boss in the schema `jobs`. */
export const TABLES_OF_LIBRARIES: Readonly<Record<string, RightsOfTable<string>>> = {
  // A process that may not migrate compares its release with what was applied.
  kysely_migration: { serve: { select: true }, work: { select: true } },
  kysely_migration_lock: { serve: NONE, work: NONE },
  'jobs.version': {
    serve: { select: true },
    work: { select: true, update: ['cron_on', 'bam_on', 'flow_on', 'reindex_on', 'monitor_backoff_on'] },
  },
  'jobs.queue': { serve: { select: true }, work: { select: true, update: 'all' } },
  // A person of the company runs a job again (`retryJob`).
  'jobs.job': { serve: { select: true, update: ['state', 'start_after', 'completed_on', 'retry_limit'] }, work: ALL },
  'jobs.job_common': { serve: { select: true, insert: JOB_COLUMNS }, work: { ...ALL, maintain: true } },
  'jobs.job_dependency': { serve: NONE, work: ALL },
  // Features of pg-boss that the service does not use.
  'jobs.schedule': { serve: NONE, work: NONE },
  'jobs.subscription': { serve: NONE, work: NONE },
  'jobs.bam': { serve: NONE, work: NONE },
  'jobs.warning': { serve: NONE, work: NONE },
  'jobs.queue_stats': { serve: NONE, work: NONE },
};
