import type { BatchStatus } from '@flywheel/api';
import { type Selectable, sql } from 'kysely';
import type { Bundle } from '../../model/batch.ts';
import { awaitsCompanySql } from '../batch-waits.ts';
import { checkSignatures, DamagedRecord } from '../damaged-record.ts';
import { type Db, inTransaction } from '../db.ts';
import type { BundlesTable } from '../schema.ts';
import { SENT_TRANSACTIONS } from './archive.ts';
import { askCompany } from './company-approvals.ts';
import { Ended } from './ends.ts';
import { recordEvent } from './events.ts';

export interface NewBundle extends Omit<Bundle, 'id' | 'state' | 'landedSignatures' | 'landedSlot'> {
  readonly createdAt: Date;
}

/**
 * Records a bundle that is about to be sent. Commit before sending: what is recorded here is what may be on chain.
 * @throws Ended for a batch that is FAILED, unless the bundle closes its accounts; Error when it is past the phase otherwise.
 * A batch that ended can never be recorded for sending again.
 */
export async function insertBundle(db: Db, bundle: NewBundle): Promise<Bundle> {
  return inTransaction(db, async (trx) => {
    await requirePhase(trx, bundle);
    const row = await trx
      .insertInto('bundles')
      .values({
        batch_id: bundle.batchId,
        phase: bundle.phase,
        bundle_id: bundle.bundleId,
        transactions: [...bundle.transactions],
        signatures: [...bundle.signatures],
        last_valid_block_height: bundle.lastValidBlockHeight,
        first_pipeline: bundle.firstPipeline,
        pipeline_counts: [...bundle.pipelineCounts],
        is_atomic: bundle.isAtomic,
        tip_lamports: bundle.tipLamports,
        state: 'sent',
        landed_signatures: [],
        created_at: bundle.createdAt,
      })
      .returning(BUNDLE_COLUMNS)
      .executeTakeFirstOrThrow();
    const { batchId, phase, bundleId, createdAt: at } = bundle;
    await recordEvent(trx, batchId, { type: 'batch.bundle_sent', at, phase, bundleId, signatures: row.signatures });
    return toBundle(row);
  });
}

export interface LandedInBundle {
  /** Signatures that landed and succeeded. */
  readonly signatures: Bundle['landedSignatures'];
  /** Slot of the last transaction of the bundle that landed; null if none did. */
  readonly slot: bigint | null;
}

/** Stores the result of a bundle on chain. Returns false if it was stored before; a result never changes. */
export async function settleBundle(
  db: Db,
  bundleId: bigint,
  state: Exclude<Bundle['state'], 'sent'>,
  { signatures: landedSignatures, slot: landedSlot }: LandedInBundle,
  now: Date,
): Promise<boolean> {
  return inTransaction(db, async (trx) => {
    const row = await trx
      .updateTable('bundles')
      .set({ state, landed_signatures: [...landedSignatures], landed_slot: landedSlot, settled_at: now })
      .where('id', '=', bundleId)
      .where('state', '=', 'sent')
      .returning(['batch_id', 'phase', 'bundle_id'])
      .executeTakeFirst();
    if (!row) return false;
    await recordEvent(trx, row.batch_id, {
      type: `batch.bundle_${state}`,
      at: now,
      phase: row.phase,
      bundleId: row.bundle_id,
      signatures: [...landedSignatures],
    });
    return true;
  });
}

/** Reads the bundles of a batch, in the order in which they were sent. */
export async function findBundles(db: Db, batchId: string, phase?: Bundle['phase']): Promise<Bundle[]> {
  let query = db.selectFrom('bundles').select(BUNDLE_COLUMNS).where('batch_id', '=', batchId).orderBy('id');
  if (phase !== undefined) query = query.where('phase', '=', phase);
  return (await query.execute()).map(toBundle);
}

/**
 * Reads the highest slot in which a transaction of a flywheel's newest batches has landed, or of those that are not closed; 0 if
 * there is none. A node that has not reached it does not know the state that these left.
 */
export async function findLandedSlot(db: Db, flywheelId: string): Promise<bigint> {
  const batches = db.selectFrom('batches').select('id').where('flywheel_id', '=', flywheelId);
  const newest = batches.orderBy('batch_index', 'desc').limit(NEWEST_BATCHES);
  // An old batch may be executed after many newer ones. As an array they are never joined with all bundles.
  const ids = sql`array(${batches.where('closed_at', 'is', null)} union all (${newest}))`;
  const { slot } = await db
    .selectFrom('bundles')
    .select(({ fn }) => fn.max<bigint | null>('landed_slot').as('slot'))
    .where('batch_id', '=', sql<string>`any(${ids})`)
    .executeTakeFirstOrThrow();
  return slot ?? 0n;
}

/** Finds the newest slot in which bundles of a phase have landed; null if none has. */
export async function findNewestLanding(db: Db, batchId: string, phase: Bundle['phase']): Promise<bigint | null> {
  const { slot } = await db
    .selectFrom('bundles')
    .select(({ fn }) => fn.max<bigint | null>('landed_slot').as('slot'))
    .where('batch_id', '=', batchId)
    .where('phase', '=', phase)
    .executeTakeFirstOrThrow();
  return slot;
}

