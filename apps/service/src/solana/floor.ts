import { MIN_CONTEXT_SLOT_NOT_REACHED } from '@flywheel/solana-rpc';
import type { Commitment } from '@solana/kit';
import type { Clock } from '../model/clock.ts';
import { nodeErrorOf } from './rpc.ts';

/** The newest slots that a view has seen, below which no node may answer it. */
export interface Floor {
  /** The parameter of a request at a commitment. */
  at(commitment: Commitment): { readonly minContextSlot?: bigint };
  /** Remembers that a commitment has reached a slot. */
  raise(commitment: Commitment, slot: bigint): void;
  /** Repeats a request while the node has not reached the slot that it asks for, or the lookup table that it names. */
  await<T>(request: () => Promise<T>): Promise<T>;
}

/** Commitment of an answer that decides something. A fork takes away what is only `processed` too easily. */
export type DecisiveCommitment = Exclude<Commitment, 'processed'>;

export const NO_FLOOR: Floor = { at: () => ({}), raise: () => undefined, await: (request) => request() };

/** A slot or so: behind a load balancer the next request may reach another node. */
const BEHIND_POLL_MS = 400;
/** Four seconds. The job then runs again with another node. */
const MAX_BEHIND_POLLS = 10;

export function createFloor(clock: Pick<Clock, 'sleep'>, seenSlot: bigint): Floor {
  const slots = { processed: seenSlot, confirmed: seenSlot, finalized: 0n };
  return {
    at: (commitment) => (slots[commitment] > 0n ? { minContextSlot: slots[commitment] } : {}),
    raise: (commitment, slot) => {
      if (slot > slots[commitment]) slots[commitment] = slot;
    },
    await: async (request) => {
      for (let polls = 1; ; polls += 1) {
        try {
          return await request();
        } catch (error) {
          if (!isBehind(error) || polls === MAX_BEHIND_POLLS) throw error;
          await clock.sleep(BEHIND_POLL_MS);
        }
      }
    },
  };
}

/**
 * A table can be used from the slot after the one that filled it, and a request names none but a project's, which is filled
 * when it is registered and never closed. Only the text of the node's error shows this case: its code, -32602, has other
 * causes too.
 */
const MISSING_TABLE = /\baddress table (?:account|lookup)\b/;

/** Returns true if an error of `ask` says that the node has not reached the slot, or the table, that the request names. */
export function isBehind(error: unknown): boolean {
  const nodeError = nodeErrorOf(error);
  if (nodeError === null) return false;
  return nodeError.code === MIN_CONTEXT_SLOT_NOT_REACHED || MISSING_TABLE.test(nodeError.message);
}
