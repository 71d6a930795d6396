import type { BatchStatus } from '@flywheel/api';
import type { Address } from '@solana/kit';
import { sql } from 'kysely';
import type { Db } from '../db.ts';

/** A pipeline with the data that its batch's accounts on chain make public. */
export interface RecordedProof {
  readonly batchId: string;
  readonly batchIndex: bigint;
  readonly status: BatchStatus;
  /** Zero-based position of the pipeline. */
  readonly position: number;
  readonly type: string;
  /** Hash in lowercase hex. */
  readonly hash: string;
  readonly mint: Address;
  readonly multisig: Address;
  readonly vault: Address;
  /** Signatures of the transactions that executed the pipeline or may have; known landed ones first. */
  readonly signatures: readonly string[];
}

/**
 * Lists executed pipelines first, then the newest; one per vault before a second of any, so that a project cannot crowd
 * out others by repeating a proof. With `sentIn`, only those that this transaction may have executed. Batches that are not
 * completely set up on chain are not shown to others.
 */
export async function findProofsByHash(
  db: Db,
  hashes: readonly string[],
  limit: number,
  { sentIn }: { readonly sentIn?: string } = {},
): Promise<RecordedProof[]> {
  const bytes = hashes.map((hash) => Buffer.from(hash, 'hex'));
  const isExecuted = sql<boolean>`batches.status = 'EXECUTED'`;
  let query = selectProofs(db)
    .where(sql<boolean>`pipelines.proof_hash = any(${bytes}::bytea[])`)
    .orderBy(isExecuted, 'desc')
    .orderBy(
      sql`row_number() over (
        partition by flywheels.id, ${isExecuted} order by batches.created_at desc, pipelines.position, batches.id
      )`,
    )
    .orderBy('batches.created_at', 'desc')
    .orderBy('pipelines.position')
    .orderBy('batches.id')
    .limit(limit);
  if (sentIn !== undefined) {
    query = query.where(sql<boolean>`exists (
      select from bundles cross join lateral ${SENT} sent
      where bundles.batch_id = pipelines.batch_id and phase = 'execution' and ${sentIn} = any(signatures)
        and sent.signature = ${sentIn} and ${IS_IN_SENT}
    )`);
  }
  return (await query.execute()).map(toRecordedProof);
}

/** Finds the proofs of the pipelines that a transaction executed, in order. */
export async function findProofsBySignature(db: Db, signature: string, limit: number): Promise<RecordedProof[]> {
  // Two statements: in one, the planner cannot know that few bundles have the signature, and reads all pipelines.
  const { rows: executed } = await sql<{ batch_id: string; first: number; end: number }>`
    select batch_id, sent.first::int as first, (sent.first + sent.pipelines)::int as end
    from bundles cross join lateral ${SENT} sent
    where phase = 'execution' and landed_signatures @> array[${signature}]::text[] and sent.signature = ${signature}
  `.execute(db);
  if (executed.length === 0) return [];
  const rows = await selectProofs(db)
    .where((eb) =>
      eb.or(
        executed.map(({ batch_id, first, end }) =>
          eb.and([
            eb('pipelines.batch_id', '=', batch_id),
            eb('pipelines.position', '>=', first),
            eb('pipelines.position', '<', end),
          ]),
        ),
      ),
    )
    .orderBy('pipelines.position')
    .limit(limit)
    .execute();
  return rows.map(toRecordedProof);
}

export interface LastProof extends RecordedProof {
  /** Time at which its batch ended. */
  readonly endedAt: Date;
}

/** Finds the last proof of a project's newest batch that was executed as a whole and for good; null before the first one. */
export async function findLastFinalProof(db: Db, projectId: string): Promise<LastProof | null> {
  const batch = await db
    .selectFrom('batches')
    .select(['id', 'ended_at', 'pipeline_count'])
    .where('project_id', '=', projectId)
    .where('status', '=', 'EXECUTED')
    .where('kind', '=', 'pipelines')
    .where('end_finalized_at', 'is not', null)
    .orderBy('batch_index', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (!batch?.ended_at) return null;
  const row = await selectProofs(db)
    .where('pipelines.batch_id', '=', batch.id)
    .where('pipelines.position', '=', batch.pipeline_count - 1)
    .executeTakeFirstOrThrow();
  return { ...toRecordedProof(row), endedAt: batch.ended_at };
}

/**
 * Selects each transaction of a bundle with the pipelines that it executes; transactions without a count execute none.
 */
const SENT = sql`(
  select signature, pipelines, first_pipeline + sum(pipelines) over (order by place) - pipelines as first
  from unnest(bundles.signatures, bundles.pipeline_counts) with ordinality as t (signature, pipelines, place)
)`;

/** True for a pipeline that a transaction of `SENT` executes. */
const IS_IN_SENT = sql`pipelines.position >= sent.first and pipelines.position < sent.first + sent.pipelines`;

type Row = Awaited<ReturnType<ReturnType<typeof selectProofs>['executeTakeFirstOrThrow']>>;

function selectProofs(db: Db) {
  return db
    .selectFrom('pipelines')
    .innerJoin('batches', 'batches.id', 'pipelines.batch_id')
    .innerJoin('flywheels', 'flywheels.id', 'batches.flywheel_id')
    .innerJoin('tokens', 'tokens.id', 'batches.token_id')
    .select(['pipelines.batch_id', 'pipelines.position', 'pipelines.type', 'pipelines.proof_hash'])
    .select(['batches.batch_index', 'batches.status', 'tokens.mint', 'flywheels.multisig', 'flywheels.vault'])
    .select(
      sql<string[]>`coalesce((
        select array_agg(sent.signature order by sent.signature = any(landed_signatures) desc, bundles.id desc)
        from bundles cross join lateral ${SENT} sent
        where bundles.batch_id = pipelines.batch_id and phase = 'execution'
          and (state = 'sent' or sent.signature = any(landed_signatures)) and ${IS_IN_SENT}
      ), '{}')`.as('signatures'),
    )
    .where((eb) =>
      eb.or([eb('batches.finalized_at', 'is not', null), eb('batches.status', 'in', ['FINALIZED', 'EXECUTED'])]),
    );
}

function toRecordedProof(row: Row): RecordedProof {
  return {
    batchId: row.batch_id,
    batchIndex: row.batch_index,
    status: row.status,
    position: row.position,
    type: row.type,
    hash: Buffer.from(row.proof_hash).toString('hex'),
    mint: row.mint,
    multisig: row.multisig,
    vault: row.vault,
    signatures: row.signatures,
  };
}
