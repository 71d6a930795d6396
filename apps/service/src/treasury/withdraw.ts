import { ApiError, type WithdrawAction, type WithdrawalRequest } from '@flywheel/api';
import { type Address, address, isAddress, isOffCurveAddress } from '@solana/kit';
import { checkBatch } from '../batches/check/check-batch.ts';
import { findMissingAccounts } from '../batches/check/new-accounts.ts';
import type { Deps } from '../batches/deps.ts';
import { type Admission, type StoredBatch, storeOnce } from '../batches/store-once.ts';
import { compilePipelines } from '../compile/compile-pipeline.ts';
import { parseWithdrawn } from '../compile/withdraw.ts';
import type { CompiledPipeline, VaultPipeline } from '../model/batch.ts';
import type { Project } from '../model/project.ts';
import { utcDay } from '../model/utc-day.ts';
import { insertAuditEntry } from '../store/audit.ts';
import { countOpen } from '../store/batches/batches.ts';
import type { Db } from '../store/db.ts';

export interface WithdrawRequest {
  /** Of the wallet that asks. */
  readonly project: Project;
  /** Lowercase. */
  readonly idempotencyKey: string;
  readonly body: WithdrawalRequest;
}

/**
 * Makes a batch of one pipeline that takes SOL or tokens out of the vault. What stands against it as the chain is now is
 * a warning: funds may come until it is approved, when it is held against it again.
 * @throws ApiError ERR_INVALID_REQUEST for a destination that is no wallet's address or an amount that is none;
 * ERR_DUPLICATE_IDEMPOTENCY_KEY, ERR_TOO_MANY_OPEN_BATCHES, ERR_NONCE_POOL_EMPTY
 */
export async function withdraw(deps: Deps, { project, idempotencyKey, body }: WithdrawRequest): Promise<StoredBatch> {
  const warnings: string[] = [];
  return storeOnce(
    deps,
    { project, kind: 'withdrawal', idempotencyKey, body },
    {
      compile: async () => {
        const pipelines = await compilePipelines([parseWithdrawal(body, project)], project);
        warnings.push(...(await findWarnings(deps, project, pipelines, address(body.to))));
        return pipelines;
      },
      admit: (trx) => admit(deps, trx, project, warnings),
      record: (trx, { id: batchId, createdAt }) =>
        insertAuditEntry(trx, {
          at: createdAt,
          actor: project.wallet,
          action: 'withdrawal.requested',
          projectId: project.id,
          batchId,
          after: body,
        }),
    },
  );
}

/** The proof type that a withdrawal’s memo names. */
const WITHDRAWAL_TYPE = 'WITHDRAW';

function parseWithdrawal({ asset, to, amount }: WithdrawalRequest, { token, flywheel }: Project): VaultPipeline {
  const { multisig } = flywheel;
  if (!isAddress(to)) throw invalid('to', 'is no address: base58 of 32 bytes is needed.');
  if (isOffCurveAddress(to)) throw invalid('to', `${to} is off the curve: no wallet has this address.`);
  if (to === multisig.operator) throw invalid('to', `${to} is the operator’s, which pays for everybody’s batches.`);
  const action: WithdrawAction = { action: 'WITHDRAW', asset, toAddress: to, amount };
  requireAmount(action, token);
  return { type: WITHDRAWAL_TYPE, payload: JSON.stringify({ asset, to, amount }), actions: [action] };
}

function requireAmount(action: WithdrawAction, token: Project['token']): void {
  let amount: bigint;
  try {
    amount = parseWithdrawn(action, token);
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
  const [missing, { problems }] = await Promise.all([
    findMissingAccounts(deps, [to]),
    checkBatch(deps, project, pipelines),
  ]);
  const isNew = missing.has(to) ? [`Nobody has used ${to} on this chain yet. Compare it character by character.`] : [];
  return [...isNew, ...problems.map(({ message }) => message)];
}

/** Each locks the operator’s rent and a nonce; more at a time is no way to spend. */
const MAX_OPEN_WITHDRAWALS = 10;

async function admit({ clock }: Deps, trx: Db, { id }: Project, warnings: readonly string[]): Promise<Admission> {
  const { batches: open } = await countOpen(trx, id, 'withdrawal');
  if (open >= MAX_OPEN_WITHDRAWALS) {
    const context = { open, asked: 1, max: MAX_OPEN_WITHDRAWALS, unit: 'withdrawals' } as const;
    throw new ApiError('ERR_TOO_MANY_OPEN_BATCHES', context);
  }
  return {
    reserved: { day: utcDay(clock.now()), totals: { burnBaseUnits: 0n, airdropBaseUnits: 0n } },
    warnings: warnings.map((message) => ({ pipeline: 0, message })),
  };
}

function invalid(field: keyof WithdrawalRequest, problem: string, cause?: unknown): ApiError {
  return new ApiError('ERR_INVALID_REQUEST', { place: `body.${field}`, problem }, { cause });
}
