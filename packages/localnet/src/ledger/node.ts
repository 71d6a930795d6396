import type { WireTransaction } from '../wire/wire-transaction.ts';
import type { Attempt } from './attempt.ts';
import { type BankState, readBank } from './bank-state.ts';
import { type ChainDeps, simulateInBank } from './simulate.ts';
import type { Commitment, SlotView } from './slots.ts';
import type { TransactionHistory } from './store/store.ts';
import type { TransactionSummary } from './store/transaction-record.ts';
import { decodeAccount } from './svm-accounts.ts';

/** The state of one node: the chain up to a slot, and the bank of each commitment level. */
export interface Node {
  readonly slots: SlotView;
  readonly history: NodeHistory;
  /** Returns the accounts in the bank of a commitment level. */
  bank(commitment: Commitment): BankState;
  /** Executes a transaction in the bank of a commitment level and restores all accounts. */
  simulate(
    transaction: WireTransaction,
    options: { readonly commitment: Commitment; readonly checkLifetime: boolean },
  ): Simulation;
  minimumBalanceForRentExemption(bytes: bigint): bigint;
}

export interface Simulation {
  readonly attempt: Attempt;
  /** Accounts after the transaction. */
  readonly account: BankState['account'];
}

/** The transactions of a node's history, up to its slot. */
export interface NodeHistory extends TransactionHistory {
  blockTime(slot: bigint): bigint;
}

export interface NodeOptions {
  /** Slots by which the node lags behind the cluster; limited by the kept versions of accounts. */
  readonly behindSlots: bigint;
  /** Slots of the node's history; null for the cluster's complete history. */
  readonly historySlots: bigint | null;
}

/** Creates a view of the cluster without state of its own. */
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
