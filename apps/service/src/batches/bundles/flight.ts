import type { PlannedTransaction } from '@flywheel/squads';
import type { TransactionPartialSigner } from '@solana/kit';
import type { Bundle } from '../../model/batch.ts';
import type { RunDeps } from '../deps.ts';
import { assembleBundle } from './assemble-bundle.ts';
import { type BundleToSend, type Landing, landBundle } from './land.ts';

/** The most bundles of a batch that may be sent and not confirmed yet. It grows with those that land, and shrinks with a loss. */
export interface FlightWindow {
  bundles: number;
}

const FIRST_WINDOW = 4;
const MAX_WINDOW = 16;

/** Opens a window. With `isCareful` each bundle lands before the next: after a failure, nothing depends on another one. */
export function openWindow({ isCareful }: { readonly isCareful: boolean } = { isCareful: false }): FlightWindow {
  return { bundles: isCareful ? 1 : FIRST_WINDOW };
}

/** Bundles of one batch that are on their way to the chain, in their order. */
export interface Flight<Content> {
  /**
   * Records a bundle and sends it, as soon as the window has room, and waits until it is processed: the next one would fail
   * if it reached a validator before. What it achieves is decided later, when it is confirmed.
   * @param content what the caller needs to know about the bundle.
   * @returns false if nothing may follow, because a bundle did not land.
   * @throws Paused, Cancelled, Ended before anything is recorded or sent.
   */
  send(toSend: BundleToSend, content: Content): Promise<boolean>;
  /** Waits until all bundles have landed, or one has not. @returns the first that has not, or null. */
  land(): Promise<{ readonly landing: Landing; readonly content: Content } | null>;
}

/**
 * Sends bundles that depend on each other without waiting until each is confirmed (docs/decisions/0075). If one does not
 * land, those behind it are left as they are recorded: they fail, or land if it does, and the chain tells which.
 */
export async function withFlight<Content, Result>(
  deps: RunDeps,
  window: FlightWindow,
  work: (flight: Flight<Content>) => Promise<Result>,
): Promise<Result> {
  const ending = new AbortController();
  const flightDeps = { ...deps, signal: AbortSignal.any([deps.signal, ending.signal]) };
  const flying: { readonly content: Content; readonly landing: Promise<Landing> }[] = [];
  let lost: Awaited<ReturnType<Flight<Content>['land']>> = null;
  const awaitOldest = async () => {
    const [oldest] = flying;
    if (!oldest) return;
    const landing = await deps.turn.pause(() => oldest.landing);
    flying.shift();
    if (landing.state === 'landed') {
      window.bundles = Math.min(MAX_WINDOW, window.bundles + 1);
      return;
    }
    window.bundles = Math.max(1, Math.floor(window.bundles / 2));
    lost = { landing, content: oldest.content };
  };
  const flight: Flight<Content> = {
    send: async (toSend, content) => {
      while (lost === null && flying.length >= window.bundles) await awaitOldest();
      if (lost !== null) return false;
      const processed = Promise.withResolvers<null>();
      const landing = landBundle(flightDeps, toSend, () => processed.resolve(null));
      flying.push({ content, landing });
      const fate = await deps.turn.pause(() => Promise.race([processed.promise, landing]));
      return fate === null || fate.state === 'landed';
    },
    land: async () => {
      while (lost === null && flying.length > 0) await awaitOldest();
      return lost;
    },
  };
  try {
    return await work(flight);
  } finally {
    ending.abort();
    // They end with the signal. An error that is not awaited would end the process.
    await Promise.allSettled(flying.map(({ landing }) => landing));
  }
}

/** Names the purpose of planned transactions. */
export interface Purpose extends Pick<BundleToSend, 'batchId' | 'onRecord'> {
  readonly phase: Exclude<Bundle['phase'], 'execution'>;
  /** Number of earlier attempts that did not land. */
  readonly attempt?: number;
  readonly signers?: readonly TransactionPartialSigner[];
}

/** Lands planned transactions in their order, in as few bundles as possible. @returns the first landing that is not complete. */
export function landPlanned(
  deps: RunDeps,
  planned: readonly PlannedTransaction[],
  { batchId, phase, attempt = 0, signers = [deps.operator], onRecord }: Purpose,
): Promise<Landing> {
  const { maxTransactions } = deps.bundles;
  return withFlight<null, Landing>(deps, openWindow({ isCareful: attempt > 0 }), async (flight) => {
    for (let left = planned; left.length > 0; ) {
      const { planned: sent, ...bundle } = await assembleBundle(deps, left, { maxTransactions, signers, attempt });
      if (!(await flight.send({ ...bundle, batchId, phase, onRecord }, null))) break;
      left = left.slice(sent.length);
    }
    return (await flight.land())?.landing ?? { state: 'landed' };
  });
}
