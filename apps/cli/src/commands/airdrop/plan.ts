import { createHash } from 'node:crypto';
import type { Pipeline } from '@flywheel/api';
import type { AirdropRow } from '@flywheel/protocol/airdrop-csv';
import { airdrop, idempotencyKeyOf, packActions, type SizeToken } from '@flywheel/sdk';

/** Identifies an airdrop within its project. */
export interface AirdropIdentity {
  /** SHA-256, lowercase hex, of the rows as they are sent: `address,amount` and a newline each. */
  readonly fingerprint: string;
  readonly type: string;
  /** A name of the sender’s choice, to send the same rows again; empty by default. */
  readonly round: string;
}

/** A pipeline and the rows that it pays. */
export interface PlannedPipeline {
  readonly pipeline: Pipeline;
  /** Indices into all rows. */
  readonly rows: readonly number[];
}

export interface AirdropPlan {
  readonly identity: AirdropIdentity;
  /** The pipelines of each batch. */
  readonly parts: readonly (readonly PlannedPipeline[])[];
}

export interface PlanOptions {
  readonly type: string;
  readonly round: string;
  readonly token: SizeToken;
  readonly pipelinesPerBatch?: number;
}

/** Init accepts at most this many pipelines. */
const MAX_PIPELINES_PER_BATCH = 1_000;

/** Packs rows, in order, into as few pipelines as possible and those into batches. Equal rows give an equal plan. */
export function planAirdrop(
  rows: readonly Pick<AirdropRow, 'address' | 'amount'>[],
  { type, round, token, pipelinesPerBatch = MAX_PIPELINES_PER_BATCH }: PlanOptions,
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
        packed.map(([index]) => index),
      ),
  });
  let next = 0;
  const planned = pipelines.map((pipeline) => {
    const first = next;
    next += pipeline.actions.length;
    return { pipeline, rows: pipeline.actions.map((_, i) => first + i) };
  });
  const partCount = Math.ceil(planned.length / pipelinesPerBatch);
  const parts = Array.from({ length: partCount }, (_, i) =>
    planned.slice(i * pipelinesPerBatch, (i + 1) * pipelinesPerBatch),
  );
  return { identity, parts };
}

/** The proof of a pipeline: which rows of which airdrop it pays, counted from one. */
function payloadOf({ fingerprint, round }: AirdropIdentity, indices: readonly number[]): object {
  const [first = 0] = indices;
  const rows = `${first + 1}-${first + indices.length}`;
  return { airdrop: fingerprint, ...(round === '' ? {} : { round }), rows };
}

/**
 * Derives the idempotency key of one batch of an airdrop. It depends on the rows and options alone, so a repeated run
 * finds the same batch, whatever happened to the earlier one.
 */
export function keyOfPart(
  { fingerprint, type, round }: AirdropIdentity,
  part: number,
  attempt: number,
): Promise<string> {
  return idempotencyKeyOf('flywheel airdrop', fingerprint, type, round, String(part), String(attempt));
}
