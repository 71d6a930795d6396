import {
  type CollectorStore,
  changedMeanwhile,
  type ItemChange,
  type ItemQuery,
  NEW_PROGRESS,
  type NewItem,
  replaced,
  type StoredBatch,
  type StoredItem,
  type StoredRecipient,
} from './store.ts';

/**
 * Creates a store that loses everything when the process ends: for tests and for trying things out. An item that is
 * collected again afterwards may be paid again.
 */
export function createVolatileMemoryStore(): CollectorStore {
  const items = new Map<string, StoredItem>();
  const batches = new Map<string, StoredBatch>();
  const recipients = new Map<string, StoredRecipient>();
  const counts = { accepted: 0, pending: 0, paid: 0, quarantined: 0, dropped: 0 };
  let vault: string | null = null;
  let epoch = 0;
  let leasedUntilMs = 0;

  function addOne(item: NewItem): StoredItem {
    const known = items.get(item.id);
    if (known) return known;
    const stored = { ...item, ...NEW_PROGRESS, sequence: items.size + 1 };
    items.set(item.id, stored);
    counts.accepted += 1;
    counts.pending += 1;
    return stored;
  }

  function requireUnchanged({ item }: ItemChange): void {
    const now = items.get(item.id);
    if (now?.state !== item.state || now.batchKey !== item.batchKey) throw changedMeanwhile([item.id]);
  }

  function move({ item, to }: ItemChange): void {
    const moved = { ...item, ...to };
    items.set(item.id, moved);
    counts[item.state] -= 1;
    counts[moved.state] += 1;
  }

  return {
    bindProject: async (vaultAddress) => {
      vault ??= vaultAddress;
      return vault;
    },
    claim: async (leaseMs) => {
      if (leaseMs !== undefined && Date.now() < leasedUntilMs) return null;
      leasedUntilMs = Date.now() + (leaseMs ?? 0);
      epoch += 1;
      return epoch;
    },
    renew: async (holder, leaseMs) => {
      if (holder !== epoch) throw replaced();
      leasedUntilMs = Date.now() + leaseMs;
    },
    add: async (added) => added.map(addOne),
    read: async (query) => select([...items.values()], query),
    readBatches: async () => [...batches.values()],
    readRecipients: async (addresses) => addresses.flatMap((each) => recipients.get(each) ?? []),
    count: async () => ({ ...counts }),
    write: async (writer, changes) => {
      if (writer !== epoch) throw replaced();
      // Everything is checked before anything is changed.
      for (const change of changes.items ?? []) requireUnchanged(change);
      for (const change of changes.items ?? []) move(change);
      for (const batch of changes.batches ?? []) batches.set(batch.key, batch);
      for (const key of changes.endedBatches ?? []) batches.delete(key);
      for (const recipient of changes.recipients ?? []) {
        if (recipient.failures === 0) recipients.delete(recipient.address);
        else recipients.set(recipient.address, recipient);
      }
    },
    close: async () => undefined,
  };
}

function select(items: readonly StoredItem[], query: ItemQuery): StoredItem[] {
  if ('ids' in query) return items.filter(({ id }) => query.ids.includes(id));
  if ('batchKey' in query) {
    const inBatch = items.filter(({ batchKey }) => batchKey === query.batchKey);
    return inBatch.toSorted((a, b) => (a.position ?? 0) - (b.position ?? 0));
  }
  if ('paidBy' in query) {
    const places = new Set(query.paidBy.map(({ batchId, position }) => `${batchId} ${position}`));
    return items.filter(({ state, batchId, position }) => state === 'paid' && places.has(`${batchId} ${position}`));
  }
  const found = items.filter((item) => {
    if ('waitingIn' in query) return isWaiting(item) && item.lane === query.waitingIn;
    if ('reportDue' in query) return item.isReportDue;
    return item.state === query.state && item.sequence > query.after;
  });
  return found.slice(0, query.limit);
}

function isWaiting({ state, batchKey }: StoredItem): boolean {
  return state === 'pending' && batchKey === null;
}
