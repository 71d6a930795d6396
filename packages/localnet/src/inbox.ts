import type { Ledger } from './ledger/ledger.ts';
import type { WireTransaction } from './wire/wire-transaction.ts';

/** Transactions executed in one turn of the event loop, so that requests do not wait for all of them. */
const TURN_TRANSACTIONS = 32;

/** Holds accepted transactions until their execution, so that the answer does not reveal their result. */
export interface Inbox {
  /** Adds a transaction. Without `checkLifetime` it may have any blockhash. */
  add(transaction: WireTransaction, options: { readonly checkLifetime: boolean }): void;
  /** Executes all accepted transactions at once. */
  flush(): void;
  /** Drops all accepted transactions. */
  close(): void;
}

/**
 * Creates an inbox. `delayMs` is the time between answer and execution; with 0 the execution precedes the next request.
 */
export function createInbox(
  ledger: Pick<Ledger, 'execute'>,
  delayMs: number,
  onError: (error: unknown) => void,
): Inbox {
  let waiting: { readonly transaction: WireTransaction; readonly checkLifetime: boolean; readonly dueAt: number }[] =
    [];
  let stopTimer: (() => void) | null = null;

  const execute = (transactions: typeof waiting) => {
    for (const { transaction, checkLifetime } of transactions) {
      try {
        ledger.execute(transaction, { checkLifetime });
      } catch (error) {
        onError(error);
      }
    }
  };
  const schedule = () => {
    const [first] = waiting;
    if (stopTimer !== null || first === undefined) return;
    const waitMs = first.dueAt - performance.now();
    if (waitMs <= 0) {
      const immediate = setImmediate(deliver);
      stopTimer = () => clearImmediate(immediate);
    } else {
      const timer = setTimeout(deliver, waitMs);
      stopTimer = () => clearTimeout(timer);
    }
  };
  const deliver = () => {
    stopTimer = null;
    const now = performance.now();
    const notDue = waiting.findIndex(({ dueAt }) => dueAt > now);
    const due = Math.min(notDue < 0 ? waiting.length : notDue, TURN_TRANSACTIONS);
    execute(waiting.splice(0, due));
    schedule();
  };

  return {
    add: (transaction, { checkLifetime }) => {
      waiting.push({ transaction, checkLifetime, dueAt: performance.now() + delayMs });
      schedule();
    },
    flush: () => {
      execute(waiting.splice(0));
    },
    close: () => {
      stopTimer?.();
      waiting = [];
    },
  };
}
