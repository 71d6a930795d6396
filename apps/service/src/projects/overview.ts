import type { ProjectOverview, Usage } from '@flywheel/api';
import { toDecimal } from '@flywheel/protocol';
import type { Address } from '@solana/kit';
import { vaultOf } from '../compile/vault.ts';
import { DAY_MS, startOfNextUtcDay, utcDay } from '../model/clock.ts';
import { type DailyTotals, leftOf, type Project } from '../model/project.ts';
import type { TokenNames } from '../solana/token-names.ts';
import { type LamportsUse, readLamportsUse } from '../store/batches/exposure.ts';
import { findOpenBatches } from '../store/batches/open-batches.ts';
import { findExpiringKeys } from '../store/projects/api-keys.ts';
import { findDailyAmounts, findDailyAmountsSince } from '../store/projects/daily-limits.ts';
import { findProjectSummaries } from '../store/projects/projects.ts';
import { requireVisibleProject } from './access.ts';
import { type AttentionRules, findAttention } from './attention.ts';
import type { BatchCounts } from './batch-counts.ts';
import { summarize } from './summaries.ts';
import { type FundsDeps, presentFunds, readVaultNeeds } from './vault-funds.ts';

export interface OverviewDeps extends FundsDeps, AttentionRules {
  readonly companyOperators: ReadonlySet<Address>;
  readonly tokenNames: TokenNames;
  readonly countBatches: BatchCounts;
  /** The most that a project's batches may take of the operator's lamports. */
  readonly caps: { readonly lockedPerProjectLamports: bigint; readonly spentPerProjectLamports: bigint };
}

/** Enough time to rotate a key in working hours. */
const EXPIRY_NOTICE_MS = 7 * DAY_MS;

/**
 * Reads everything that a project's first screen shows.
 * @throws ApiError ERR_PROJECT_NOT_FOUND
 */
export async function readOverview(deps: OverviewDeps, wallet: Address, projectId: string): Promise<ProjectOverview> {
  const { db, clock, tokenNames } = deps;
  const project = await requireVisibleProject(deps, wallet, projectId);
  const now = clock.now();
  const open = await findOpenBatches(db, projectId);
  const [[summary], names, batches, used, taken, expiringKeys, needs] = await Promise.all([
    findProjectSummaries(db, { projectId }),
    tokenNames.of([project.token.mint]),
    deps.countBatches(db, projectId),
    findDailyAmounts(db, projectId, utcDay(now)),
    readLamportsUse(db, utcDay(now), projectId),
    findExpiringKeys(db, projectId, { now, before: new Date(now.getTime() + EXPIRY_NOTICE_MS) }),
    readVaultNeeds(deps, project, open),
  ]);
  if (!summary) throw new Error(`Project ${projectId} disappeared while its overview was read.`);
  const limits = presentLimits(project, used, startOfNextUtcDay(now));
  const { address, vaultIndex, operator, recovery, company, wallet: member, lookupTable } = project.flywheel.multisig;
  return {
    ...summarize(summary, names.get(project.token.mint)),
    flywheelId: project.flywheel.id,
    scopes: [...project.scopes],
    multisig: {
      address,
      vaultIndex: String(vaultIndex),
      operator,
      ...(recovery !== null && { recovery }),
      company,
      wallet: member,
      lookupTable: lookupTable.address,
    },
    ...(summary.pauseReason !== null && { pauseReason: summary.pauseReason }),
    vaultTokenAccount: vaultOf(project).tokenAccount,
    funds: needs && presentFunds(needs, project.token),
    limits,
    exposure: presentExposure(deps.caps, taken, startOfNextUtcDay(now)),
    batches,
    attention: findAttention(deps, { project, summary, open, needs, limits, used, expiringKeys }),
  };
}

/**
 * Reads the amounts burned and airdropped on each of the last `dayCount` UTC days, including today, oldest first.
 * @throws ApiError ERR_PROJECT_NOT_FOUND
 */
export async function readUsage(
  deps: Pick<OverviewDeps, 'db' | 'clock' | 'companyOperators'>,
  wallet: Address,
  projectId: string,
  dayCount: number,
): Promise<Usage> {
  const { token } = await requireVisibleProject(deps, wallet, projectId);
  const nowMs = deps.clock.now().getTime();
  const days = Array.from({ length: dayCount }, (_, i) => utcDay(new Date(nowMs - (dayCount - 1 - i) * DAY_MS)));
  const amounts = await findDailyAmountsSince(deps.db, projectId, days[0] ?? utcDay(new Date(nowMs)));
  return {
    days: days.map((day) => {
      const { burnBaseUnits = 0n, airdropBaseUnits = 0n } = amounts.get(day) ?? {};
      return {
        day,
        burned: toDecimal(burnBaseUnits, token.decimals),
        airdropped: toDecimal(airdropBaseUnits, token.decimals),
      };
    }),
  };
}

function presentExposure(
  { lockedPerProjectLamports, spentPerProjectLamports }: OverviewDeps['caps'],
  { lockedLamports, spentLamports }: LamportsUse,
  resetsAt: Date,
): ProjectOverview['exposure'] {
  return {
    locked: { used: String(lockedLamports), cap: String(lockedPerProjectLamports) },
    spentToday: {
      used: String(spentLamports),
      cap: String(spentPerProjectLamports),
      resetsAt: resetsAt.toISOString(),
    },
  };
}

function presentLimits(
  { dailyLimits, token: { decimals } }: Project,
  used: DailyTotals,
  resetsAt: Date,
): ProjectOverview['limits'] {
  const limitOf = (kind: keyof DailyTotals) => ({
    cap: toDecimal(dailyLimits[kind], decimals),
    used: toDecimal(used[kind], decimals),
    left: toDecimal(leftOf(dailyLimits[kind], used[kind]), decimals),
    resetsAt: resetsAt.toISOString(),
  });
  return { burn: limitOf('burnBaseUnits'), airdrop: limitOf('airdropBaseUnits') };
}
