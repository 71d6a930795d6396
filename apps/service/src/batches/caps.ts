import { ApiError, type BatchKind, type ReachedCap } from '@flywheel/api';
import { SOL_DECIMALS, toDecimal } from '@flywheel/protocol';
import { secondsToNextUtcDay, startOfNextUtcDay } from '../model/clock.ts';
import type { DailyTotals, Token } from '../model/project.ts';
import type { CapUse, HeldUse, KeyUse, KindUse } from '../store/batches/cap-use.ts';
import type { Exposure, LamportsUse } from '../store/batches/exposure.ts';

/** Limits on a project's open batches. */
export interface FairUse {
  readonly maxOpenBatches: number;
  readonly maxOpenPipelines: number;
}

/** Caps on what batches take of the operator's lamports, and the share of every cap that one API key may hold. */
export interface Caps {
  readonly lockedPerProjectLamports: bigint;
  readonly spentPerProjectLamports: bigint;
  /** The cap of all projects without admission together, like the next one. */
  readonly lockedUnadmittedLamports: bigint;
  readonly spentUnadmittedLamports: bigint;
  readonly keySharePercent: number;
}

/** The parts of the caps that a new batch asks for. */
export interface AskedOfCaps {
  readonly kind: BatchKind;
  readonly pipelineCount: number;
  readonly totals: DailyTotals;
  readonly exposure: Exposure;
}

export interface CapRules {
  readonly caps: Caps;
  readonly fairUse: FairUse;
  readonly token: Pick<Token, 'decimals'>;
  readonly now: Date;
}

type CapError = ApiError<'ERR_CAP_REACHED'>;

/**
 * Lists the caps that a new batch would exceed. Batches that wait for a cancel vote count for withdrawals and rotations too,
 * but cannot block them: these have room beyond each cap.
 */
export function findCapErrors(rules: CapRules, use: CapUse, asked: AskedOfCaps): CapError[] {
  return [
    ...findLamportsErrors(rules, use, asked),
    ...(use.key === null ? [] : findExceededShares(rules, use.key, use, asked)),
  ];
}

/** Lists the caps of a project, and those that projects share, that a batch would exceed. */
export function findLamportsErrors(
  rules: CapRules,
  use: Pick<CapUse, 'unadmitted' | keyof KindUse> & { readonly project: LamportsUse },
  asked: AskedOfCaps,
): CapError[] {
  const { lockedPerProjectLamports: lockedLamports, spentPerProjectLamports: spentLamports } = rules.caps;
  const caps = withRoomFor(asked, { lockedLamports, spentLamports });
  return [
    ...findExceeded(rules, { scope: 'project', use: use.project, caps }, asked),
    ...(use.unadmitted === null
      ? []
      : findUnadmittedErrors(rules, use.unadmitted, unadmittedCaps(rules, use, asked), asked)),
  ];
}

/**
 * All projects without admission share some caps. Lists those that a new batch would exceed.
 * @param use of the other batches.
 * @param caps from `unadmittedCaps`.
 */
export function findUnadmittedErrors(
  rules: Pick<CapRules, 'now'>,
  use: LamportsUse,
  caps: LamportsUse,
  asked: AskedOfCaps,
): CapError[] {
  return findExceeded(rules, { scope: 'unadmitted', use, caps }, asked);
}

/**
 * Computes the most that all projects without admission may use together, with a new batch. What the batch does not ask for
 * has no cap. A withdrawal or rotation may always lock rent if its project has no other of its kind on chain. Otherwise it has
 * room beyond the cap of rent. Only the first of its kind on a day has room beyond the cap of spending: a stranger who repeats
 * them cannot fill that room, and so cannot keep funds in other vaults.
 */
export function unadmittedCaps(
  { caps }: Pick<CapRules, 'caps'>,
  { hasExposedOfKind, isFirstOfDay }: KindUse,
  asked: AskedOfCaps,
): LamportsUse {
  const { lockedUnadmittedLamports: lockedLamports, spentUnadmittedLamports: spentLamports } = caps;
  const roomy = withRoomFor(asked, { lockedLamports, spentLamports });
  const isExempt = asked.kind !== 'pipelines' && !hasExposedOfKind;
  const { exposure } = asked;
  return {
    lockedLamports: isExempt || exposure.lockedLamports === 0n ? NO_CAP : roomy.lockedLamports,
    spentLamports: exposure.spendLamports === 0n ? NO_CAP : isFirstOfDay ? roomy.spentLamports : spentLamports,
  };
}

/** More lamports than there are. */
const NO_CAP = 2n ** 64n;

/** Withdrawals and rotations may take a quarter more than a cap. */
const ROOM_DIVISOR = 4n;

function withRoomFor({ kind }: AskedOfCaps, { lockedLamports, spentLamports }: LamportsUse): LamportsUse {
  const withRoom = (cap: bigint) => (kind === 'pipelines' ? cap : cap + cap / ROOM_DIVISOR);
  return { lockedLamports: withRoom(lockedLamports), spentLamports: withRoom(spentLamports) };
}

function findExceeded(
  rules: Pick<CapRules, 'now'>,
  { scope, use, caps }: { readonly scope: ReachedCap['scope']; readonly use: LamportsUse; readonly caps: LamportsUse },
  { exposure }: AskedOfCaps,
): CapError[] {
  const measured = [
    { kind: 'locked', used: use.lockedLamports, asked: exposure.lockedLamports, cap: caps.lockedLamports },
    { kind: 'spent', used: use.spentLamports, asked: exposure.spendLamports, cap: caps.spentLamports },
  ] as const;
  return measured
    .map((each) => ({ ...each, scope, decimals: SOL_DECIMALS }))
    .filter(isExceeded)
    .map((each) => capError(rules, each));
}

