import { toDecimal } from '@flywheel/protocol';
import { decodeBatch, decodeProposal, proposalAddress, transactionAddress } from '@flywheel/squads';
import { dailyTotals } from '../compile/totals.ts';
import type { Batch } from '../model/batch.ts';
import { DAY_MS, utcDay } from '../model/clock.ts';
import type { Project } from '../model/project.ts';
import type { ChainAccount } from '../solana/answers.ts';
import { findBundles } from '../store/batches/bundles.ts';
import { keepsRecordedTerms, lockTerms } from '../store/company/terms.ts';
import { countBatch, recordSetupDay, uncountBatch } from '../store/company/totals.ts';
import { deleteUses } from '../store/company/uses.ts';
import type { Db } from '../store/db.ts';
import { fencedTransaction, type RunDeps } from './deps.ts';
import { isOfOtherKind } from './jobs/progress.ts';
import { countUses, findBoundVersions, findPersonRule, type Judgement, judge } from './policy/at-signing.ts';

// The rows that these functions write are the worker's own: no request can change what the company approves by itself.

/** Records the day of a batch's setup and, if no worker has done so since the registration, the terms of its project. */
export async function recordSetup(
  deps: Pick<RunDeps, 'clock' | 'companyOperators'>,
  trx: Db,
  project: Project,
  batch: Batch,
): Promise<void> {
  const day = utcDay(deps.clock.now());
  await lockTerms(trx, project, { isKept: keepsRecordedTerms(deps) });
  await recordSetupDay(trx, locate(project, batch), day);
}

/**
 * Counts a batch for the day of its setup, if the company may approve it without a person. The batch's actions must have been
 * compiled again.
 * @returns null if it is counted, otherwise the reason why a person must approve it, a sentence.
 */
export async function countWithinTerms(deps: RunDeps, project: Project, batch: Batch): Promise<string | null> {
  const { token } = project;
  const totals = dailyTotals(batch.pipelines, token);
  const now = deps.clock.now();
  return fencedTransaction(deps, async (trx) => {
    const { mint, approvalMode, ...limits } = await lockTerms(trx, project, { isKept: keepsRecordedTerms(deps) });
    if (approvalMode === 'manual') return 'The company approves nothing of this project by itself.';
    if (mint !== token.mint) return `The limits count the token ${mint}, and the project has ${token.mint}.`;
    const located = locate(project, batch);
    // An earlier release may have set it up.
    const setupDay = await recordSetupDay(trx, located, utcDay(now));
    if (setupDay < oldestCountedDay(deps, now))
      return `It was set up on ${setupDay}, and a batch that is executed later has expired.`;
    const counted = { day: setupDay, located };
    const rule = await findPersonRule(trx, project, batch, counted);
    if (rule !== null) return rule;
    if (await countBatch(trx, located, totals, limits)) {
      await countUses(trx, project, batch, counted);
      return null;
    }
    const [burned, airdropped] = [limits.burnBaseUnits, limits.airdropBaseUnits].map((limit) =>
      toDecimal(limit, token.decimals),
    );
    return `With it, its day exceeds what the company approves by itself: ${burned} tokens burned, ${airdropped} airdropped.`;
  });
}

/** Returns the oldest UTC day of which a batch may still be open, so that what others have used of it counts. */
export function oldestCountedDay({ batchExpirySeconds }: Pick<RunDeps, 'batchExpirySeconds'>, now: Date): string {
  // A batch expires some seconds after its request, and it may be set up on the day after that.
  return utcDay(new Date(now.getTime() - batchExpirySeconds * 1_000 - DAY_MS));
}

/**
 * Judges a batch that people have approved by the rules that are in force now: they may have changed during its checks. Counts a
 * batch of pipelines, whatever the day amounts to, unless the judgement refuses it or requires more operators.
 * @param approvals operators who have approved it.
 */
export async function countSigned(
  deps: RunDeps,
  project: Project,
  batch: Batch,
  approvals: number,
): Promise<Judgement> {
  const day = utcDay(deps.clock.now());
  return fencedTransaction(deps, async (trx) => {
    await lockTerms(trx, project, { isKept: keepsRecordedTerms(deps) });
    const judgement = judge(await findBoundVersions(trx, project, batch), project, batch);
    const isAllowed = judgement.refusal === null && judgement.required <= approvals;
    if (!isAllowed || batch.kind !== 'pipelines') return judgement;
    const located = locate(project, batch);
    const setupDay = await recordSetupDay(trx, located, day);
    await countBatch(trx, located, dailyTotals(batch.pipelines, project.token), null);
    await countUses(trx, project, batch, { day: setupDay, located });
    return judgement;
  });
}

/**
 * Stops counting a batch that has ended if nothing of it was executed, and nothing can be: an approval that was sent never
 * expires, because it is built on a nonce, and Squads executes what is approved. Votes may be newer than what is finalized.
 * @returns false if the accounts that tell are not finalized yet. Once they are closed, nothing tells it any more.
 */
export async function uncountUnexecuted(deps: RunDeps, project: Project, batch: Batch): Promise<boolean> {
  const { multisig, batchIndex } = locate(project, batch);
  if (batch.kind === 'rotation') return true;
  if ((await findBundles(deps.db, batch.id, 'execution')).length > 0) return true;
  const addresses = [transactionAddress(multisig, batchIndex), proposalAddress(multisig, batchIndex)];
  const finalized = await deps.chain.accounts(addresses, { commitment: 'finalized' });
  const newest = await deps.chain.accounts(addresses);
  const [account] = newest;
  if (!account || newest.includes(null) || isOfOtherKind(batch, account)) return true;
  if (finalized.includes(null)) return false;
  if ([finalized, newest].some(mayExecute)) return true;
  await fencedTransaction(deps, async (trx) => {
    await uncountBatch(trx, { multisig, batchIndex });
    await deleteUses(trx, { multisig, batchIndex });
  });
  return true;
}

function mayExecute([batch, proposal]: readonly (ChainAccount | null)[]): boolean {
  if (!batch || !proposal) return false;
  return decodeBatch(batch).executedTransactionIndex > 0 || decodeProposal(proposal).status.__kind === 'Approved';
}

function locate({ flywheel }: Project, { batchIndex }: Batch) {
  return { multisig: flywheel.multisig.address, batchIndex };
}
