import {
  type AccountBytes,
  BATCH_DISCRIMINATOR,
  CONFIG_TRANSACTION_DISCRIMINATOR,
  decodeBatch,
  decodeMultisig,
  decodeProposal,
  hasDiscriminator,
  type ProposalStatus,
  proposalAddress,
  transactionAddress,
} from '@flywheel/squads';
import type { Address, Signature } from '@solana/kit';
import type { Batch } from '../../model/batch.ts';
import type { Multisig } from '../../model/project.ts';
import type { LandedSignature } from '../../solana/chain.ts';
import type { DecisiveCommitment } from '../../solana/floor.ts';
import { findBundles } from '../../store/batches/bundles.ts';
import type { WorkerDeps } from '../deps.ts';

/** What decides what is sent next. The end of a batch is decided by `readFinality`. */
export interface Progress {
  /**
   * Status of the proposal. `Absent` if the chain has not reached its index: the setup was taken away by a fork. `Closed` if
   * its accounts are gone, or its index holds a transaction of another kind, so that it can never be executed again.
   */
  readonly status: ProposalStatus['__kind'] | 'Absent' | 'Closed';
  /** Members that have voted for it. */
  readonly approved: readonly Address[];
  /** Number of executed pipelines: the cursor on chain; for `Closed`, those of the recorded transactions. */
  readonly executed: number;
}

type ReadDeps = Pick<WorkerDeps, 'chain' | 'db'>;

/** Reads the progress of a batch that was set up, at commitment `confirmed`. */
export async function readProgress(deps: ReadDeps, multisig: Multisig, batch: Batch): Promise<Progress> {
  const { transactionIndex, accounts } = await readBatchAccounts(deps, multisig, batch, 'confirmed');
  if (accounts !== null && !isOfOtherKind(batch, accounts.batch)) {
    return { ...cursorOf(batch, accounts), approved: decodeProposal(accounts.proposal).approved };
  }
  if (transactionIndex < batch.batchIndex) return { status: 'Absent', approved: [], executed: 0 };
  const { executed } = await readRecorded(deps, batch, ({ confirmation }) => confirmation !== 'processed');
  return { status: 'Closed', approved: [], executed };
}

/** Reads the statuses of batches' proposals, in their order, at commitment `confirmed`. */
export async function readStatuses(
  chain: Pick<WorkerDeps['chain'], 'accounts'>,
  multisig: Address,
  batches: readonly Pick<Batch, 'batchIndex'>[],
): Promise<Progress['status'][]> {
  const addresses = batches.map(({ batchIndex }) => proposalAddress(multisig, batchIndex));
  const [multisigAccount, ...proposals] = await chain.accounts([multisig, ...addresses]);
  if (!multisigAccount) throw new Error(`The node does not show the multisig ${multisig}.`);
  const { transactionIndex } = decodeMultisig(multisigAccount);
  return batches.map(({ batchIndex }, i) => {
    const proposal = proposals[i];
    if (proposal) return decodeProposal(proposal).status.__kind;
    return transactionIndex < batchIndex ? 'Absent' : 'Closed';
  });
}

export interface BatchAccounts {
  readonly batch: AccountBytes;
  readonly proposal: AccountBytes;
}

/**
 * Reads how far a multisig's indices have come, and the accounts of a batch in the same state; null if one is missing. `isSeen`
 * is false if the node does not show the multisig at `finalized`: that of a new project is not finalized at once.
 */
export async function readBatchAccounts(
  { chain }: Pick<WorkerDeps, 'chain'>,
  multisig: Multisig,
  { batchIndex }: Pick<Batch, 'batchIndex'>,
  commitment: DecisiveCommitment,
): Promise<{ readonly isSeen: boolean; readonly transactionIndex: bigint; readonly accounts: BatchAccounts | null }> {
  const addresses = [
    multisig.address,
    transactionAddress(multisig.address, batchIndex),
    proposalAddress(multisig.address, batchIndex),
  ];
  const [multisigAccount, batch, proposal] = await chain.accounts(addresses, { commitment });
  if (!multisigAccount && commitment === 'finalized') return { isSeen: false, transactionIndex: 0n, accounts: null };
  if (!multisigAccount) throw new Error(`The node does not show the multisig ${multisig.address}.`);
  const { transactionIndex } = decodeMultisig(multisigAccount);
  return { isSeen: true, transactionIndex, accounts: batch && proposal ? { batch, proposal } : null };
}

/**
 * Returns true if an index holds another kind of Squads transaction than the batch: somebody else with a member's key has used
 * it, or this service before its database was restored.
 */
export function isOfOtherKind({ kind }: Pick<Batch, 'kind'>, { data }: AccountBytes): boolean {
  return !hasDiscriminator(data, kind === 'rotation' ? CONFIG_TRANSACTION_DISCRIMINATOR : BATCH_DISCRIMINATOR);
}

/** Decodes the cursor of a batch, or of a rotation, which has one step. @throws Error for an account of another kind. */
export function cursorOf(
  { kind }: Pick<Batch, 'kind'>,
  { batch, proposal }: BatchAccounts,
): { readonly status: ProposalStatus['__kind']; readonly executed: number } {
  const {
    status: { __kind: status },
  } = decodeProposal(proposal);
  if (kind === 'rotation') return { status, executed: status === 'Executed' ? 1 : 0 };
  return { status, executed: decodeBatch(batch).executedTransactionIndex };
}

export interface RecordedTransaction {
  readonly signature: Signature;
  /** Base64. */
  readonly wire: string;
}

/** Reads which recorded transactions of a batch succeeded on chain, and how many pipelines these executed. */
export async function readRecorded(
  { chain, db }: ReadDeps,
  { id }: Pick<Batch, 'id'>,
  isSure: (outcome: LandedSignature) => boolean,
): Promise<{ readonly transactions: readonly RecordedTransaction[]; readonly executed: number }> {
  const bundles = (await findBundles(db, id)).filter(({ phase }) => phase !== 'close');
  const sent = bundles.flatMap(({ signatures, transactions, pipelineCounts }) =>
    signatures.map((signature, i) => ({
      signature,
      wire: transactions[i] ?? '',
      pipelines: pipelineCounts[i] ?? 0,
    })),
  );
  // An approval may be part of several bundles.
  const distinct = [...new Map(sent.map((transaction) => [transaction.signature, transaction])).values()];
  const { outcomes } = await chain.signatureOutcomes(distinct.map(({ signature }) => signature));
  const succeeded = distinct.filter((_, i) => {
    const outcome = outcomes[i] ?? 'unknown';
    return outcome !== 'unknown' && outcome.err === null && isSure(outcome);
  });
  return {
    transactions: succeeded,
    executed: succeeded.reduce((sum, { pipelines }) => sum + pipelines, 0),
  };
}
