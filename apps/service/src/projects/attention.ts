import type { Attention, ProjectOverview } from '@flywheel/api';
import { groupDigits, SOL_DECIMALS, toDecimal } from '@flywheel/protocol';
import { describeExecutionIssue, expiresAtOf } from '../model/batch.ts';
import type { Project } from '../model/project.ts';
import type { OpenBatch } from '../store/batches/open-batches.ts';
import type { StoredKey } from '../store/projects/api-keys.ts';
import type { ProjectSummaryRecord } from '../store/projects/projects.ts';
import type { VaultNeeds } from './vault-funds.ts';

/** State of a project from which its attention items are derived. */
export interface ProjectState {
  readonly project: Project;
  readonly summary: Pick<ProjectSummaryRecord, 'isPaused' | 'pauseReason'>;
  readonly open: readonly OpenBatch[];
  readonly needs: VaultNeeds | null;
  readonly limits: ProjectOverview['limits'];
  readonly used: { readonly burnBaseUnits: bigint; readonly airdropBaseUnits: bigint };
  /** Keys that expire soon and have no successor that works. */
  readonly expiringKeys: readonly StoredKey[];
}

export interface AttentionRules {
  /** Seconds after which an open batch that was not executed ends. */
  readonly batchExpirySeconds: number;
}

/**
 * Lists what needs a person, most urgent first: what stops everything, what stops a batch, what waits, what is coming up.
 */
export function findAttention(rules: AttentionRules, state: ProjectState): Attention[] {
  const { summary, open, needs, expiringKeys } = state;
  const withIssue = open.filter(({ issue }) => issue !== null);
  const forCompany = open.filter(({ issue, waitsForCompany }) => issue === null && waitsForCompany);
  const forWallet = open.filter(({ status, issue, isSigned }) => status === 'FINALIZED' && issue === null && !isSigned);
  return [
    ...(summary.isPaused ? [paused(summary.pauseReason)] : []),
    ...(needs === null ? [UNREACHABLE] : []),
    ...inBatches(withIssue, 'TROUBLE', ({ issue, status }) =>
      issue === null ? '' : describeExecutionIssue(issue, status),
    ),
    ...(needs === null ? [] : [...underfunded(needs, state.project), ...emptyVault(needs)]),
    ...inBatches(
      forWallet,
      'APPROVE',
      ({ createdAt }) =>
        `It waits for the approval of the project’s wallet. Without it the batch ends at ${expiresAtOf({ createdAt }, rules).toISOString()}.`,
    ),
    ...inBatches(forCompany, 'COMPANY', () => 'It waits for the company’s approval.'),
    ...usedUp(state),
    ...expiringKeys.map(expiring),
  ];
}

/** The list of batches shows all of them. */
const MAX_BATCHES_PER_KIND = 20;

const UNREACHABLE: Attention = {
  kind: 'CLUSTER',
  message: 'The cluster does not answer. The vault’s balance is unknown, and nothing is executed until it answers.',
};

function paused(reason: string | null): Attention {
  const because = reason === null ? '' : ` Reason: ${reason}`;
  return {
    kind: 'PAUSED',
    message: `The company has paused this project: nothing is initialized or executed until it resumes.${because}`,
  };
}

function inBatches(
  batches: readonly OpenBatch[],
  kind: Attention['kind'],
  message: (batch: OpenBatch) => string,
): Attention[] {
  return batches
    .slice(0, MAX_BATCHES_PER_KIND)
    .map((batch) => ({ kind, message: `Batch ${batch.batchIndex}: ${message(batch)}`, batchId: batch.id }));
}

function underfunded({ tokens, lamports }: VaultNeeds, { token }: Project): Attention[] {
  return [
    { ...tokens, unit: 'tokens', decimals: token.decimals },
    { ...lamports, unit: 'SOL', decimals: SOL_DECIMALS },
  ]
    .filter(({ missing }) => missing > 0n)
    .map(({ available, needed, missing, unit, decimals }) => {
      const [holds, needs, lacks] = [available, needed, missing].map((amount) =>
        groupDigits(toDecimal(amount, decimals)),
      );
      return {
        kind: 'UNDERFUNDED',
        message: `The vault holds ${holds} ${unit}; the open batches need ${needs}. Deposit ${lacks} more.`,
      };
    });
}

/** Reports a vault that holds nothing of an asset, also before a batch needs it; what batches lack is reported already. */
function emptyVault({ tokens, lamports }: VaultNeeds): Attention[] {
  if (tokens.missing > 0n || lamports.missing > 0n) return [];
  const empty = [...(lamports.available === 0n ? ['SOL'] : []), ...(tokens.available === 0n ? ['tokens'] : [])];
  if (empty.length === 0) return [];
  const message = `The vault has no ${empty.join(' and no ')}. Deposit ${empty.join(' and ')} so that batches can execute.`;
  return [{ kind: 'UNDERFUNDED', message }];
}

/** Share of a daily limit from which on it is reported. */
const NEARLY_USED_PERCENT = 90n;

function usedUp({ project, limits, used }: ProjectState): Attention[] {
  return (['burn', 'airdrop'] as const).flatMap((kind): Attention[] => {
    const capBaseUnits = project.dailyLimits[`${kind}BaseUnits`];
    const usedBaseUnits = used[`${kind}BaseUnits`];
    // A limit of zero forbids the kind.
    if (capBaseUnits === 0n || usedBaseUnits * 100n < capBaseUnits * NEARLY_USED_PERCENT) return [];
    const { used: usedTokens, cap, resetsAt } = limits[kind];
    return [
      {
        kind: 'LIMIT',
        message: `Today’s ${kind} limit is ${usedBaseUnits < capBaseUnits ? 'nearly ' : ''}used up: ${groupDigits(usedTokens)} of ${groupDigits(cap)} tokens. It resets at ${resetsAt}.`,
      },
    ];
  });
}

function expiring({ id, name, prefix, expiresAt, replacedBy }: StoredKey): Attention {
  const advice =
    replacedBy === null
      ? 'Rotate it before then.'
      : 'The key that replaces it has ended already: create a new one before then.';
  return {
    kind: 'KEY_EXPIRES',
    message: `The API key ${name ?? prefix} stops working at ${expiresAt?.toISOString()}. ${advice}`,
    keyId: id,
  };
}
