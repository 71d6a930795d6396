import type { ItemStatus } from './item.ts';
import type { Journal } from './journal.ts';
import { readStatuses } from './merge.ts';
import type { StoredItem } from './store.ts';

/**
 * Called with each result at least once, one after another: after a crash, with some results again. A promise that a
 * handler returns is awaited; what it throws stops the collector.
 */
export interface ReportHandlers {
  readonly onPaid?: ((item: ItemStatus) => unknown) | undefined;
  /** The item is quarantined; `reason` says why. */
  readonly onRejected?: ((item: ItemStatus) => unknown) | undefined;
}

const MAX_ITEMS_A_READ = 100;

/** Calls the handlers until the signal is aborted. A result stays due until its handler has returned. */
export async function deliverReports(
  journal: Journal,
  { onPaid, onRejected }: ReportHandlers,
  signal: AbortSignal,
): Promise<void> {
  for await (const items of dueReports(journal, signal)) {
    for (const status of await readStatuses(journal.store, items)) {
      if (signal.aborted) return;
      await (status.state === 'paid' ? onPaid : onRejected)?.(status);
    }
    await markReported(journal, items);
  }
}

/** Yields each result; it counts as delivered when the next one is asked for. */
export async function* iterateReports(
  journal: Journal,
  signal: AbortSignal,
): AsyncGenerator<ItemStatus, void, undefined> {
  for await (const items of dueReports(journal, signal)) {
    const statuses = await readStatuses(journal.store, items);
    for (const [i, item] of items.entries()) {
      const status = statuses[i];
      if (status) yield status;
      if (signal.aborted) return;
      await markReported(journal, [item]);
    }
  }
}

async function* dueReports(journal: Journal, signal: AbortSignal): AsyncGenerator<readonly StoredItem[]> {
  while (!signal.aborted) {
    const changed = journal.nextChange();
    const items = await journal.store.read({ reportDue: true, limit: MAX_ITEMS_A_READ });
    if (items.length > 0) yield items;
    else await changed;
  }
}

async function markReported(journal: Journal, reported: readonly StoredItem[]): Promise<void> {
  await journal.exclusive(async (write) => {
    const found = await journal.store.read({ ids: reported.map(({ id }) => id) });
    const now = new Map(found.map((item) => [item.id, item]));
    // A handler may have requeued or dropped an item, whose next result is another one.
    const items = reported.flatMap(({ id, state, attempts }) => {
      const item = now.get(id);
      const isSame = item?.isReportDue && item.state === state && item.attempts === attempts;
      return isSame ? [{ item, to: { isReportDue: false } }] : [];
    });
    if (items.length > 0) await write({ items });
  });
}
