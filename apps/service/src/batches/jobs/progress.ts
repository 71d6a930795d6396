import {
  decodeBatch,
  decodeProposal,
  type ProposalStatus,
  proposalAddress,
  transactionAddress,
} from '@flywheel/squads';
import type { Address, Signature } from '@solana/kit';
import type { Batch } from '../../model/batch.ts';
import type { Multisig } from '../../model/project.ts';
import { readBatchHistory } from '../../squads/history.ts';
import { findBundles } from '../../store/batches/bundles.ts';
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
  deps: Pick<WorkerDeps, 'chain' | 'db'>,
  multisig: Multisig,
  batch: Batch,
): Promise<Progress> {
  const [batchAccount, proposalAccount] = await deps.chain.accounts([
    await transactionAddress(multisig.address, batch.batchIndex),
    await proposalAddress(multisig.address, batch.batchIndex),
  ]);
  if (!batchAccount || !proposalAccount) {
    const executed = await readClosed(deps, multisig, batch);
    if (executed === 'foreign') throw new Error(`Index ${batch.batchIndex} of batch ${batch.id} holds other content.`);
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
 * Reads how many pipelines of a closed batch were executed: from the transactions that are recorded for it if they account
 * for all of them, otherwise from the history of its proposal. `foreign` if its index held other content, because a restored
 * database can be older than the chain.
 * @throws Error if the history is incomplete. It decides nothing; the job reads it again later.
 */
export async function readClosed(
  { chain, db }: Pick<WorkerDeps, 'chain' | 'db'>,
  multisig: Multisig,
  batch: Batch,
): Promise<number | 'foreign'> {
  const recorded = await readRecorded({ chain, db }, batch);
  if (recorded.executed === batch.pipelines.length) return recorded.executed;
  const address = await proposalAddress(multisig.address, batch.batchIndex);
  const transactions = await chain.transactionsNaming(address, { commitment: 'confirmed' });
  const listed = new Set(transactions.map(({ signature }) => signature));
  const isOld = recorded.signatures.some((signature) => !listed.has(signature));
  const instructions = transactions.flatMap((transaction) => transaction.instructions);
  const history = isOld ? 'incomplete' : await readBatchHistory(multisig, batch, instructions);
  if (history === 'incomplete') throw new Error(`The node's history of batch ${batch.id} at ${address} is incomplete.`);
  return history === 'foreign' ? history : history.executed;
}

/** Reads which recorded transactions of a batch succeeded on chain, and how many pipelines these executed. */
async function readRecorded(
  { chain, db }: Pick<WorkerDeps, 'chain' | 'db'>,
  batch: Batch,
): Promise<{ readonly signatures: readonly Signature[]; readonly executed: number }> {
  const sent = (await findBundles(db, batch.id))
    .filter(({ phase }) => phase !== 'close')
    .flatMap(({ signatures, pipelineCounts }) =>
      signatures.map((signature, i) => ({ signature: signature as Signature, pipelines: pipelineCounts[i] ?? 0 })),
    );
  const { outcomes } = await chain.signatureOutcomes(sent.map(({ signature }) => signature));
  const succeeded = sent.filter((_, i) => {
    const outcome = outcomes[i] ?? 'unknown';
    return outcome !== 'unknown' && outcome.confirmation !== 'processed' && outcome.err === null;
  });
  return {
    signatures: succeeded.map(({ signature }) => signature),
    executed: succeeded.reduce((sum, { pipelines }) => sum + pipelines, 0),
  };
}
