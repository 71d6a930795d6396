import type { BatchKind } from '@flywheel/api';
import type { Address } from '@solana/kit';
import { sql } from 'kysely';
import { jsonArrayFrom } from 'kysely/helpers/postgres';
import type { RegisteredTypes } from '../../model/project.ts';
import { isApprovedSql } from '../batch-waits.ts';
import type { Db } from '../db.ts';
import type { Job } from '../jobs/jobs.ts';
import { prepare, type Slots } from '../prepare.ts';
import { selectProofTypes, toProofTypes } from '../projects/proof-types.ts';

/** The pause that stops a project's transactions. */
export interface Pause {
  /** True if all projects are paused, and not this one alone. */
  readonly isForAll: boolean;
  readonly since: Date;
  readonly reason: string | null;
}

/** The project moves to another shard, which ends by itself within seconds. */
export const MOVING = 'moving';

/** What keeps a project from new work. */
export type Halt = Pause | typeof MOVING;

/** Reads what halts a project; its own pause has priority over the pause of all projects. */
export async function findHalt(db: Db, projectId: string): Promise<Halt | null> {
  const row = await selectPauses(db).where('projects.id', '=', projectId).executeTakeFirst();
  return row ? toHalt(row) : null;
}

/** The idempotency key of a batch that is asked for. */
export interface BatchQuestion {
  readonly projectId: string;
  readonly kind: BatchKind;
  readonly idempotencyKey: string;
  readonly multisig: Address;
}

export interface BeginningFacts {
  /** The pause or the move that keeps the project from new batches; null without one. */
  readonly halt: Halt | null;
  /** The batch that the key has created. */
  readonly batchId: string | null;
  /** True if the company has set rules for the project. */
  readonly hasRules: boolean;
  readonly proofTypes: RegisteredTypes;
}

/** Reads what halts a project like `findHalt`, and what else decides first about a request for a batch. */
export async function findBeginningFacts(db: Db, question: BatchQuestion): Promise<BeginningFacts> {
  const [row] = await selectBeginning(db, question);
  if (!row) return { halt: null, batchId: null, hasRules: false, proofTypes: new Map() };
  const proofTypes = toProofTypes(row.proof_types);
  return { halt: toHalt(row), batchId: row.batch_id, hasRules: row.has_rules, proofTypes };
}

const selectBeginning = prepare((db, slot: Slots<BatchQuestion>) =>
  selectPauses(db)
    .leftJoin('batches', (join) =>
      join
        .onRef('batches.project_id', '=', 'projects.id')
        .on('batches.kind', '=', slot('kind'))
        .on('batches.idempotency_key', '=', slot('idempotencyKey')),
    )
    .select('batches.id as batch_id')
    .select(sql<boolean>`exists (select from company_policies where multisig = ${slot('multisig')})`.as('has_rules'))
    .select(jsonArrayFrom(selectProofTypes(db, slot('projectId'))).as('proof_types'))
    .where('projects.id', '=', slot('projectId')),
);

/** The company has paused the project before a worker could send for it. */
export class Paused extends Error {
  constructor(flywheelId: string, { isForAll, since }: Pause) {
    super(`${isForAll ? 'Everything' : `Flywheel ${flywheelId}`} has been paused since ${since.toISOString()}.`);
    this.name = 'Paused';
  }
}

/** The project moves to another shard, whose worker goes on. */
export class Moving extends Error {
  constructor(flywheelId: string) {
    super(`Flywheel ${flywheelId} moves to another shard.`);
    this.name = 'Moving';
  }
}

/**
 * Prevents a pause until the transaction ends: what it records is sent before the pause, or not at all. The same holds
 * for a move.
 * @throws Paused, Moving
 */
export async function requireUnpaused(trx: Db, flywheelId: string): Promise<void> {
  const row = await selectPauses(trx)
    .innerJoin('flywheels', 'flywheels.project_id', 'projects.id')
    .select('multisig')
    .where('flywheels.id', '=', flywheelId)
    .forShare(['projects', 'company'])
    .executeTakeFirstOrThrow();
  // Read after the lock: a review that ends a pause holds it until the record is gone.
  const pause = toPause(row) ?? (await findRecordedPause(trx, row.multisig));
  if (pause) throw new Paused(flywheelId, pause);
  if (row.is_moving) throw new Moving(flywheelId);
}

/** Reads the pause that workers have recorded for a multisig; its own pause has priority over the pause of all projects. */
async function findRecordedPause(trx: Db, multisig: Address): Promise<Pause | null> {
  const row = await trx
    .selectFrom('company_pauses')
    .select(['multisig', 'paused_at'])
    .where((eb) => eb.or([eb('multisig', '=', multisig), eb('multisig', 'is', null)]))
    .orderBy('multisig', (order) => order.asc().nullsLast())
    .limit(1)
    .executeTakeFirst();
  return row ? { isForAll: row.multisig === null, since: row.paused_at, reason: null } : null;
}

/**
 * Records the pauses that are in force, so that only a resumption which an operator signed ends them for workers. A later
 * pause takes the place of an earlier one.
 */
export async function recordPauses(db: Db): Promise<void> {
  await sql`
    insert into company_pauses (multisig, paused_at)
    select multisig, projects.paused_at from projects join flywheels on flywheels.project_id = projects.id
      where projects.paused_at is not null
    union all select null, paused_at from company where paused_at is not null
    on conflict (multisig) do update set paused_at = excluded.paused_at
      where company_pauses.paused_at < excluded.paused_at
  `.execute(db);
}

