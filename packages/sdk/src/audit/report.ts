import { SOL_DECIMALS } from '@flywheel/protocol';
import type { AccountState, AuditGap } from './account-history.ts';
import type { Flow, FlowKind } from './flows.ts';
import type { AuditBound } from './period.ts';

/** One finding, with the transaction in which it is. */
export type AuditRecord = {
  readonly slot: number;
  /** ISO 8601; null if the node does not know it. */
  readonly executedAt: string | null;
  readonly signature: string;
} & (
  | ({ readonly kind: FlowKind } & Omit<Flow, 'kind'>)
  /** An executed pipeline; type and hash are null if it wrote no proof. */
  | { readonly kind: 'pipeline'; readonly type: string | null; readonly hash: string | null; readonly batch: string }
  /** An executed change of the multisig. `changes`: a sentence; null if its content is not in the history. */
  | { readonly kind: 'rotation'; readonly changes: string | null }
  /** An instruction of Squads on the multisig that Flywheel never sends; its first eight bytes, lowercase hex. */
  | { readonly kind: 'foreign'; readonly discriminator: string }
);

/**
 * All of one asset that moved in the period, in base units. `opening` and everything that moved give `closing`, unless
 * there are gaps.
 */
export interface AssetTotals extends Readonly<Record<FlowKind, bigint>> {
  /** null for SOL. */
  readonly mint: string | null;
  readonly decimals: number;
  readonly opening: bigint;
  readonly closing: bigint;
}

/** The totals of an audit. Its findings go to `onRecord`. */
export interface AuditReport {
  readonly vault: string;
  /** null if the vault has executed nothing, so that its multisig is not known. */
  readonly multisig: string | null;
  /** Genesis hash of the cluster, base58. */
  readonly genesisHash: string;
  readonly period: {
    readonly from: AuditBound | null;
    readonly to: AuditBound | null;
    /** The newest slot that was read. */
    readonly headSlot: number;
  };
  readonly transactions: {
    /** Successful transactions of the period that name the vault, one of its token accounts or the multisig. */
    readonly read: number;
    /** Those among them that moved nothing and executed nothing. */
    readonly idle: number;
    readonly failed: number;
  };
  readonly pipelines: {
    readonly total: number;
    readonly withoutProof: number;
    /** Proofs by type, most first. */
    readonly byType: readonly { readonly type: string; readonly count: number }[];
  };
  /** SOL first. */
  readonly assets: readonly AssetTotals[];
  readonly counts: {
    readonly withdrawals: number;
    readonly rotations: number;
    readonly deposits: number;
    readonly unexplained: number;
    readonly foreign: number;
  };
  /** Newest first; at most 1,000 of them. */
  readonly gaps: readonly AuditGap[];
  readonly gapCount: number;
  /** True if the history has no gap: the balances of each account chain from the period's start to its end. */
  readonly isComplete: boolean;
  /** True if no outflow without a proof was found. */
  readonly isExplained: boolean;
}

/** The sums of an audit so far, as plain data. */
export interface Tally {
  read: number;
  idle: number;
  failed: number;
  pipelines: number;
  withoutProof: number;
  rotations: number;
  foreign: number;
  readonly flows: Record<FlowKind, number>;
  readonly types: Map<string, number>;
  readonly sums: Map<string, Record<FlowKind, bigint>>;
  readonly decimals: Map<string, number>;
  gapCount: number;
  readonly gaps: AuditGap[];
}

export function createTally(): Tally {
  const counters = { read: 0, idle: 0, failed: 0, pipelines: 0, withoutProof: 0, rotations: 0, foreign: 0 };
  return {
    ...counters,
    flows: zeros(0),
    types: new Map(),
    sums: new Map(),
    decimals: new Map(),
    gapCount: 0,
    gaps: [],
  };
}

/** Adds a finding to the sums. */
export function count(tally: Tally, record: AuditRecord): void {
  switch (record.kind) {
    case 'pipeline': {
      tally.pipelines += 1;
      if (record.type === null) tally.withoutProof += 1;
      else tally.types.set(record.type, (tally.types.get(record.type) ?? 0) + 1);
      return;
    }
    case 'rotation':
      tally.rotations += 1;
      return;
    case 'foreign':
      tally.foreign += 1;
      return;
    default: {
      tally.flows[record.kind] += 1;
      const sums = tally.sums.get(record.mint ?? SOL) ?? zeros(0n);
      sums[record.kind] += record.amountBaseUnits;
      tally.sums.set(record.mint ?? SOL, sums);
    }
  }
}

export function addGap(tally: Tally, gap: AuditGap): void {
  tally.gapCount += 1;
  if (tally.gaps.length < MAX_GAPS) tally.gaps.push(gap);
}

/** @param accounts every account whose history was read to its end. */
export function assetTotals(tally: Tally, accounts: readonly AccountState[]): AssetTotals[] {
  const assets = new Map<string, { opening: bigint; closing: bigint }>([[SOL, { opening: 0n, closing: 0n }]]);
  for (const asset of tally.sums.keys()) assets.set(asset, { opening: 0n, closing: 0n });
  const add = (mint: string | null, opening: bigint, closing: bigint) => {
    const total = assets.get(mint ?? SOL) ?? { opening: 0n, closing: 0n };
    assets.set(mint ?? SOL, { opening: total.opening + opening, closing: total.closing + closing });
  };
  for (const { kind, mint, opening, closing, closingMint } of accounts) {
    if (kind === 'multisig') continue;
    add(mint, opening ?? 0n, 0n);
    add(closingMint, 0n, closing ?? 0n);
  }
  return [...assets].map(([asset, balances]) => ({
    mint: asset === SOL ? null : asset,
    decimals: asset === SOL ? SOL_DECIMALS : (tally.decimals.get(asset) ?? 0),
    ...balances,
    ...(tally.sums.get(asset) ?? zeros(0n)),
  }));
}

const SOL = 'SOL';
const MAX_GAPS = 1_000;

function zeros<Zero>(zero: Zero): Record<FlowKind, Zero> {
  return { burned: zero, airdropped: zero, withdrawn: zero, rent: zero, deposited: zero, unexplained: zero };
}
