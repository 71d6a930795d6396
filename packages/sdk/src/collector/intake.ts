import { FlywheelError } from '../errors.ts';
import { type CollectedItem, type ItemStatus, parseItem, statusOf } from './item.ts';
import type { Journal } from './journal.ts';
import { readStatuses } from './merge.ts';
import type { NewItem, StoredItem } from './store.ts';

export interface Intake {
  collect(item: CollectedItem, options: { readonly signal?: AbortSignal }): Promise<ItemStatus>;
  /** Resolves when no item is between `collect` and the store. */
  settle(): Promise<void>;
}

interface Waiting {
  readonly item: NewItem;
  readonly resolve: (stored: StoredItem) => void;
  readonly reject: (error: unknown) => void;
}

/** Items that one write of the store takes. */
const MAX_ITEMS_A_WRITE = 500;

/**
 * Creates the way into the store. Items that arrive while a write is under way share the next one, so that many callers
 * cost few writes. While `maxPending` items are pending, callers wait.
 */
export function createIntake(
  journal: Journal,
  { maxPending, requireOpen }: { readonly maxPending: number; readonly requireOpen: () => void },
): Intake {
  const queue: Waiting[] = [];
  let writing: Promise<void> | null = null;

  async function writeAll(): Promise<void> {
    while (queue.length > 0) {
      const taken = queue.splice(0, MAX_ITEMS_A_WRITE);
      try {
        const stored = await journal.store.add(taken.map(({ item }) => item));
        for (const [i, { item, resolve, reject }] of taken.entries()) {
          const found = stored[i];
          if (found?.id !== item.id) reject(new Error(`The store has not returned item ${item.id}.`));
          else if (found.content !== item.content) reject(changed(item.id));
          else resolve(found);
        }
        await journal.refresh();
      } catch (error) {
        // Whether they are stored is not known. The callers collect them again, which stores each once.
        for (const { reject } of taken) reject(error);
      }
    }
    writing = null;
  }

  function enqueue(item: NewItem): Promise<StoredItem> {
    return new Promise((resolve, reject) => {
      queue.push({ item, resolve, reject });
      writing ??= writeAll();
    });
  }

  /**
   * Resolves after the next change or when the signal is aborted. A signal may outlive many items, so no listener stays
   * on it.
   */
  function awaitChange(signal: AbortSignal | undefined): Promise<unknown> {
    return new Promise((resolve) => {
      signal?.addEventListener('abort', resolve);
      journal.nextChange().then(() => {
        signal?.removeEventListener('abort', resolve);
        resolve(null);
      });
    });
  }

  return {
    collect: async (item, { signal }) => {
      requireOpen();
      const parsed = parseItem(item, Date.now());
      while (journal.counts().pending + queue.length >= maxPending && !signal?.aborted) {
        await awaitChange(signal);
        requireOpen();
      }
      signal?.throwIfAborted();
      const stored = await enqueue(parsed);
      const [status = statusOf(stored)] = await readStatuses(journal.store, [stored]);
      return status;
    },
    settle: async () => {
      await writing;
    },
  };
}

function changed(id: string): FlywheelError {
  const message = `Item ${id} is known with another type, payload or actions. An id names one event: use a new one.`;
  return new FlywheelError({ code: 'ERR_ITEM_CHANGED', message });
}
