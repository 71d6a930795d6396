import type { FairGate, Share } from '../model/fair-gate.ts';

/** The turn of a job to work. Few jobs work at a time, many wait for the chain. */
export interface Turn {
  readonly share: Share;
  /**
   * Waits for something outside of this process while other jobs work, and then for the next turn. Nothing that a
   * transaction of the database holds may be held meanwhile.
   */
  pause<T>(wait: () => Promise<T>): Promise<T>;
}

/** Does the work of one job whenever the gate lets it. It gives its place back if the work fails, or waits. */
export async function takeTurns<T>(
  gate: FairGate,
  { share, signal }: { readonly share: Share; readonly signal: AbortSignal },
  work: (turn: Turn) => Promise<T>,
): Promise<T> {
  let leave = await gate.enter(share, signal);
  const pause: Turn['pause'] = async (wait) => {
    leave();
    const waited = await wait();
    leave = await gate.enter(share, signal);
    return waited;
  };
  try {
    return await work({ share, pause });
  } finally {
    leave();
  }
}
