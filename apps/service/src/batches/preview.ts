import type { InitWarning } from '@flywheel/api';
import type { CompanyPolicy } from '@flywheel/protocol';
import type { Address } from '@solana/kit';
import { compilePipelines } from '../compile/compile-pipeline.ts';
import { checkPipelines } from '../compile/request/check-pipelines.ts';
import { parseInitRequest } from '../compile/request/parse-request.ts';
import { dailyTotals } from '../compile/totals.ts';
import type { CompiledPipeline } from '../model/batch.ts';
import { startOfNextUtcDay, utcDay } from '../model/clock.ts';
import type { Project } from '../model/project.ts';
import { checkPayloads } from '../payload-schemas/check.ts';
import { findLandedSlot } from '../store/batches/bundles.ts';
import { findPolicyUses } from '../store/company/policy-uses.ts';
import { countTokenAccounts } from '../store/company/uses.ts';
import { findDailyAmounts } from '../store/projects/daily-limits.ts';
import { findProofTypes } from '../store/projects/proof-types.ts';
import { type DailyLimit, dailyLimitError, forecast, requireServed } from './admission.ts';
import { type BatchCheck, type CodedIssue, checkBatch } from './check/check-batch.ts';
import type { Funds } from './check/funds.ts';
import type { Deps } from './deps.ts';
import type { InitDeps, InitRequest } from './init.ts';
import { toPolicyIssues } from './policy/at-init.ts';
import { findMetRules, findWaits, type MetRule } from './policy/evaluate.ts';
import { countAdded, readFacts, tokenAccountUses, usesOf } from './policy/facts.ts';
import { readUnreadTokenAccounts } from './policy/token-accounts.ts';
import { type OperatorCost, type PredictCostDeps, predictCost } from './predict-cost.ts';
import { findMixedRecipients } from './recipients.ts';

export type PreviewDeps = InitDeps & PredictCostDeps;

export interface Preview {
  readonly pipelines: readonly CompiledPipeline[];
  /** Everything that keeps the batch from being initialized or executed now. */
  readonly issues: readonly CodedIssue[];
  /** Rules of the company that it meets now. */
  readonly rules: readonly MetRule[];
  readonly warnings: readonly InitWarning[];
  readonly funds: Funds;
  readonly limits: { readonly burn: DailyLimit; readonly airdrop: DailyLimit };
  readonly cost: OperatorCost;
}

/**
 * Computes what init and execute would do with a request now. Stores nothing of it. Issues that depend on the current state
 * (limits, funds, accounts on chain) are returned, not thrown.
 * @throws ApiError the same errors as `initBatch` for an invalid request; ERR_OPERATOR_UNFUNDED.
 */
export async function previewBatch(
  deps: PreviewDeps,
  { project, scopes, keyId, body }: Omit<InitRequest, 'idempotencyKey'>,
): Promise<Preview> {
  requireServed(deps, project);
  const request = parseInitRequest(body);
  const proofTypes = await findProofTypes(deps.db, project.id);
  await checkPipelines(request.pipelines, { ...project, scopes, proofTypes });
  await checkPayloads(deps, { ...project, proofTypes }, request.pipelines);
  const pipelines = await compilePipelines(request.pipelines, project);
  const landedSlot = await findLandedSlot(deps.db, project.flywheel.id);
  const [{ check, cost }, limits, { errors: capErrors, policy, warnings }, heldRecipients] = await Promise.all([
    deps.chain.decide(landedSlot, (chain) => checkAndPrice({ ...deps, chain }, project, pipelines)),
    readLimits(deps, project, pipelines),
    forecast(deps, { project, kind: 'pipelines', keyId, pipelines }),
    findMixedRecipients(deps, project, request.pipelines),
  ]);
  const limitErrors = [limits.burn, limits.airdrop]
    .filter(isExceeded)
    .map((limit) => dailyLimitError(limit, project.token, deps.clock.now()));
  const errors = [...limitErrors, ...capErrors].map(({ code, message }) => ({
    code,
    place: null,
    message,
    recipient: null,
  }));
  const created = check.funds.missingTokenAccounts.map(({ address }) => address);
  const rules = policy === null ? [] : await judgePreview(deps, project, pipelines, { policy, limits, created });
  return {
    pipelines,
    issues: [...errors, ...toPolicyIssues(rules), ...heldRecipients, ...check.issues],
    rules,
    warnings,
    funds: check.funds,
    limits,
    cost,
  };
}

