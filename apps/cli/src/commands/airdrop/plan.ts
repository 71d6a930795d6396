import { createHash } from 'node:crypto';
import { MAX_PIPELINES_PER_BATCH, type Pipeline } from '@flywheel/api';
import { chunksOf } from '@flywheel/protocol';
import type { AirdropRow } from '@flywheel/protocol/airdrop-csv';
import { airdrop, packActions, runKeyOf, type SizeToken } from '@flywheel/sdk';

/** Identifies an airdrop of the same rows within its project. */
export interface AirdropIdentity {
  readonly type: string;
  /** A name of the sender’s choice, to tell airdrops with the same rows apart; empty by default. */
  readonly round: string;
  /** Number of the run, from 1. */
  readonly run: number;
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
  readonly run: number;
  readonly token: SizeToken;
  readonly pipelinesPerBatch?: number;
}

type Row = Pick<AirdropRow, 'address' | 'amount'>;

/**
 * Packs rows, in order, into as few pipelines as possible and those into batches. Equal rows give an equal plan, and rows
 * that are appended change the last pipeline and those after it.
 */
export function planAirdrop(
  rows: readonly Row[],
  { type, round, run, token, pipelinesPerBatch = MAX_PIPELINES_PER_BATCH }: PlanOptions,
): AirdropPlan {
  const identity = { type, round, run };
  const pipelines = packActions([...rows.entries()], {
    type,
    token,
    actionsOf: ([, { address, amount }]) => [airdrop(address, amount)],
    payloadOf: ([first, ...others]) =>
      first === undefined
        ? {}
        : payloadOf(
            identity,
            first[0],
            [first, ...others].map(([, row]) => row),
          ),
  });
  let next = 0;
  const planned = pipelines.map((pipeline) => {
    const first = next;
    next += pipeline.actions.length;
    return { pipeline, rows: pipeline.actions.map((_, i) => first + i) };
  });
  return { identity, parts: chunksOf(planned, pipelinesPerBatch) };
}

/**
 * The proof of a pipeline: which rows it pays, counted from one, and the SHA-256, lowercase hex, of these rows as they are
 * sent, `address,amount` and a newline each. It depends on no other row of the file.
 */
export function payloadOf({ round, run }: AirdropIdentity, first: number, rows: readonly Row[]): object {
  const hash = createHash('sha256');
  for (const { address, amount } of rows) hash.update(`${address},${amount}\n`);
  return {
    rows: `${first + 1}-${first + rows.length}`,
    sha256: hash.digest('hex'),
    ...(round === '' ? {} : { round }),
    ...(run === 1 ? {} : { run }),
  };
}

/** Derives the idempotency key of a batch of a part: the part’s first, or one that sends what it left. */
export function keyOfPart(part: readonly PlannedPipeline[], { run }: AirdropIdentity, rest: number): Promise<string> {
  return runKeyOf(
    part.map(({ pipeline }) => pipeline),
    { run, rest },
  );
}
