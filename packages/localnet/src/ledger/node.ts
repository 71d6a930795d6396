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
  /** False for a node that was started without a history of transactions. */
  readonly isKept: boolean;
  /**
   * Finds a transaction of the recent status cache: those after the finalized slot, and in the newest finalized ones. Every
   * node has it, whatever history it keeps.
   */
  recent(signature: string): TransactionSummary | null;
  blockTime(slot: bigint): bigint;
}

export interface NodeOptions {
  /** Slots by which the node lags behind the cluster; limited by the kept versions of accounts. */
  readonly behindSlots: bigint;
  /** Slots of the node's history, 0 if it keeps none; null for the cluster's complete history. */
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

/** Finalized slots of the status cache (Agave, status_cache.rs, MAX_CACHE_ENTRIES). */
const STATUS_CACHE_SLOTS = 300n;

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
    isKept: historySlots !== 0n,
    recent: (signature) => {
      const summary = store.summary(signature);
      const isRecent = summary && summary.slot > slots.at('finalized') - STATUS_CACHE_SLOTS;
      return isRecent && summary.slot <= slots.at('processed') ? summary : null;
    },
    summary: (signature) => {
      const summary = store.summary(signature);
      return summary && isKnown(summary) ? summary : null;
    },
    transaction: (signature) => {
      const summary = store.summary(signature);
      return summary && isKnown(summary) ? store.transaction(signature) : null;
    },
    transactionsOf: (address, page) => store.transactionsOf(address, page).filter(isKnown),
    position: store.position,
    transactionsIn: (slot) => (slot < first() ? [] : store.transactionsIn(slot)),
    firstAvailableSlot: first,
    transactionCount: store.transactionCount,
    blockTime: (slot) => {
      const { unixTimestamp, isExact } = slots.blockTime(slot);
      return isExact ? unixTimestamp : (store.blockTime(slot) ?? unixTimestamp);
    },
  };
}
