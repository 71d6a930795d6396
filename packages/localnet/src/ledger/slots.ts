import { createHash } from 'node:crypto';
import { encodeBase58, MAX_BLOCKHASH_AGE, SYSVAR_OWNER_ADDRESS } from '@flywheel/protocol';
import type { Blockhash } from '@solana/kit';
import { SYSVAR_SLOT_HASHES_ADDRESS } from '@solana/sysvars';
import type { LiteSVM } from 'litesvm';
import { Clock } from 'litesvm';
import { Account as NativeAccount } from 'litesvm/dist/internal.js';
import { addressKey, putAccount } from './svm-accounts.ts';

/** Entries of the SlotHashes sysvar (solana-slot-hashes, MAX_ENTRIES). */
const SLOT_HASHES = 512n;
/** Length of mainnet's epochs; here they start at slot 0. */
export const SLOTS_PER_EPOCH = 432_000n;

/** Assumed length of a slot without known times. */
const SLOT_MS = 400n;
const U64_BYTES = 8;

/** A slot and its hash. */
const SLOT_HASH_BYTES = U64_BYTES + 32;
/** A count, and the entries. */
const SLOT_HASHES_BYTES = U64_BYTES + Number(SLOT_HASHES) * SLOT_HASH_BYTES;
const SLOT_HASHES_KEY = addressKey(SYSVAR_SLOT_HASHES_ADDRESS);
const SYSVAR_OWNER_KEY = addressKey(SYSVAR_OWNER_ADDRESS);

export type Commitment = 'processed' | 'confirmed' | 'finalized';

/** State that must survive the process, so that slots, hashes and time continue. */
export interface SlotState {
  readonly seed: Uint8Array;
  readonly slot: bigint;
  /** Added to the machine's clock; time warps increase it. */
  readonly offsetSeconds: bigint;
  readonly unixTimestamp: bigint;
  readonly genesisTimestamp: bigint;
  /** First abandoned slot of each fork, as concatenated u64 values. */
  readonly forks: Uint8Array;
}

interface RecentHash {
  readonly slot: bigint;
  readonly hash: Blockhash;
}

/** Slots from the view of one node. */
export interface SlotView {
  /** Random bytes that make clusters distinct. */
  readonly seed: Uint8Array;
  /** Newest bank of a commitment level: for `processed` the one being built, for the others a complete one. */
  at(commitment: Commitment): bigint;
  commitmentOf(slot: bigint): Commitment;
  /** Newest blockhash of a commitment level's bank, and the last slot that accepts it. */
  latestBlockhash(commitment: Commitment): { readonly blockhash: Blockhash; readonly lastValidBlockHeight: bigint };
  /** Blockhash of a complete slot of any age. */
  blockhashOf(slot: bigint): Blockhash;
  /** Returns true if the bank of a slot accepts a blockhash. */
  isRecent(blockhash: string, bankSlot: bigint): boolean;
  /** Start time of a slot: known for recent slots, estimated for older ones. */
  blockTime(slot: bigint): { readonly unixTimestamp: bigint; readonly isExact: boolean };
}

/** The cluster's slots. The current one is being built; every earlier one is complete and has a blockhash. */
export interface Slots extends SlotView {
  state(): SlotState;
  current(): bigint;
  unixTimestamp(): bigint;
  /** Blockhash that programs see in the bank of a slot, as bytes: that of the newest complete slot. */
  visibleBlockhash(bankSlot: bigint): Uint8Array;
  /** Creates the view of a node whose newest banks are those of `at`. */
  seenAt(at: SlotView['at']): SlotView;
  /** Completes the current slot and `slots - 1` further ones; moves the clock. */
  advance(slots: bigint, seconds: bigint): void;
  /** Replaces the complete blocks from a slot on: they get other hashes, and the old ones become unknown. */
  fork(firstAbandoned: bigint): void;
}

export interface SlotOptions {
  /** Slots by which `finalized` lags behind `confirmed`. */
  readonly finalizedLagSlots: bigint;
  /** Called before the sysvars of a slot are written. */
  readonly onEnter: (slot: bigint) => void;
}

/**
 * Resumes slots from a state whose complete slots count as finalized. Blockhashes are derived from a seed and the slot
 * number, so none is stored, and clients' hashes stay valid after a restart. Block height equals the slot, because no
 * slot is ever skipped.
 */