/**
 * Lists the shares that a key would exceed. A share of open batches, pipelines and daily amounts only matters beside another
 * key: revoking a project's only key returns all of them at once.
 */
function findExceededShares(
  rules: CapRules,
  key: KeyUse,
  { dailyLimits }: Pick<CapUse, 'dailyLimits'>,
  asked: AskedOfCaps,
): CapError[] {
  const { caps, fairUse, token } = rules;
  // Rounded up, so that a key may hold at least one batch.
  const shareOf = (cap: bigint) => (cap * BigInt(caps.keySharePercent) + 99n) / 100n;
  const shares = {
    lockedLamports: shareOf(caps.lockedPerProjectLamports),
    spentLamports: shareOf(caps.spentPerProjectLamports),
  };
  const exceeded = findExceeded(rules, { scope: 'key', use: key, caps: withRoomFor(asked, shares) }, asked);
  if (!key.hasOthers || asked.kind !== 'pipelines') return exceeded;
  const ofBatches = { used: key.batches, asked: 1, max: fairUse.maxOpenBatches };
  const ofPipelines = { used: key.pipelines, asked: asked.pipelineCount, max: fairUse.maxOpenPipelines };
  const held = [
    { kind: 'batches', ...toBigints(ofBatches), decimals: 0 },
    { kind: 'pipelines', ...toBigints(ofPipelines), decimals: 0 },
    { kind: 'burn', ...ofDay(key, asked, dailyLimits, 'burnBaseUnits'), decimals: token.decimals },
    { kind: 'airdrop', ...ofDay(key, asked, dailyLimits, 'airdropBaseUnits'), decimals: token.decimals },
  ] as const;
  const errors = held
    .map(({ max, ...each }) => ({ ...each, scope: 'key' as const, cap: shareOf(max) }))
    .filter(isExceeded)
    .map((each) => capError(rules, each));
  return [...exceeded, ...errors];
}

function toBigints({ used, asked, max }: { readonly used: number; readonly asked: number; readonly max: number }) {
  return { used: BigInt(used), asked: BigInt(asked), max: BigInt(max) };
}

function ofDay({ openTotals }: HeldUse, { totals }: AskedOfCaps, limits: DailyTotals, kind: keyof DailyTotals) {
  return { used: openTotals[kind], asked: totals[kind], max: limits[kind] };
}

interface Measured {
  readonly scope: ReachedCap['scope'];
  readonly kind: ReachedCap['kind'];
  readonly used: bigint;
  readonly asked: bigint;
  readonly cap: bigint;
  /** Decimals of the amounts; 0 for counts. */
  readonly decimals: number;
}

function isExceeded({ used, asked, cap }: Measured): boolean {
  return asked > 0n && used + asked > cap;
}

function capError({ now }: Pick<CapRules, 'now'>, measured: Measured): CapError {
  const { scope, kind, used, asked, cap, decimals } = measured;
  const resets = kind === 'spent' ? startOfNextUtcDay(now) : null;
  const isLamports = kind === 'locked' || kind === 'spent';
  const text = (amount: bigint) => (isLamports ? String(amount) : toDecimal(amount, decimals));
  const retryAfterSeconds = resets && secondsToNextUtcDay(now);
  return new ApiError('ERR_CAP_REACHED', {
    problem: describe(measured, resets),
    cap: {
      ...{ scope, kind, cap: text(cap), used: text(used), asked: text(asked) },
      ...(resets && { resetsAt: resets.toISOString() }),
    },
    retryAfterSeconds,
  });
}

const HOLDERS = {
  project: 'This project’s batches',
  key: 'The batches of this API key',
  unadmitted: 'The batches of all projects that the company has not admitted',
} as const;

const STEPS = {
  project: 'Execute or cancel open batches, and sign the cancel votes that are owed.',
  key: 'Execute or cancel its open batches, or use another key or the console.',
  unadmitted: 'Try again later, or ask the company to admit this project.',
} as const;

/** Builds a sentence with the figures, and one with the next step. */
function describe({ scope, kind, used, asked, cap, decimals }: Measured, resets: Date | null): string {
  const [holder, step] = [HOLDERS[scope], STEPS[scope]];
  const [has, needs, most] = [used, asked, cap].map((amount) => toDecimal(amount, decimals));
  const tooLarge = asked > cap ? ' It never fits: send fewer pipelines in a batch.' : '';
  switch (kind) {
    case 'locked':
      return `${holder} lock ${has} of at most ${most} SOL of the operator as rent, and this batch needs ${needs} SOL.${tooLarge} ${step}`;
    case 'spent':
      return `${holder} have spent, or may still spend, ${has} of at most ${most} SOL in fees and tips today, and this batch may need ${needs} SOL.${tooLarge} Batches return what they did not spend when they end, and the day ends at ${resets?.toISOString()}. ${step}`;
    case 'batches':
    case 'pipelines':
      return `${holder} hold ${has} of at most ${most} open ${kind}, and this request adds ${needs}. ${step}`;
    case 'burn':
    case 'airdrop':
      return `${holder} that are open hold ${has} of at most ${most} tokens of the daily ${kind} limit, and this batch needs ${needs}. ${step}`;
    default:
      throw new Error(`No sentence describes the cap ${kind satisfies never}.`);
  }
}
