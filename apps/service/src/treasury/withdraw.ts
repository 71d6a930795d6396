import { ApiError, isApiError, type WithdrawAction, type WithdrawalRequest } from '@flywheel/api';
import { address, describeReservedAddress, findWalletIssue, WITHDRAWAL_TYPE } from '@flywheel/protocol';
import type { Address } from '@solana/kit';
import { requireNoHalt } from '../batches/admission.ts';
import { checkBatch } from '../batches/check/check-batch.ts';
import { findMissingAccounts } from '../batches/check/recipients.ts';
import { type CreatedBatch, createBatchIdempotently, findBeginning, hashRequest } from '../batches/create-batch.ts';
import type { Deps } from '../batches/deps.ts';
import { parseWithdrawnAmount } from '../compile/actions.ts';
import { compilePipelines } from '../compile/compile-pipeline.ts';
import type { CompiledPipeline, VaultPipeline } from '../model/batch.ts';
import type { Project } from '../model/project.ts';
import { findLandedSlot } from '../store/batches/bundles.ts';

export interface WithdrawRequest {
  /** The project of the wallet that asks. */
  readonly project: Project;
  /** Lowercase. */
  readonly idempotencyKey: string;
  readonly body: WithdrawalRequest;
}

/**
 * Creates a batch of one pipeline that takes SOL or tokens out of the vault. Issues in the chain's current state are
 * warnings here: funds may arrive before the approval, and the batch is checked again then.
 * @throws ApiError ERR_INVALID_REQUEST for a recipient that is not a wallet's address, or an invalid amount;
 * ERR_PAUSED; and those of `createBatchIdempotently`.
 */
export async function withdraw(deps: Deps, { project, idempotencyKey, body }: WithdrawRequest): Promise<CreatedBatch> {
  const key = { project, kind: 'withdrawal', idempotencyKey, requestHash: hashRequest(body) } as const;
  const { earlier, halt } = await findBeginning(deps.db, key);
  if (earlier) return earlier;
  requireNoHalt(halt);

  const pipelines = await compilePipelines([parseWithdrawal(body, project)], project);
  const landedSlot = await findLandedSlot(deps.db, project.flywheel.id);
  const messages = await deps.chain.decide(landedSlot, (chain) =>
    findWarnings({ ...deps, chain }, project, pipelines, address(body.to)),
  );

  const warnings = messages.map((message) => ({ pipeline: 0, message }));
  const audit = { actor: project.wallet, action: 'withdrawal.requested', after: body } as const;
  return createBatchIdempotently(deps, key, { keyId: null, pipelines, warnings, audit });
}

function parseWithdrawal({ asset, to, amount }: WithdrawalRequest, { token, flywheel }: Project): VaultPipeline {
  const { multisig } = flywheel;
  const reserved = describeReservedAddress(to);
  if (reserved !== null) throw invalid('to', `${to} is ${reserved}, not a wallet.`);
  const problem = findWalletIssue(to);
  if (problem !== null) throw invalid('to', problem);
  if (to === multisig.operator) throw invalid('to', `${to} is the operator, which pays the fees of all batches.`);
  const action: WithdrawAction = { action: 'WITHDRAW', asset, toAddress: to, amount };
  requireAmount(action, token);
  return { type: WITHDRAWAL_TYPE, payload: JSON.stringify({ asset, to, amount }), actions: [action] };
}

function requireAmount(action: WithdrawAction, token: Project['token']): void {
  let amount: bigint;
  try {
    amount = parseWithdrawnAmount(action, token);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw invalid('amount', cause.message, cause);
  }
  if (amount === 0n) throw invalid('amount', `${action.amount} is not greater than zero.`);
}

async function findWarnings(
  deps: Deps,
  project: Project,
  pipelines: readonly CompiledPipeline[],
  to: Address,
): Promise<string[]> {
  const [missing, { issues }] = await Promise.all([
    findMissingAccounts(deps, [to]),
    checkBatch(deps, project, pipelines).catch(toWarning),
  ]);
  const isNew = missing.has(to)
    ? [`${to} has no account on this chain yet. Compare the address character by character.`]
    : [];
  return [...isNew, ...issues.map(({ message }) => message)];
}

/** The withdrawal is set up when the operator has SOL again, and checked before it is approved. */
function toWarning(error: unknown): { readonly issues: readonly { readonly message: string }[] } {
  if (!isApiError(error, 'ERR_OPERATOR_UNFUNDED')) throw error;
  return { issues: [{ message: 'The operator has no SOL now: the withdrawal waits, unchecked, until it is funded.' }] };
}

function invalid(field: keyof WithdrawalRequest, problem: string, cause?: unknown): ApiError {
  return new ApiError('ERR_INVALID_REQUEST', { place: `body.${field}`, problem }, { cause });
}
