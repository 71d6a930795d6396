import type { Address } from '@solana/kit';
import type { Batch } from '../../model/batch.ts';
import type { Multisig } from '../../model/project.ts';
import { decodeBatch, decodeProposal, type ProposalStatus } from '../../squads/accounts.ts';
import { batchAddress, proposalAddress } from '../../squads/addresses.ts';
import type { WorkerDeps } from '../deps.ts';

export interface Progress {
  readonly status: ProposalStatus;
  /** Who has voted for it. */
  readonly approved: readonly Address[];
  /** The chain’s cursor: how many pipelines were executed. */
  readonly executed: number;
}

/**
 * How far the chain is with a batch that was set up.
 * @throws Error when its accounts are missing: they are closed only after its end is stored.
 */
export async function readProgress(
  { chain }: Pick<WorkerDeps, 'chain'>,
  multisig: Multisig,
  { id, batchIndex }: Batch,
): Promise<Progress> {
  const [batchAccount, proposalAccount] = await chain.accounts([
    await batchAddress(multisig.address, batchIndex),
    await proposalAddress(multisig.address, batchIndex),
  ]);
  if (!batchAccount || !proposalAccount) throw new Error(`The accounts of batch ${id} are not on chain.`);
  const { status, approved } = decodeProposal(proposalAccount);
  return { status, approved, executed: decodeBatch(batchAccount).executedTransactionIndex };
}
