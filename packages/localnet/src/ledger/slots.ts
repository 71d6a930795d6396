import { createHash } from 'node:crypto';
import type { Blockhash } from '@solana/kit';
import type { LiteSVM } from 'litesvm';
import { Clock } from 'litesvm';
import { encodeBase58 } from '../wire/base58.ts';

/** Slots a blockhash stays valid for (solana-clock, MAX_PROCESSING_AGE). */
export const BLOCKHASH_VALID_SLOTS = 150n;
/** Entries of the SlotHashes sysvar (solana-slot-hashes, MAX_ENTRIES). */
const SLOT_HASHES = 512n;
/** Mainnet's epoch, from slot 0 on. */
export const SLOTS_PER_EPOCH = 432_000n;

export type Commitment = 'processed' | 'confirmed' | 'finalized';

/** What must outlive the process for slots, hashes and time to go on where they were. */
export interface SlotState {
  readonly seed: Uint8Array;
  readonly slot: bigint;
  /** Added to the machine's clock; grows when time is made to travel. */
  readonly offsetSeconds: bigint;
  readonly unixTimestamp: bigint;
}

/** The cluster's slots. The current one is being built; every earlier one is complete and has a blockhash. */
export interface Slots {
  state(): SlotState;
  current(): bigint;
  unixTimestamp(): bigint;
  /** The newest slot that a commitment level speaks for. */
  at(commitment: Commitment): bigint;
  commitmentOf(slot: bigint): Commitment;
  /** Newest blockhash at a commitment level, and the last slot that accepts it. */
  latestBlockhash(commitment: Commitment): { readonly blockhash: Blockhash; readonly lastValidBlockHeight: bigint };
  /** The bytes of the blockhash that programs see: the newest complete slot's. */
  visibleBlockhash(): Uint8Array;
  /** The blockhash of a complete slot, however old. */
  blockhashOf(slot: bigint): Blockhash;
  isRecent(blockhash: string): boolean;
  blockTime(slot: bigint): bigint | null;
  /** Completes the current slot and `slots - 1` further ones; moves the clock. */
  advance(slots: bigint, seconds: bigint): void;
}

/**
 * Resumes slots from a state. Blockhashes are derived from a seed and the slot number, so that none has to be stored:
 * after a restart the hashes that clients hold are still known. Block height equals the slot: no slot is ever skipped.
 */
export function createSlots(svm: LiteSVM, initial: SlotState, finalizedLagSlots: bigint): Slots {
  let { slot, offsetSeconds, unixTimestamp } = initial;
  const { seed } = initial;
  const slotOfHash = new Map<string, bigint>();
  const blockTimes = new Map<bigint, bigint>();

  const at = (commitment: Commitment): bigint => {
    const lag = commitment === 'processed' ? 0n : commitment === 'confirmed' ? 1n : 1n + finalizedLagSlots;
    return slot > lag ? slot - lag : 0n;
  };
  const hashBytes = (of: bigint): Uint8Array => {
    const number = new Uint8Array(8);
    new DataView(number.buffer).setBigUint64(0, of, true);
    return createHash('sha256').update(seed).update(number).digest();
  };
  const hashOf = (of: bigint) => encodeBase58(hashBytes(of)) as Blockhash; // 32 bytes

  let visible: Uint8Array = new Uint8Array();
  let recent: { readonly slot: bigint; readonly hash: Blockhash }[] = [];
  const enter = () => {
    const now = BigInt(Math.floor(Date.now() / 1000)) + offsetSeconds;
    if (now > unixTimestamp) unixTimestamp = now;
    blockTimes.set(slot, unixTimestamp);
    blockTimes.delete(slot - SLOT_HASHES);
    const newest = recent[0]?.slot ?? -1n;
    const fresh: typeof recent = [];
    for (let past = slot - 1n; past > newest && past >= 0n && past >= slot - SLOT_HASHES; past -= 1n) {
      const hash = hashOf(past);
      fresh.push({ slot: past, hash });
      slotOfHash.set(hash, past);
    }
    const kept = [...fresh, ...recent];
    for (const dropped of kept.splice(Number(SLOT_HASHES))) slotOfHash.delete(dropped.hash);
    recent = kept;
    visible = hashBytes(at('confirmed'));
    const epoch = slot / SLOTS_PER_EPOCH;
    svm.setClock(new Clock(slot, unixTimestamp, epoch, epoch + 1n, unixTimestamp));
    svm.setSlotHashes(recent);
  };
  enter();

  return {
    state: () => ({ seed, slot, offsetSeconds, unixTimestamp }),
    current: () => slot,
    unixTimestamp: () => unixTimestamp,
    at,
    commitmentOf: (of) => (of <= at('finalized') ? 'finalized' : of <= at('confirmed') ? 'confirmed' : 'processed'),
    latestBlockhash: (commitment) => {
      const complete = commitment === 'finalized' ? at('finalized') : at('confirmed');
      return { blockhash: hashOf(complete), lastValidBlockHeight: complete + BLOCKHASH_VALID_SLOTS };
    },
    visibleBlockhash: () => visible,
    blockhashOf: hashOf,
    isRecent: (blockhash) => {
      const born = slotOfHash.get(blockhash);
      return born !== undefined && slot <= born + BLOCKHASH_VALID_SLOTS;
    },
    blockTime: (of) => blockTimes.get(of) ?? null,
    advance: (slots, seconds) => {
      slot += slots;
      offsetSeconds += seconds;
      enter();
    },
  };
}
