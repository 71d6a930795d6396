import { type ErrorContext, isApiError } from '@flywheel/api';
import type { Batch } from '../../model/batch.ts';
import type { Multisig, Project } from '../../model/project.ts';
import { addSignatures, type SignedTransaction, signTransaction } from '../../solana/transactions.ts';
import { companyOnlyApproval } from '../../squads/approval.ts';
import { checkApproval } from '../../squads/approval-check.ts';
import { planTransactions } from '../../squads/plan.ts';
import { VOTE_WEIGHT } from '../../squads/weight.ts';
import { askCompany } from '../../store/company/approvals.ts';
import { requireUnpaused } from '../../store/company/pauses.ts';
import { planTokenAccounts } from '../../store/landing/created-token-accounts.ts';
import { operatorLimits } from '../bundles/assemble-bundle.ts';
import { settleBundles } from '../bundles/land.ts';
import { type BatchCheck, checkBatch, toExecutionIssue } from '../check/check-batch.ts';
import { describeMismatch, findMismatchedPipeline, findNonceMismatch } from '../check/mismatches.ts';
import { fencedTransaction, type RunDeps } from '../deps.ts';
import { end } from './end.ts';
import { releaseRequest } from './execution-issues.ts';
import { type Progress, readProgress } from './progress.ts';

export interface Approval {
  readonly transaction: SignedTransaction;
  /** What the pipelines’ instructions use by themselves, as the check has found, by position. */
  readonly computeUnits: BatchCheck['computeUnits'];
}

/**
 * The approval, signed by the company and the operator too, once every check has passed: what is on chain is what was
 * compiled, every pipeline would go through, the transaction succeeds in simulation. `stopped` when one has not, and the batch
 * says why; `overtaken` when that was for something sent before, which has landed meanwhile; `waits` when a person has to
 * approve for the company first.
 */
export async function approve(
  deps: RunDeps,
  project: Project,
  batch: Batch,
  { status, approved }: Pick<Progress, 'status' | 'approved'>,
): Promise<Approval | 'stopped' | 'overtaken' | 'waits'> {
  const { multisig } = project.flywheel;
  if (status !== 'Active') throw new Error(`The proposal of batch ${batch.id} is ${status}, not Active.`);
  const foreign = await findMismatchedPipeline(deps, multisig, batch);
  if (foreign !== null) return stopForGood(deps, project, batch, describeMismatch(foreign, batch));
  const { issues, funds, computeUnits } = await checkBatch(deps, project, batch.pipelines);
  const issue = toExecutionIssue(issues);
  if (issue !== null) return stop(deps, project, batch, issue);
  const toCreate = funds.missingTokenAccounts.map(({ address }) => address);
  const waits = await fencedTransaction(deps, async (trx) => {
    await planTokenAccounts(trx, batch, toCreate);
    await requireUnpaused(trx, batch.flywheelId);
    return askCompany(trx, batch.id, deps.clock.now());
  });
  // Whatever the process says that asked for this: the company's key signs nothing that a person has yet to approve.
  if (waits) return 'waits';

  const approval = approved.includes(multisig.wallet)
    ? await signCompanyOnly(deps, project, batch)
    : await signApproval(deps, multisig, batch);
  if ('problem' in approval) return stop(deps, project, batch, { code: 'ERR_SIGNED_TX_INVALID', context: approval });
  const { err } = await deps.chain.simulate(approval.wire, { sigVerify: true, replaceRecentBlockhash: false });
  if (err === null) return { transaction: approval, computeUnits };
  const problem = await findNonceMismatch(deps, multisig, batch);
  return problem === null
    ? stop(deps, project, batch, {
        code: 'ERR_BATCH_WOULD_FAIL',
        context: { problems: [`The approval fails: ${err}.`] },
      })
    : stop(deps, project, batch, { code: 'ERR_SIGNED_TX_INVALID', context: { problem } });
}

/** The wallet has voted on chain by other means: its signature is not needed any more, and voting twice fails. */
async function signCompanyOnly(deps: RunDeps, { flywheel }: Project, batch: Batch): Promise<SignedTransaction> {
  const { multisig } = flywheel;
  const instructions = await companyOnlyApproval(multisig, batch.batchIndex);
  const { computeUnitPriceMicroLamports } = await deps.bundles.terms(multisig.lookupTable.addresses);
  const limits = operatorLimits(multisig, 'setup', { version: 0, computeUnitPriceMicroLamports });
  const [planned] = planTransactions([{ instructions, ...VOTE_WEIGHT }], limits);
  if (!planned) throw new Error('An approval by the company alone takes one transaction.');
  return signTransaction(planned.message, await deps.chain.latestBlockhash(), [deps.operator, deps.company]);
}

/**
 * What the wallet signed is checked once more, by the process that is about to add the company's name to it: the row it
 * comes from was written by another.
 */
async function signApproval(
  { company, operator }: RunDeps,
  multisig: Multisig,
  { id: batchId, batchIndex, nonce, signedTx }: Batch,
): Promise<SignedTransaction | ErrorContext<'ERR_SIGNED_TX_INVALID'>> {
  if (signedTx === null) throw new Error(`Batch ${batchId} has no signed approval.`);
  try {
    await checkApproval(signedTx, { batchId, batchIndex, multisig, nonce });
  } catch (error) {
    if (isApiError(error, 'ERR_SIGNED_TX_INVALID')) return error.context;
    throw error;
  }
  return addSignatures(signedTx, [company, operator]);
}

async function stop(
  deps: RunDeps,
  project: Project,
  batch: Batch,
  issue: Parameters<typeof releaseRequest>[2],
): Promise<'stopped' | 'overtaken'> {
  if (await isOvertaken(deps, project, batch)) return 'overtaken';
  await releaseRequest(deps, batch, issue);
  return 'stopped';
}

async function stopForGood(
  deps: RunDeps,
  project: Project,
  batch: Batch,
  failedTxMsg: string,
): Promise<'stopped' | 'overtaken'> {
  if (await isOvertaken(deps, project, batch)) return 'overtaken';
  await end(deps, project, batch, { event: 'ENDED_UNEXECUTED', executed: 0, failure: { failedTxMsg } });
  return 'stopped';
}

/** A bundle that an engine had given up may land while the checks go on, and fail them: its votes are cast, its nonce is used. */
async function isOvertaken(deps: RunDeps, { flywheel }: Project, batch: Batch): Promise<boolean> {
  await settleBundles(deps, batch);
  return (await readProgress(deps, flywheel.multisig, batch)).status !== 'Active';
}