/** The cost depends on the check: the compute units it measures decide how many pipelines share a transaction. */
async function checkAndPrice(
  deps: PreviewDeps,
  project: Project,
  pipelines: readonly CompiledPipeline[],
): Promise<{ readonly check: BatchCheck; readonly cost: OperatorCost }> {
  const check = await checkBatch(deps, project, pipelines);
  return { check, cost: await predictCost(deps, project.flywheel.multisig, pipelines, check.computeUnits) };
}

/** No batch has this index. */
const NOT_CREATED = 0n;

interface PreviewedDay {
  readonly policy: CompanyPolicy;
  readonly limits: Preview['limits'];
  /** Token accounts that the vault would pay for. */
  readonly created: readonly Address[];
}

/** Lists the rules of the company that a batch would meet now. */
async function judgePreview(
  deps: Deps,
  project: Project,
  pipelines: readonly CompiledPipeline[],
  { policy, limits: { burn, airdrop }, created }: PreviewedDay,
): Promise<MetRule[]> {
  const { db, clock } = deps;
  const { id: projectId, token, flywheel } = project;
  const now = clock.now();
  const day = utcDay(now);
  const facts = readFacts(pipelines, token);
  const counts = policy.newTokenAccounts !== null;
  const asked = [...usesOf([policy], facts), ...(counts ? tokenAccountUses(created) : [])];
  // Init asks the chain as well before it refuses.
  if (counts) await readUnreadTokenAccounts(deps, project, day);
  const used = await findPolicyUses(db, { projectId, day }, asked);
  const moved = burn.usedBaseUnits + airdrop.usedBaseUnits;
  const judged = { day, moved, uses: used.uses, tokenAccounts: countAdded(asked, used) };
  const met = findMetRules(policy, token, facts, judged);
  // A batch that init accepts may still wait: batches of earlier days that the company signs today have created some as well.
  const isMet = met.some(({ rule }) => rule === 'newTokenAccounts');
  const located = { multisig: flywheel.multisig.address, batchIndex: NOT_CREATED };
  const usedToday = counts && !isMet ? await countTokenAccounts(db, located, day) : null;
  const tokenAccounts = usedToday === null ? null : { asked: created.length, usedToday };
  return [...met, ...findWaits(policy, token, { now, tokenAccounts })];
}

async function readLimits(
  { db, clock }: Deps,
  { id, token, dailyLimits }: Project,
  pipelines: readonly CompiledPipeline[],
): Promise<Preview['limits']> {
  const now = clock.now();
  const used = await findDailyAmounts(db, id, utcDay(now));
  const asked = dailyTotals(pipelines, token);
  const limitOf = (kind: DailyLimit['kind']): DailyLimit => ({
    kind,
    capBaseUnits: dailyLimits[`${kind}BaseUnits`],
    usedBaseUnits: used[`${kind}BaseUnits`],
    askedBaseUnits: asked[`${kind}BaseUnits`],
    resetsAt: startOfNextUtcDay(now),
  });
  return { burn: limitOf('burn'), airdrop: limitOf('airdrop') };
}

/** Applies the rule of init: a limit that was lowered below its use only blocks requests that ask for more of it. */
function isExceeded({ capBaseUnits, usedBaseUnits, askedBaseUnits }: DailyLimit): boolean {
  return askedBaseUnits > 0n && usedBaseUnits + askedBaseUnits > capBaseUnits;
}
