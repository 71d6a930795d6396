import type { Address } from '@solana/kit';
import type { WireTransaction } from '../wire/wire-transaction.ts';
import type { Attempt } from './attempt.ts';
import { type BankState, readBank } from './bank-state.ts';
import { type ChainDeps, simulateInBank } from './simulate.ts';
import type { Commitment, SlotView } from './slots.ts';
import type { Page } from './store/history.ts';
import type { TransactionRecord, TransactionSummary } from './store/transaction-record.ts';
import { decodeAccount } from './svm-accounts.ts';

/** What one node of the cluster knows: the chain up to a slot, and the state of each commitment level's bank. */
export interface Node {
  readonly slots: SlotView;
  readonly history: NodeHistory;
  /** The accounts of a commitment level's bank. */
  bank(commitment: Commitment): BankState;
  /** Executes a transaction in a commitment level's bank and puts everything back. */
  simulate(
    transaction: WireTransaction,
    options: { readonly commitment: Commitment; readonly checkLifetime: boolean },
  ): Simulation;
  minimumBalanceForRentExemption(bytes: bigint): bigint;
}

export interface Simulation {
  readonly attempt: Attempt;
  /** The accounts as the transaction leaves them. */
  readonly account: BankState['account'];
}

/** The transactions that a node remembers, none of a later slot than it has come to. */
export interface NodeHistory {
  summary(signature: string): TransactionSummary | null;
  transaction(signature: string): TransactionRecord | null;
  /** Newest first. */
  transactionsOf(address: Address, page: Page): TransactionSummary[];
  /** In the order they were executed. */
  transactionsIn(slot: bigint): TransactionRecord[];
  /** The first slot whose transactions are all still remembered. */
  firstAvailableSlot(): bigint;
  /** Transactions up to and with a slot, since genesis. */
  transactionCount(slot: bigint): bigint;
  blockTime(slot: bigint): bigint;
}

export interface NodeOptions {
  /** Slots by which the node is behind the cluster; as many as there are earlier versions of accounts for, at most. */
  readonly behindSlots: bigint;
  /** Slots whose transactions the node remembers; null: all that the cluster does. */
  readonly historySlots: bigint | null;
}

/** Creates a view of the cluster; it holds nothing of its own. */
export function createNode(deps: ChainDeps, options: NodeOptions): Node {
  const { svm, slots: cluster, versions } = deps;
  const at = (commitment: Commitment) => {
    const reached = cluster.at(commitment) - options.behindSlots;
    return options.behindSlots === 0n || reached > versions.floor() ? reached : versions.floor();
  };
  const slots = cluster.seenAt(at);
  const bank = (commitment: Commitment) => readBank(deps, slots.at(commitment));
  return {
    slots,
    history: createNodeHistory(deps, slots, options.historySlots),
    bank,
    simulate: (transaction, { commitment, checkLifetime }) => {
      const state = bank(commitment);
      const attempt = simulateInBank(deps, state, transaction, { checkLifetime });
      const account: BankState['account'] = (address) => {
        const written = attempt.kind === 'executed' ? attempt.after.get(address) : undefined;
        return written ? decodeAccount(address, written) : state.account(address);
      };
      return { attempt, account };
    },
    minimumBalanceForRentExemption: (bytes) => svm.minimumBalanceForRentExemption(bytes),
  };
}

function createNodeHistory(
  { store }: Pick<ChainDeps, 'store'>,
  slots: SlotView,
  historySlots: bigint | null,
): NodeHistory {
  const first = () => {
    const own = historySlots === null ? 0n : slots.at('processed') - historySlots;
    const stored = store.firstAvailableSlot();
    return own > stored ? own : stored;
  };
  const isKnown = ({ slot }: TransactionSummary) => slot <= slots.at('processed') && slot >= first();
  return {
    summary: (signature) => {
      const summary = store.summary(signature);
      return summary && isKnown(summary) ? summary : null;
    },
    transaction: (signature) => {
      const summary = store.summary(signature);
      return summary && isKnown(summary) ? store.transaction(signature) : null;
    },
    transactionsOf: (address, page) => store.transactionsOf(address, page).filter(isKnown),
    transactionsIn: (slot) => (slot < first() ? [] : store.transactionsIn(slot)),
    firstAvailableSlot: first,
    transactionCount: store.transactionCount,
    blockTime: (slot) => {
      const { unixTimestamp, isExact } = slots.blockTime(slot);
      return isExact ? unixTimestamp : (store.blockTime(slot) ?? unixTimestamp);
    },
  };
}
