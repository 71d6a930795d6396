import { type Address, bytesEqual } from '@solana/kit';
import type { Batch } from '../../model/batch.ts';
import type { Multisig } from '../../model/project.ts';
import { decodeBatch, decodeProposal, type ProposalStatus } from '../../squads/accounts.ts';
import { batchAddress, proposalAddress } from '../../squads/addresses.ts';
import { readBatchHistory, readRotationHistory } from '../../squads/history.ts';
import type { WorkerDeps } from '../deps.ts';

export interface Progress {
  /** `Closed` when its accounts are gone, which only happens to a batch that can never be executed again. */
  readonly status: ProposalStatus | 'Closed';
  /** Who has voted for it. */
  readonly approved: readonly Address[];
  /** The chain’s cursor: how many pipelines were executed. */
  readonly executed: number;
}

/**
 * How far the chain is with a batch that was set up. Anyone may close the accounts of a batch that has ended on chain:
 * where they are missing, the history of their address tells how it ended.
 */
export async function readProgress(
  { chain }: Pick<WorkerDeps, 'chain'>,
  multisig: Multisig,
  batch: Batch,
): Promise<Progress> {
  const address = await batchAddress(multisig.address, batch.batchIndex);
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
  const { status, approved } = decodeProposal(proposalAccount);
  if (batch.kind === 'rotation') return { status, approved, executed: status === 'Executed' ? 1 : 0 };
  return { status, approved, executed: decodeBatch(batchAccount).executedTransactionIndex };
}

/**
 * How many pipelines of a batch whose accounts are gone were executed, by the history of its address; null when what was
 * there was never this batch. Absence alone decides nothing: a database may be older than the chain.
 */
export async function readClosed(
  { chain }: Pick<WorkerDeps, 'chain'>,
  multisig: Multisig,
  { kind, batchIndex, pipelines }: Batch,
): Promise<number | null> {
  const address = await batchAddress(multisig.address, batchIndex);
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
