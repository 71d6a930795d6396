import { FlywheelError } from '../errors.ts';

/**
 * `pending`: not paid yet, in a batch or not. `paid`: its pipeline was executed. `quarantined`: the service or the chain
 * has named it as the one that cannot be paid, or a person has ended its batch; a person decides. `dropped`: a person
 * decided that it is never paid.
 */
export type ItemState = 'pending' | 'paid' | 'quarantined' | 'dropped';

/**
 * `together`: shares batches with all others. `apart`: pays a recipient who failed, so it shares batches with no other
 * recipient.
 */
export type Lane = 'together' | 'apart';

/** Why an item is quarantined. */
export interface ItemReason {
  /** Code of the service, `RECIPIENT_PARKED`, `BATCH_CANCELLED` or `BATCH_REJECTED`. */
  readonly code: string;
  readonly message: string;
}

/** An item when it is accepted. */
export interface NewItem {
  readonly id: string;
  /** JSON text of its type, payload and actions, which never changes. */
  readonly content: string;
  readonly acceptedAtMs: number;
}

/** What changes of an item. */
export interface ItemProgress {
  readonly state: ItemState;
  readonly lane: Lane;
  /** Number of batches that ended without paying it. */
  readonly attempts: number;
  /** Idempotency key of the open batch that contains it; null if it is in none. */
  readonly batchKey: string | null;
  /** Index of its pipeline in that batch, or in the one that paid it. Items that are paid together share it. */
  readonly position: number | null;
  /** Id of the batch that paid it; null before. */
  readonly batchId: string | null;
  /** Null unless it is quarantined. */
  readonly reason: ItemReason | null;
  /** True while the app has not been called with its result. */
  readonly isReportDue: boolean;
}

/** An item as the store holds it. */
export interface StoredItem extends NewItem, ItemProgress {
  /** Position in the order of acceptance. */
  readonly sequence: number;
}

/** The proposal that the wallet has signed for a batch. */
export interface SignedProposal {
  /** The service's id of the batch. */
  readonly batchId: string;
  readonly multisig: string;
  /** Index of the batch in the multisig. */
  readonly batchIndex: string;
}

/** An open batch. It is stored before its first request, and removed together with the results of its items. */
export interface StoredBatch {
  /** Its idempotency key: the same request after a crash finds the same batch. */
  readonly key: string;
  readonly lane: Lane;
  /** The service's id, stored with the verdict; null without one. */
  readonly batchId: string | null;
  /** What a check has found before anything was executed; the batch is then cancelled. */
  readonly verdict: Verdict | null;
  /** Stored before the wallet signs, which then signs no other one for this key; null before, and if a person approves. */
  readonly signed: SignedProposal | null;
}

/** The items and recipients that keep a batch from being executed. */
export interface Verdict {
  /** Pipelines that cannot be paid, by position. An item that has the pipeline alone is quarantined. */
  readonly items: readonly { readonly position: number; readonly reason: ItemReason }[];
  /** Recipients who failed. */
  readonly failed: readonly string[];
  /** Recipients who have failed in an earlier batch, so that the service demands a batch of their own. */
  readonly held: readonly string[];
}

/** A recipient whose items failed. */
export interface StoredRecipient {
  readonly address: string;
  /** Failures since the recipient was last paid; 0 removes the record. */
  readonly failures: number;
}

/** A change of one item. */
export interface ItemChange {
  /** As it was read. A store refuses the whole write if its state or batch is another one by then. */
  readonly item: StoredItem;
  readonly to: Partial<ItemProgress>;
}

/** One step, written as a whole or not at all. */
export interface StoreChanges {
  readonly items?: readonly ItemChange[];
  /** Stored, or replaced if the key is known. */
  readonly batches?: readonly StoredBatch[];
  /** Keys of batches that have ended. */
  readonly endedBatches?: readonly string[];
  readonly recipients?: readonly StoredRecipient[];
}

/** All items are in the order of acceptance, those of a batch in the order of their positions. */
export type ItemQuery =
  | { readonly ids: readonly string[] }
  /** Pending items that are in no batch. */
  | { readonly waitingIn: Lane; readonly limit: number }
  | { readonly batchKey: string }
  /** Paid items of these pipelines, those of a pipeline in the order of acceptance. */
  | { readonly paidBy: readonly { readonly batchId: string; readonly position: number }[] }
  /** Items with a report due. */
  | { readonly reportDue: true; readonly limit: number }
  | { readonly state: ItemState; readonly after: number; readonly limit: number };

/** Numbers of items; `accepted` is the sum of the others after every write. */
export type ItemCounts = Readonly<Record<ItemState | 'accepted', number>>;

/**
 * Where a collector keeps its items and every step of its work. `storeConformance` tests an implementation. Any function
 * may throw; the collector then stops, and the next start continues with what was written.
 */
export interface CollectorStore {
  /**
   * Keeps the vault of the project whose events the store holds, unless it keeps one already, and returns the one that it
   * keeps. Of concurrent calls the first one wins, and what is returned is durable. A collector that gets another vault than
   * its own pays nothing: it would pay the events from the wrong vault. Optional, so that stores that were written before
   * 0.3 still work, without this protection; `storeConformance` demands it.
   */
  bindProject?(vaultAddress: string): Promise<string>;
  /**
   * Begins a new epoch and returns its number. From then on writes of earlier epochs are refused.
   * @param leaseMs time, by the store's own clock, for which later claims with a lease answer null; 0 for none. A claim
   * without it succeeds at once and ends the lease of another.
   */
  claim(leaseMs?: number): Promise<number | null>;
  /**
   * Extends the lease of an epoch from now on; 0 ends it.
   * @throws FlywheelError `ERR_COLLECTOR_REPLACED` if a later epoch has begun.
   */
  renew(epoch: number, leaseMs: number): Promise<void>;
  /**
   * Stores items whose id is new, in order, as pending, and leaves the others as they are. What it returns is durable:
   * the items as they are stored, in the order of the argument.
   */
  add(items: readonly NewItem[]): Promise<readonly StoredItem[]>;
  read(query: ItemQuery): Promise<readonly StoredItem[]>;
  readBatches(): Promise<readonly StoredBatch[]>;
  /** Reads those of the recipients that have a record. */
  readRecipients(addresses: readonly string[]): Promise<readonly StoredRecipient[]>;
  count(): Promise<ItemCounts>;
  /**
   * Writes a step as a whole.
   * @throws FlywheelError `ERR_COLLECTOR_REPLACED` if a later epoch has begun; nothing is written then.
   */
  write(epoch: number, changes: StoreChanges): Promise<void>;
  close(): Promise<void>;
}

/** What an item is like when it is accepted. */
export const NEW_PROGRESS: ItemProgress = {
  state: 'pending',
  lane: 'together',
  attempts: 0,
  batchKey: null,
  position: null,
  batchId: null,
  reason: null,
  isReportDue: false,
};

/** Creates the error of a write whose collector was replaced. */
export function replaced(): FlywheelError<'ERR_COLLECTOR_REPLACED'> {
  return new FlywheelError({
    code: 'ERR_COLLECTOR_REPLACED',
    message:
      'Another collector has begun to pay from this store, so this one has stopped. Let one process pay at a time.',
  });
}

/** Creates the error of a write about items that are not what the collector has read. */
export function changedMeanwhile(ids: readonly string[]): Error {
  return new Error(`The store has changed outside the collector: item ${ids.join(', ')} is not what was read.`);
}
