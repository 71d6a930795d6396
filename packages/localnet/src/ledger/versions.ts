import type { Address } from '@solana/kit';
import type { LiteSVM } from 'litesvm';
import type { CapturedAccounts } from './account-journal.ts';
import { addressKey, type HeldAccount, holdAccount, putAccounts } from './svm-accounts.ts';

/** Slots beyond the finalized ones whose versions are kept, while there are few, for nodes that lag behind. */
const KEPT_SLOTS = 512n;
const KEPT_VERSIONS = 20_000;

/** An account before the first write of a slot. */
interface Version {
  readonly slot: bigint;
  held: HeldAccount;
}

/**
 * Earlier versions of accounts that recent slots wrote. The SVM holds only the newest state; together they give the
 * state at the end of any slot from `floor` on.
 */
export interface Versions {
  /** Oldest slot whose state is known. */
  floor(): bigint;
  /** Keeps accounts from before a slot's writes; only the first version of an account per slot counts. */
  keep(slot: bigint, before: CapturedAccounts): void;
  /** Returns an account at the end of a slot if it was written since, otherwise null. */
  earlier(slot: bigint, address: Address): HeldAccount | null;
  /** Lists accounts that were written after a slot. */
  changedAfter(slot: bigint): ReadonlySet<Address>;
  /** Lists accounts that a slot wrote. */
  changedIn(slot: bigint): ReadonlySet<Address>;
  /**
   * Applies a change to every earlier state, oldest first, as if it had happened before all of them. `change` maps the
   * accounts of one state to changed ones, or to null if they cannot be changed; the caller changes the newest state.
   */
  rewrite(addresses: readonly Address[], change: (state: CapturedAccounts) => CapturedAccounts | null): void;
  /** Restores everything, except some accounts, to the end of a slot. @returns the restored accounts. */
  rollBack(slot: bigint, except: readonly Address[]): CapturedAccounts;
  /** Deletes versions that only states before the slot need. */
  prune(finalizedSlot: bigint): void;
}

/** Creates empty versions. `floor` is the slot before the first that will be written. */
export function createVersions(svm: LiteSVM, initialFloor: bigint): Versions {
  /** Oldest first. */
  const byAddress = new Map<Address, Version[]>();
  /** In the order of slots, oldest first. */
  const bySlot = new Map<bigint, Set<Address>>();
  let floor = initialFloor;
  let count = 0;

  const earlier = (slot: bigint, address: Address) => {
    const versions = byAddress.get(address) ?? [];
    return versions[firstAfter(versions, slot)]?.held ?? null;
  };
  const keepOne = (slot: bigint, address: Address, held: HeldAccount) => {
    const written = getOrSet(bySlot, slot, () => new Set<Address>());
    if (written.has(address)) return;
    written.add(address);
    const versions = getOrSet(byAddress, address, (): Version[] => []);
    versions.splice(firstAfter(versions, slot), 0, { slot, held });
    count += 1;
  };
  const drop = (slot: bigint, addresses: ReadonlySet<Address>) => {
    const left = bySlot.get(slot)?.difference(addresses);
    if (left && left.size > 0) bySlot.set(slot, left);
    else bySlot.delete(slot);
    count -= addresses.size;
    for (const address of addresses) {
      const versions = byAddress.get(address) ?? [];
      const position = versions.findIndex((version) => version.slot === slot);
      if (position >= 0) versions.splice(position, 1);
      if (versions.length === 0) byAddress.delete(address);
    }
  };

  return {
    floor: () => floor,
    keep: (slot, before) => {
      for (const [address, held] of before) keepOne(slot, address, held);
    },
    earlier,
    changedAfter: (slot) => {
      const changed = new Set<Address>();
      for (const [written, addresses] of bySlot) {
        if (written > slot) for (const address of addresses) changed.add(address);
      }
      return changed;
    },
    changedIn: (slot) => bySlot.get(slot) ?? new Set(),
    rewrite: (addresses, change) => {
      const slots = new Set(addresses.flatMap((address) => byAddress.get(address)?.map(({ slot }) => slot) ?? []));
      for (const slot of [...slots].sort((a, b) => (a < b ? -1 : 1))) {
        const state: CapturedAccounts = new Map(
          addresses.map((address) => [address, earlier(slot - 1n, address) ?? holdAccount(svm, addressKey(address))]),
        );
        const changed = change(state);
        for (const [address, held] of changed ?? state) {
          // If the change is impossible, the accounts keep their old version up to this slot.
          if (changed === null) keepOne(slot, address, held);
          const version = byAddress.get(address)?.find((known) => known.slot === slot);
          if (version) version.held = held;
        }
      }
    },
    rollBack: (slot, except) => {
      const restored = new Map<Address, HeldAccount>();
      for (const address of [...byAddress.keys()]) {
        const held = except.includes(address) ? null : earlier(slot, address);
        if (held === null) continue;
        restored.set(address, held);
      }
      putAccounts(svm, restored.values());
      for (const [written, addresses] of [...bySlot]) {
        if (written <= slot) continue;
        drop(written, addresses.difference(new Set(except)));
      }
      return restored;
    },
    prune: (finalizedSlot) => {
      for (const [slot, written] of bySlot) {
        const isKept = slot > finalizedSlot || (slot > finalizedSlot - KEPT_SLOTS && count <= KEPT_VERSIONS);
        if (isKept) break;
        drop(slot, written);
        floor = slot;
      }
    },
  };
}

/** Finds the first version after a slot, from the newest, because most questions are about the newest slots. */
function firstAfter(versions: readonly Version[], slot: bigint): number {
  let position = versions.length;
  while (position > 0 && (versions[position - 1]?.slot ?? slot) > slot) position -= 1;
  return position;
}

function getOrSet<Key, Value>(map: Map<Key, Value>, key: Key, create: () => Value): Value {
  const known = map.get(key);
  if (known !== undefined) return known;
  const created = create();
  map.set(key, created);
  return created;
}
