import { chunksOf, MAX_SIGNATURE_STATUSES } from '@flywheel/protocol';
import type { Signature } from '@solana/kit';
import { type LandedSignature, paired, StatusesAnswer } from './answers.ts';
import { ask, type ChainRpc } from './rpc.ts';

export interface Statuses {
  /** Slot of the oldest answer. */
  readonly contextSlot: bigint;
  /** In the order asked for; null for a transaction that the node does not know. */
  readonly statuses: readonly (LandedSignature | null)[];
}

export type StatusReader = (signatures: readonly Signature[]) => Promise<Statuses>;

/** Short beside a slot of 400 ms. A worker that follows hundreds of bundles makes 40 requests a second, not thousands. */
const GATHER_MS = 25;

/**
 * Creates a reader that asks one node for the statuses of many callers at once. The first caller is served at once, those
 * that come within the next 25 ms together.
 */
export function createStatusReader(rpc: ChainRpc, clock: { sleep(ms: number): Promise<void> }): StatusReader {
  let gathering: Gathered | null = null;
  let isPaused = false;

  const flush = () => {
    const gathered = gathering;
    gathering = null;
    if (gathered === null) return;
    isPaused = true;
    const resume = () => {
      isPaused = false;
      flush();
    };
    clock.sleep(GATHER_MS).then(resume, resume);
    readStatuses(rpc, [...gathered.signatures]).then(gathered.read.resolve, gathered.read.reject);
  };

  return async (signatures) => {
    if (signatures.length === 0) return { contextSlot: 0n, statuses: [] };
    gathering ??= { signatures: new Set(), read: Promise.withResolvers() };
    for (const signature of signatures) gathering.signatures.add(signature);
    const { promise } = gathering.read;
    if (!isPaused) flush();
    const { contextSlot, statuses } = await promise;
    return { contextSlot, statuses: signatures.map((signature) => statuses.get(signature) ?? null) };
  };
}

type Status = Statuses['statuses'][number];

interface Read {
  readonly contextSlot: bigint;
  readonly statuses: ReadonlyMap<Signature, Status>;
}

interface Gathered {
  readonly signatures: Set<Signature>;
  readonly read: PromiseWithResolvers<Read>;
}

async function readStatuses(rpc: ChainRpc, signatures: readonly Signature[]): Promise<Read> {
  const statuses = new Map<Signature, Status>();
  const slots = await Promise.all(
    chunksOf(signatures, MAX_SIGNATURE_STATUSES).map(async (chunk) => {
      const request = rpc.getSignatureStatuses(chunk, { searchTransactionHistory: true });
      const { context, value } = await ask('getSignatureStatuses', request, StatusesAnswer);
      paired('getSignatureStatuses', chunk, value, (signature, status) => {
        // Later reads ask for this slot at least: one from the future would never be answered.
        if (status && status.slot > context.slot) {
          throw new Error(`getSignatureStatuses: ${signature} is in slot ${status.slot}, after ${context.slot}.`);
        }
        statuses.set(signature, status);
      });
      return context.slot;
    }),
  );
  const contextSlot = slots.reduce((oldest, slot) => (slot < oldest ? slot : oldest));
  return { contextSlot, statuses };
}
