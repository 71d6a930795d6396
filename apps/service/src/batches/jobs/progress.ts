import {
  decodeBatch,
  decodeProposal,
  type ProposalStatus,
  proposalAddress,
  transactionAddress,
} from '@flywheel/squads';
import { type Address, bytesEqual } from '@solana/kit';
import type { Batch } from '../../model/batch.ts';
import type { Multisig } from '../../model/project.ts';
import { readBatchHistory, readRotationHistory } from '../../squads/history.ts';
import type { WorkerDeps } from '../deps.ts';

export interface Progress {
  /** Status of the proposal. `Closed` when its accounts are gone: then it can never be executed again. */
  readonly status: ProposalStatus['__kind'] | 'Closed';
  /** Members that have voted for it. */
  readonly approved: readonly Address[];
  /** The cursor on chain: number of executed pipelines. */
  readonly executed: number;
}

/**
 * Reads the on-chain progress of a batch that was set up. Anyone may close the accounts of a batch that has ended on
 * chain; the result is then read from the history of the batch's address.
 */
export async function readProgress(
  { chain }: Pick<WorkerDeps, 'chain'>,
  multisig: Multisig,
  batch: Batch,
): Promise<Progress> {
  const address = await transactionAddress(multisig.address, batch.batchIndex);
  const [batchAccount, proposalAccount] = await chain.accounts([
    address,
    await proposalAddress(multisig.address, batch.batchIndex),
  ]);
  if (!batchAccount || !proposalAccount) {
    const executed = await readClosed({ chain }, multisig, batch);
    if (executed === null)
      throw new Error(`Batch ${batch.id} has neither accounts nor a history on chain at ${address}.`);
    return { status: 'Closed', approved: [], executed };
  }
  const {
    status: { __kind: status },
    approved,
  } = decodeProposal(proposalAccount);
  if (batch.kind === 'rotation') return { status, approved, executed: status === 'Executed' ? 1 : 0 };
  return { status, approved, executed: decodeBatch(batchAccount).executedTransactionIndex };
}

/**
 * Reads how many pipelines of a closed batch were executed, from the history of its address. Null if the history does
 * not belong to this batch: a restored database can be older than the chain.
 */
export async function readClosed(
  { chain }: Pick<WorkerDeps, 'chain'>,
  multisig: Multisig,
  { kind, batchIndex, pipelines }: Batch,
): Promise<number | null> {
  const address = await transactionAddress(multisig.address, batchIndex);
  const readHistory = kind === 'rotation' ? readRotationHistory : readBatchHistory;
  const { vaultMessages, executed } = readHistory(address, await chain.instructionsNaming(address));
  const isOurs =
    vaultMessages.length > 0 &&
    vaultMessages.every((message, i) => {
      const compiled = pipelines[i]?.vaultMessage;
      return compiled !== undefined && bytesEqual(message, compiled);
    });
  return isOurs ? executed : null;
}