export function createSlots(svm: LiteSVM, initial: SlotState, { finalizedLagSlots, onEnter }: SlotOptions): Slots {
  let { slot, offsetSeconds, unixTimestamp, genesisTimestamp } = initial;
  const { seed } = initial;
  const firstFinalized = slot - 1n;
  const forks = readForks(initial.forks);
  const slotOfHash = new Map<string, bigint>();
  const blockTimes = new Map<bigint, bigint>();

  const at = (commitment: Commitment): bigint => {
    if (commitment === 'processed') return slot;
    const reached = slot - (commitment === 'confirmed' ? 1n : 1n + finalizedLagSlots);
    return reached > firstFinalized ? reached : firstFinalized;
  };
  const hashBytes = (of: bigint): Uint8Array => {
    const hash = createHash('sha256').update(seed).update(toU64(of));
    const times = forks.filter((first) => first <= of).length;
    return (times === 0 ? hash : hash.update(toU64(BigInt(times)))).digest();
  };
  const hashOf = (of: bigint) => encodeBase58(hashBytes(of)) as Blockhash; // 32 bytes
  const lastComplete = (bankSlot: bigint) => (bankSlot < slot ? bankSlot : slot - 1n);

  let recent: RecentHash[] = [];
  /** The entries of `recent` as the sysvar has them. */
  let entries: Uint8Array = new Uint8Array();
  const learnHashes = () => {
    const newest = recent[0]?.slot ?? -1n;
    const fresh: typeof recent = [];
    const freshEntries: Uint8Array[] = [];
    for (let past = slot - 1n; past > newest && past >= 0n && past >= slot - SLOT_HASHES; past -= 1n) {
      const bytes = hashBytes(past);
      const hash = encodeBase58(bytes) as Blockhash; // 32 bytes
      fresh.push({ slot: past, hash });
      freshEntries.push(toU64(past), bytes);
      slotOfHash.set(hash, past);
    }
    const kept = [...fresh, ...recent];
    for (const dropped of kept.splice(Number(SLOT_HASHES))) slotOfHash.delete(dropped.hash);
    recent = kept;
    entries = Buffer.concat([...freshEntries, entries]).subarray(0, recent.length * SLOT_HASH_BYTES);
    putAccount(svm, { key: SLOT_HASHES_KEY, account: toSlotHashesAccount(entries) });
  };
  const enter = (next: bigint) => {
    slot = next;
    onEnter(slot);
    const now = BigInt(Math.floor(Date.now() / 1000)) + offsetSeconds;
    if (now > unixTimestamp) unixTimestamp = now;
    if (genesisTimestamp === 0n) genesisTimestamp = unixTimestamp - (slot * SLOT_MS) / 1000n;
    blockTimes.set(slot, unixTimestamp);
    for (const oldest of blockTimes.keys()) {
      if (blockTimes.size <= Number(SLOT_HASHES)) break;
      blockTimes.delete(oldest);
    }
    const epoch = slot / SLOTS_PER_EPOCH;
    svm.setClock(new Clock(slot, unixTimestamp, epoch, epoch + 1n, unixTimestamp));
    learnHashes();
  };
  enter(slot);

  const seenAt = (seen: SlotView['at']): SlotView => ({
    seed,
    at: seen,
    commitmentOf: (of) => (of <= seen('finalized') ? 'finalized' : of <= seen('confirmed') ? 'confirmed' : 'processed'),
    latestBlockhash: (commitment) => {
      const complete = lastComplete(seen(commitment));
      return { blockhash: hashOf(complete), lastValidBlockHeight: complete + MAX_BLOCKHASH_AGE };
    },
    blockhashOf: hashOf,
    isRecent: (blockhash, bankSlot) => {
      const born = slotOfHash.get(blockhash);
      return born !== undefined && born <= lastComplete(bankSlot) && bankSlot <= born + MAX_BLOCKHASH_AGE;
    },
    blockTime: (of) => {
      const known = blockTimes.get(of);
      if (known !== undefined) return { unixTimestamp: known, isExact: true };
      return { unixTimestamp: between([[0n, genesisTimestamp], ...blockTimes], of), isExact: of === 0n };
    },
  });

  return {
    ...seenAt(at),
    state: () => ({ seed, slot, offsetSeconds, unixTimestamp, genesisTimestamp, forks: writeForks(forks) }),
    current: () => slot,
    unixTimestamp: () => unixTimestamp,
    visibleBlockhash: (bankSlot) => hashBytes(lastComplete(bankSlot)),
    seenAt,
    advance: (slots, seconds) => {
      const target = slot + slots;
      offsetSeconds += seconds;
      // Banks of all commitment levels have their own clocks and slot hashes.
      for (const lag of [1n + finalizedLagSlots, 1n]) if (target - lag > slot) enter(target - lag);
      enter(target);
    },
    fork: (firstAbandoned) => {
      forks.push(firstAbandoned);
      const abandoned = recent.filter(({ slot: past }) => past >= firstAbandoned);
      for (const { hash } of abandoned) slotOfHash.delete(hash);
      recent = recent.slice(abandoned.length);
      entries = entries.subarray(abandoned.length * SLOT_HASH_BYTES);
      learnHashes();
    },
  };
}

/** Interpolates the time of a slot between known points in ascending order. */
function between(points: readonly (readonly [slot: bigint, unixTimestamp: bigint])[], slot: bigint): bigint {
  const next = points.findIndex(([of]) => of > slot);
  const [beforeSlot, beforeTime] = points.at(next < 0 ? -1 : next - 1) ?? [0n, 0n];
  const [afterSlot, afterTime] = points[next] ?? [beforeSlot, beforeTime];
  if (afterSlot === beforeSlot) return beforeTime;
  return beforeTime + ((afterTime - beforeTime) * (slot - beforeSlot)) / (afterSlot - beforeSlot);
}

/** Encodes the sysvar itself: `LiteSVM.setSlotHashes` converts 512 objects, which takes most of an empty slot's time. */
function toSlotHashesAccount(entries: Uint8Array): NativeAccount {
  const count = toU64(BigInt(entries.length / SLOT_HASH_BYTES));
  return new NativeAccount(1n, Buffer.concat([count, entries], SLOT_HASHES_BYTES), SYSVAR_OWNER_KEY, false, 0n);
}

function readForks(bytes: Uint8Array): bigint[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: bytes.length / U64_BYTES }, (_, index) => view.getBigUint64(index * U64_BYTES, true));
}

function writeForks(forks: readonly bigint[]): Uint8Array {
  return Buffer.concat(forks.map(toU64));
}

function toU64(value: bigint): Uint8Array {
  const bytes = new Uint8Array(U64_BYTES);
  new DataView(bytes.buffer).setBigUint64(0, value, true);
  return bytes;
}
