import { createHash } from 'node:crypto';
import type { Pipeline } from '@flywheel/api';
import { airdrop, idempotencyKeyOf, packActions, type SizeToken } from '@flywheel/sdk';
import type { AirdropRow } from './rows.ts';

/** What makes an airdrop that one and no other, beside its project. */
export interface AirdropIdentity {
  /** SHA-256, lowercase hex, of the rows as they are sent: `address,amount` and a newline each. */
  readonly fingerprint: string;
  readonly type: string;
  /** A word of the sender’s own, for sending the same rows once more. */
  readonly round: string;
}

/** A pipeline and the rows that it pays. */
export interface PlannedPipeline {
  readonly pipeline: Pipeline;
  /** Positions among all rows. */
  readonly rows: readonly number[];
}

export interface AirdropPlan {
  readonly identity: AirdropIdentity;
  /** A batch each. */
  readonly parts: readonly (readonly PlannedPipeline[])[];
}

export interface PlanOptions {
  readonly type: string;
  readonly round: string;
  readonly token: SizeToken;
  readonly pipelinesPerBatch?: number;
}

/** What init takes at most. */
const PIPELINES_PER_BATCH = 1_000;

/** Rows to as few pipelines as hold them, and those to batches, in order: the same rows always to the same. */
export function planAirdrop(
  rows: readonly AirdropRow[],
  { type, round, token, pipelinesPerBatch = PIPELINES_PER_BATCH }: PlanOptions,
): AirdropPlan {
  const fingerprint = createHash('sha256');
  for (const { address, amount } of rows) fingerprint.update(`${address},${amount}\n`);
  const identity = { fingerprint: fingerprint.digest('hex'), type, round };
  const pipelines = packActions([...rows.entries()], {
    type,
    token,
    actionsOf: ([, { address, amount }]) => [airdrop(address, amount)],
    payloadOf: (packed) =>
      payloadOf(
        identity,
        packed.map(([position]) => position),
      ),
  });
  let next = 0;
  const planned = pipelines.map((pipeline) => {
    const first = next;
    next += pipeline.actions.length;
    return { pipeline, rows: pipeline.actions.map((_, i) => first + i) };
  });
  const count = Math.ceil(planned.length / pipelinesPerBatch);
  const parts = Array.from({ length: count }, (_, i) =>
    planned.slice(i * pipelinesPerBatch, (i + 1) * pipelinesPerBatch),
  );
  return { identity, parts };
}

/** What a pipeline proves: which rows of which airdrop it paid, counted from one. */
function payloadOf({ fingerprint, round }: AirdropIdentity, positions: readonly number[]): object {
  const [first = 0] = positions;
  const rows = `${first + 1}-${first + positions.length}`;
  return { airdrop: fingerprint, ...(round === '' ? {} : { round }), rows };
}

/**
 * The key of one batch of an airdrop. It follows from the rows and options alone, so that whoever sends them again, after
 * whatever became of the first time, finds the same batch.
 */
export function keyOfPart(
  { fingerprint, type, round }: AirdropIdentity,
  part: number,
  attempt: number,
): Promise<string> {
  return idempotencyKeyOf('flywheel airdrop', fingerprint, type, round, String(part), String(attempt));
}