/** Closed batches are among them: their newest landings may be unknown to a node, too. */
const NEWEST_BATCHES = 50;

/** A bundle as the console shows it. Its signatures are not checked. */
export interface SentBundle
  extends Omit<Bundle, 'transactions' | 'signatures' | 'lastValidBlockHeight' | 'landedSignatures' | 'landedSlot'> {
  readonly signatures: readonly string[];
  readonly landedSignatures: readonly string[];
  readonly sentAt: Date;
  readonly settledAt: Date | null;
}

/** Reads bundles like `findBundles`, without the bytes that were sent. */
export async function findSentBundles(db: Db, batchId: string): Promise<SentBundle[]> {
  const rows = await db
    .selectFrom('bundles')
    .select([...SENT_COLUMNS, 'created_at', 'settled_at'])
    .where('batch_id', '=', batchId)
    .orderBy('id')
    .execute();
  return rows.map((row) => ({ ...toSent(row), sentAt: row.created_at, settledAt: row.settled_at }));
}

const STATUSES_OF_PHASE: { readonly [P in Bundle['phase']]: readonly BatchStatus[] } = {
  // A fork may take away what had landed: it is sent again until the cluster has finalized the end.
  setup: ['AVAILABLE_TO_QUEUE', 'FINALIZED', 'EXECUTED'],
  execution: ['FINALIZED', 'EXECUTED'],
  close: ['EXECUTED', 'FAILED'],
};

/** Locks the batch's row, so that it cannot end between this check and the insertion. */
async function requirePhase(trx: Db, { batchId, phase, createdAt }: NewBundle): Promise<void> {
  const { status, end_finalized_at, execution_began_at, awaits_company } = await trx
    .selectFrom('batches')
    .select(['status', 'end_finalized_at', 'execution_began_at', awaitsCompanySql.as('awaits_company')])
    .where('id', '=', batchId)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow();
  const statuses = STATUSES_OF_PHASE[phase];
  if (status === 'FAILED' && phase !== 'close') throw new Ended(batchId, phase);
  if (!statuses.includes(status)) {
    throw new Error(`Batch ${batchId} is ${status}; a bundle for its ${phase} takes ${statuses.join(' or ')}.`);
  }
  if (status === 'EXECUTED' && (phase === 'close') === (end_finalized_at === null)) {
    const finality = end_finalized_at === null ? 'not finalized yet' : 'finalized';
    throw new Error(`Batch ${batchId} is EXECUTED and ${finality}: nothing is sent for its ${phase}.`);
  }
  if (phase === 'execution' && awaits_company) throw awaitsCompany(batchId);
  if (phase === 'execution' && execution_began_at === null) {
    // The wallet may have signed before the project became manual: the mode at sending counts.
    if (await askCompany(trx, batchId, createdAt)) throw awaitsCompany(batchId);
    await trx.updateTable('batches').set({ execution_began_at: createdAt }).where('id', '=', batchId).execute();
  }
}

function awaitsCompany(batchId: string): Error {
  return new Error(`Batch ${batchId} waits for a person to approve it for the company: nothing of it is executed.`);
}

const SENT_COLUMNS = [
  ...([
    'id',
    'batch_id',
    'phase',
    'bundle_id',
    'signatures',
    'first_pipeline',
    'pipeline_counts',
    'is_atomic',
  ] as const),
  ...(['tip_lamports', 'state', 'landed_signatures'] as const),
] as const;

const BUNDLE_COLUMNS = [
  ...SENT_COLUMNS,
  SENT_TRANSACTIONS.as('transactions'),
  'last_valid_block_height',
  'landed_slot',
] as const;

interface BundleRow extends Pick<Selectable<BundlesTable>, (typeof SENT_COLUMNS)[number]> {
  readonly transactions: Bundle['transactions'];
  readonly last_valid_block_height: bigint;
  readonly landed_slot: bigint | null;
}

/** Converts a row. @throws DamagedRecord if a signature is invalid, or their number differs from the transactions'. */
function toBundle(row: BundleRow): Bundle {
  const { transactions } = row;
  const name = `bundle ${row.id} of batch ${row.batch_id}`;
  const signatures = checkSignatures(name, 'signatures', row.signatures);
  const landedSignatures = checkSignatures(name, 'landed_signatures', row.landed_signatures);
  if (signatures.length !== transactions.length) {
    throw new DamagedRecord(name, `${signatures.length} signatures for ${transactions.length} transactions`);
  }
  return {
    ...toSent(row),
    signatures,
    landedSignatures,
    transactions,
    lastValidBlockHeight: row.last_valid_block_height,
    landedSlot: row.landed_slot,
  };
}

function toSent(row: Pick<BundleRow, (typeof SENT_COLUMNS)[number]>) {
  return {
    id: row.id,
    batchId: row.batch_id,
    phase: row.phase,
    bundleId: row.bundle_id,
    signatures: row.signatures,
    firstPipeline: row.first_pipeline,
    pipelineCounts: row.pipeline_counts,
    isAtomic: row.is_atomic,
    tipLamports: row.tip_lamports,
    state: row.state,
    landedSignatures: row.landed_signatures,
  };
}
