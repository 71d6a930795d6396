import { ApiError } from '@flywheel/api';
import {
  type Address,
  appendTransactionMessageInstructions,
  type Base64EncodedWireTransaction,
  createTransactionMessage,
  setTransactionMessageFeePayer,
} from '@solana/kit';
import { type Batch, type BatchWithoutPipelines, isFinal } from '../model/batch.ts';
import type { Project } from '../model/project.ts';
import { compileUnsigned } from '../solana/transactions.ts';
import { decodeProposal } from '../squads/accounts.ts';
import { proposalAddress } from '../squads/addresses.ts';
import { locateBatch, proposalCancel } from '../squads/instructions.ts';
import { insertAuditEntry } from '../store/audit.ts';
import { findBatch } from '../store/batches/batches.ts';
import { lockUnbegun } from '../store/batches/ends.ts';
import { awaitBatch, type Wait } from './await-batch.ts';
import type { Deps } from './deps.ts';
import { END_REASONS, recordEnd } from './jobs/end.ts';
import { readBatch } from './read.ts';

export interface Cancellation {
  readonly batch: BatchWithoutPipelines;
  /** For the wallet to sign, pay and send: an approved proposal needs its cancel too before the rent comes back. */
  readonly cancelTx: Base64EncodedWireTransaction | null;
}

/**
 * Cancels an open batch. One whose execution has not begun ends at once, its limits given back; one that is being
 * executed ends when the work in hand is done, as it then stands on chain. Repeating answers the same. `actor` is the
 * wallet that is signed in, for the audit log.
 * @throws ApiError ERR_BATCH_NOT_FOUND; ERR_BATCH_NOT_CANCELLABLE when it was executed.
 */
export async function cancelBatch(
  deps: Deps,
  project: Project,
  { batchId, actor }: { readonly batchId: string; readonly actor?: Address },
  wait: Wait,
): Promise<Cancellation> {
  const batch = await readBatch(deps, project, batchId);
  if (!isFinal(batch.status)) await endOrEnqueue(deps, project, batch, actor);
  const ended = await awaitBatch(deps, batchId, ({ status }) => isFinal(status), wait);
  if (ended.status === 'EXECUTED') throw new ApiError('ERR_BATCH_NOT_CANCELLABLE', { batchId });
  if (ended.status !== 'FAILED') return { batch: ended, cancelTx: null };
  // The wallet may have cast its cancel since: whoever asks again has it looked at now.
  await deps.jobs.enqueue(deps.db, { type: 'close', batchId, multisig: project.flywheel.multisig.address });
  return { batch: ended, cancelTx: await buildCancel(deps, project, ended) };
}

async function endOrEnqueue(
  { db, ...deps }: Deps,
  project: Project,
  batch: Batch,
  actor: Address | undefined,
): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const isUnbegun = await lockUnbegun(trx, batch.id);
    // Read again under the lock: it may have been set up since, or have ended.
    const locked = (await findBatch(trx, batch.id)) ?? batch;
    if (isFinal(locked.status)) return;
    if (actor !== undefined) {
      const at = deps.clock.now();
      const entry = { at, actor, action: 'batch.cancelled', projectId: project.id, batchId: batch.id } as const;
      await insertAuditEntry(trx, entry);
    }
    if (isUnbegun) {
      const failure = { failedTxMsg: END_REASONS.cancelled };
      await recordEnd({ db, ...deps }, trx, project, locked, {
        event: 'ENDED_UNEXECUTED',
        executed: 0,
        failure,
        cause: 'cancelled',
      });
      return;
    }
    const { address: multisig } = project.flywheel.multisig;
    await deps.jobs.enqueue(trx, { type: 'cancel', batchId: batch.id, multisig });
  });
}

/** null where the chain needs nothing of the wallet: it was never approved, or is closed, or the wallet has cancelled. */
async function buildCancel(
  { chain }: Deps,
  { flywheel: { multisig } }: Project,
  { batchIndex }: BatchWithoutPipelines,
): Promise<Base64EncodedWireTransaction | null> {
  const [account] = await chain.accounts([await proposalAddress(multisig.address, batchIndex)]);
  if (!account) return null;
  const { status, cancelled } = decodeProposal(account);
  if (status !== 'Approved' || cancelled.includes(multisig.wallet)) return null;
  const vote = proposalCancel(await locateBatch(multisig, batchIndex), multisig.wallet);
  const message = setTransactionMessageFeePayer(multisig.wallet, createTransactionMessage({ version: 0 }));
  return compileUnsigned(appendTransactionMessageInstructions([vote], message), await chain.latestBlockhash());
}
