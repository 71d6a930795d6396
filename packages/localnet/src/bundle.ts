import { bundleIdOf } from '@flywheel/protocol';
import type { Address, Signature } from '@solana/kit';
import {
  getTransferSolInstructionDataDecoder,
  SYSTEM_PROGRAM_ADDRESS,
  TRANSFER_SOL_DISCRIMINATOR,
} from '@solana-program/system';
import { TIP_ACCOUNTS } from './genesis.ts';
import type { AtomicOutcome, Ledger } from './ledger/ledger.ts';
import type { TransactionError } from './runtime.ts';
import type { WireTransaction } from './wire/wire-transaction.ts';

/** Period that getInflightBundleStatuses covers. */
const INFLIGHT_MS = 5 * 60 * 1000;
/** Maximum number of stored bundles; the oldest are deleted first. */
const REMEMBERED_BUNDLES = 10_000;

export type BundleState =
  | { readonly status: 'Pending' }
  | { readonly status: 'Landed'; readonly slot: bigint }
  | { readonly status: 'Failed'; readonly failedPosition: number; readonly err: TransactionError };

export interface Bundle {
  readonly bundleId: string;
  readonly signatures: readonly Signature[];
  readonly state: BundleState;
}

export interface SendOptions {
  readonly lose: boolean;
  /** Number of transactions that land, each by itself, when a fault splits the bundle; null keeps it atomic. */
  readonly landOnly: number | null;
}

/** A block engine for one block producer: this cluster. */
export interface BlockEngine {
  /**
   * Accepts a bundle for its auction. Like Jito's engine it simulates on the newest bank, so that a bundle that needs a
   * transaction or another bundle, which has not landed yet, is dropped. After the auction it has landed or is forgotten.
   */
  send(transactions: readonly WireTransaction[], options: SendOptions): string;
  find(bundleId: string): Bundle | null;
  /** Like `find`, limited to bundles of the last five minutes. */
  findInflight(bundleId: string): Bundle | null;
  close(): void;
}

export interface AuctionOptions {
  /** Longest time from the arrival of a bundle to its landing, in milliseconds. */
  readonly auctionMs: number;
  /** False while slots advance by `warp` only: then bundles wait for it. */
  readonly isTicking: () => boolean;
  readonly onError: (error: unknown) => void;
}

/** Sums the lamports that a bundle transfers to tip accounts; tip accounts in lookup tables do not count. */
export function tipLamports(transactions: readonly WireTransaction[]): bigint {
  return transactions
    .flatMap(({ instructions, staticAddresses }) =>
      instructions.map(({ programAddressIndex, accountIndices, data }) => {
        const decoder = getTransferSolInstructionDataDecoder();
        if (staticAddresses[programAddressIndex] !== SYSTEM_PROGRAM_ADDRESS || data.length !== decoder.fixedSize)
          return 0n;
        const { discriminator, amount } = decoder.decode(data);
        const isTip = isTipAccount(staticAddresses[accountIndices[1] ?? -1]);
        return isTip && discriminator === TRANSFER_SOL_DISCRIMINATOR ? amount : 0n;
      }),
    )
    .reduce((sum, tip) => sum + tip, 0n);
}

export function createBlockEngine(ledger: Ledger, { auctionMs, isTicking, onError }: AuctionOptions): BlockEngine {
  const bundles = new Map<string, { bundle: Bundle; sentAt: number }>();
  let pending = new Map<string, PendingBundle>();
  let auctionEnd: NodeJS.Timeout | null = null;

  const settle = (bundleId: string, state: BundleState) => {
    const entry = bundles.get(bundleId);
    if (entry) entry.bundle = { ...entry.bundle, state };
  };
  /** A fork may have removed a landed bundle, and a lost one is forgotten after its auction. */
  const current = (bundleId: string) => {
    const entry = bundles.get(bundleId);
    if (entry?.bundle.state.status === 'Landed') {
      const isThere = entry.bundle.signatures.every((signature) => ledger.node.history.summary(signature) !== null);
      if (!isThere) settle(bundleId, { status: 'Failed', failedPosition: 0, err: 'CommitCancelled' });
    }
    const isLost = entry?.bundle.state.status === 'Pending' && !pending.has(bundleId);
    if (!isLost || Date.now() - entry.sentAt < auctionMs) return entry;
    bundles.delete(bundleId);
    return undefined;
  };
  const landPending = () => {
    if (auctionEnd !== null) clearTimeout(auctionEnd);
    auctionEnd = null;
    const batch = pending;
    pending = new Map();
    for (const [bundleId, { transactions, landOnly }] of batch) {
      if (landOnly !== null) {
        for (const transaction of transactions.slice(0, landOnly)) {
          ledger.execute(transaction);
        }
        settle(bundleId, { status: 'Failed', failedPosition: landOnly, err: 'CommitCancelled' });
        continue;
      }
      const outcome = ledger.executeAtomically(transactions);
      settle(bundleId, outcome.landed ? { status: 'Landed', slot: outcome.slot } : failed(outcome));
    }
  };
  const endAuction = () => {
    auctionEnd = null;
    if (!isTicking()) return;
    try {
      landPending();
    } catch (error) {
      onError(error);
    }
  };
  const simulate = (bundleId: string, { transactions }: PendingBundle) => {
    const outcome = ledger.simulateAtomically(transactions);
    if (outcome.landed) return;
    pending.delete(bundleId);
    settle(bundleId, failed(outcome));
  };
  ledger.onSlot(async () => landPending());
  // A bundle that waits alone on a bank that does not change is simulated when it lands.
  ledger.beforeExecution(() => {
    for (const [bundleId, each] of pending) {
      if (each.isSimulated) continue;
      each.isSimulated = true;
      simulate(bundleId, each);
    }
  });

  return {
    send: (transactions, { lose, landOnly }) => {
      const signatures = transactions.map(({ signature }) => signature);
      const bundleId = bundleIdOf(signatures);
      const known = current(bundleId);
      if (known && known.bundle.state.status !== 'Failed') return bundleId;
      bundles.delete(bundleId);
      bundles.set(bundleId, { bundle: { bundleId, signatures, state: { status: 'Pending' } }, sentAt: Date.now() });
      for (const oldest of bundles.keys()) {
        if (bundles.size <= REMEMBERED_BUNDLES) break;
        bundles.delete(oldest);
      }
      if (lose) return bundleId;
      // Those that wait change the bank when they land, so that this one is simulated before.
      const isSimulated = landOnly !== null || pending.size > 0;
      const added = { transactions, landOnly, isSimulated };
      pending.set(bundleId, added);
      if (landOnly === null && isSimulated) simulate(bundleId, added);
      if (isTicking()) auctionEnd ??= setTimeout(endAuction, auctionMs);
      return bundleId;
    },
    find: (bundleId) => current(bundleId)?.bundle ?? null,
    findInflight: (bundleId) => {
      const entry = current(bundleId);
      return entry && Date.now() - entry.sentAt <= INFLIGHT_MS ? entry.bundle : null;
    },
    close: () => {
      if (auctionEnd !== null) clearTimeout(auctionEnd);
    },
  };
}

/** A bundle in the auction. */
interface PendingBundle {
  readonly transactions: readonly WireTransaction[];
  readonly landOnly: number | null;
  isSimulated: boolean;
}

function failed({ failedPosition, err }: Extract<AtomicOutcome, { landed: false }>): BundleState {
  return { status: 'Failed', failedPosition, err };
}

function isTipAccount(address: Address | undefined): boolean {
  return address !== undefined && TIP_ACCOUNTS.includes(address);
}