/** Locks a recorded pause, of one multisig or of all projects, until the transaction ends. Returns its start. */
export async function lockRecordedPause(trx: Db, multisig: Address | null): Promise<Date | null> {
  const row = await trx
    .selectFrom('company_pauses')
    .select('paused_at')
    .where('multisig', 'is not distinct from', multisig)
    .forUpdate()
    .executeTakeFirst();
  return row?.paused_at ?? null;
}

export async function endRecordedPause(trx: Db, multisig: Address | null): Promise<void> {
  await trx.deleteFrom('company_pauses').where('multisig', 'is not distinct from', multisig).execute();
}

/** A decision to pause or resume. */
export interface NewPause {
  readonly since: Date;
  readonly reason: string | null;
}

/**
 * Pauses or resumes one project. Pausing again begins a new pause, which no decision about the one before ends.
 * @returns the previous pause or null; undefined if the project does not exist.
 */
export async function setProjectPause(
  trx: Db,
  projectId: string,
  pause: NewPause | null,
): Promise<NewPause | null | undefined> {
  const before = await trx
    .selectFrom('projects')
    .select(['paused_at', 'pause_reason'])
    .where('id', '=', projectId)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (!before) return undefined;
  await trx.updateTable('projects').set(toColumns(pause, before)).where('id', '=', projectId).execute();
  return fromColumns(before);
}

/** Pauses or resumes all projects, like `setProjectPause`. */
export async function setPauseForAll(trx: Db, pause: NewPause | null): Promise<NewPause | null> {
  const before = await trx
    .selectFrom('company')
    .select(['paused_at', 'pause_reason'])
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow();
  await trx.updateTable('company').set(toColumns(pause, before)).execute();
  return fromColumns(before);
}

/** Reads the pause of all projects; null if there is none. */
export async function findPauseForAll(db: Db): Promise<NewPause | null> {
  return fromColumns(await db.selectFrom('company').select(['paused_at', 'pause_reason']).executeTakeFirstOrThrow());
}

/**
 * True while all projects are paused for workers: until one has reviewed the resumption, they end the jobs of every
 * project, and the review enqueues those of the projects that are here then.
 */
export async function areAllPaused(db: Db): Promise<boolean> {
  const { rows } = await sql`
    select from company where paused_at is not null
    union all select from company_pauses where multisig is null
    limit 1
  `.execute(db);
  return rows.length > 0;
}

function selectPauses(db: Db) {
  return db
    .selectFrom('projects')
    .innerJoin('company', (join) => join.onTrue())
    .select(['projects.paused_at as own_since', 'projects.pause_reason as own_reason'])
    .select(['company.paused_at as common_since', 'company.pause_reason as common_reason'])
    .select(sql<boolean>`coalesce(moving_until > clock_timestamp(), false)`.as('is_moving'));
}

interface PausesRow {
  readonly own_since: Date | null;
  readonly own_reason: string | null;
  readonly common_since: Date | null;
  readonly common_reason: string | null;
  readonly is_moving: boolean;
}

function toHalt(row: PausesRow): Halt | null {
  return toPause(row) ?? (row.is_moving ? MOVING : null);
}

function toPause(row: PausesRow): Pause | null {
  if (row.own_since !== null) return { isForAll: false, since: row.own_since, reason: row.own_reason };
  if (row.common_since !== null) return { isForAll: true, since: row.common_since, reason: row.common_reason };
  return null;
}

interface PauseColumns {
  readonly paused_at: Date | null;
  readonly pause_reason: string | null;
}

/** Converts a pause to columns. One that is in force begins no earlier than it did: clocks of processes may differ. */
function toColumns(pause: NewPause | null, { paused_at: before }: PauseColumns): PauseColumns {
  if (pause === null) return { paused_at: null, pause_reason: null };
  return { paused_at: before !== null && before > pause.since ? before : pause.since, pause_reason: pause.reason };
}

function fromColumns({ paused_at, pause_reason }: PauseColumns): NewPause | null {
  return paused_at === null ? null : { since: paused_at, reason: pause_reason };
}

/**
 * Lists the open work of batches in the order of the chain: of one project, or of all projects without a pause of their
 * own. It includes jobs that ended because of a pause.
 */
export async function findHeldJobs(db: Db, projectId: string | null): Promise<Job[]> {
  const rows = await db
    .selectFrom('batches')
    .innerJoin('flywheels', 'flywheels.id', 'batches.flywheel_id')
    .innerJoin('projects', 'projects.id', 'batches.project_id')
    .select(['batches.id as batchId', 'multisig'])
    .select(
      sql<'setup' | 'execute' | 'close'>`case
        when ended_at is not null then 'close'
        when ${isApprovedSql} then 'execute'
        else 'setup'
      end`.as('type'),
    )
    .where('closed_at', 'is', null)
    // Batches that wait for an approval need no job.
    .where(({ eb, or }) => or([eb('ended_at', 'is not', null), eb('status', '=', 'AVAILABLE_TO_QUEUE'), isApprovedSql]))
    .$if(projectId !== null, (query) => query.where('batches.project_id', '=', projectId))
    .$if(projectId === null, (query) => query.where('projects.paused_at', 'is', null))
    .orderBy('multisig')
    .orderBy('batch_index')
    .execute();
  return rows;
}
