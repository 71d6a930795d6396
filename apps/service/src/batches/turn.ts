import type { Clock } from '../model/clock.ts';
import { endTurn, type FairGate, type Share } from '../model/fair-gate.ts';
import type { BundleCarrier } from '../solana/block-engine.ts';

/** The turn of a job to work. Few jobs work at a time, many wait for the chain. */
export interface Turn {
  /**
   * Waits for something outside of this process while other jobs work, and then for the next place. Nothing that a
   * transaction of the database holds may be held meanwhile.
   */
  pause<T>(wait: () => Promise<T>): Promise<T>;
  /**
   * Pauses until the job may send a bundle. One bundle, with the work before and after it, is a turn: from the second
   * bundle on, projects that were served earlier go first.
   */
  awaitBundle(carrier: Pick<BundleCarrier, 'awaitTurn'>): Promise<void>;
  /** Waits until a bundle may be sent again, which is a turn of its project. The job keeps its place, or waits on. */
  awaitRepetition(carrier: Pick<BundleCarrier, 'awaitTurn'>, signal: AbortSignal): Promise<void>;
}

export interface TurnOptions {
  readonly gate: FairGate;
  readonly share: Share;
  readonly clock: Pick<Clock, 'now'>;
  readonly signal: AbortSignal;
}

/** Does the work of one job whenever the gate lets it. It gives its place back if the work fails, or waits. */
export async function takeTurns<T>(
  { gate, share, clock, signal }: TurnOptions,
  work: (turn: Turn) => Promise<T>,
): Promise<T> {
  let leave = await gate.enter(share, signal);
  let hasSent = false;
  const pause: Turn['pause'] = async (wait) => {
    leave();
    const waited = await wait();
    leave = await gate.enter(share, signal);
    return waited;
  };
  const awaitBundle: Turn['awaitBundle'] = async (carrier) => {
    await pause(async () => {
      if (hasSent) endTurn(share, clock.now().getTime());
      hasSent = true;
      await carrier.awaitTurn(share, signal);
    });
    share.isExpected = false;
  };
  const awaitRepetition: Turn['awaitRepetition'] = async (carrier, repetitionSignal) => {
    endTurn(share, clock.now().getTime());
    await carrier.awaitTurn(share, repetitionSignal);
    share.isExpected = false;
  };
  try {
    return await work({ pause, awaitBundle, awaitRepetition });
  } finally {
    leave();
  }
}
