import { sleep } from '@flywheel/solana-rpc';
import { isFlywheelError } from '../errors.ts';
import type { Journal } from './journal.ts';

export interface LeadOptions {
  /** Time after which another process pays when this one renews its lease no more. */
  readonly leaseMs: number;
  /** Aborted when the collector stops. */
  readonly signal: AbortSignal;
  /**
   * Pays until the signal is aborted, and resolves when nothing of it runs any more.
   * @param onError called once at most, with what ends the term.
   */
  readonly pay: (signal: AbortSignal, onError: (error: unknown) => void) => Promise<void>;
  readonly onError: (error: unknown) => void;
}

/** A lease is renewed this often while it runs. */
const RENEWALS_A_LEASE = 3;
/** A lease that another process has may end early: that process stops. */
const ASK_AGAIN_MS = 1_000;
/** Items that other processes have accepted are noticed after this time. */
const REFRESH_MS = 500;

/**
 * Pays whenever the store gives this process its lease, until the signal is aborted. That a process pays alone does not depend
 * on clocks: its epoch guards every write and every signature. The lease only says when another may try.
 */
export async function lead(journal: Journal, { leaseMs, signal, pay, onError }: LeadOptions): Promise<void> {
  const pauseMs = leaseMs / RENEWALS_A_LEASE;
  const refreshing = repeat(signal, REFRESH_MS, journal.refresh).catch(onError);
  try {
    while (!signal.aborted) {
      if (await journal.claim(leaseMs)) await serve();
      else await sleep(Math.min(pauseMs, ASK_AGAIN_MS), signal);
    }
  } catch (error) {
    if (!signal.aborted) onError(error);
  }
  await refreshing;

  async function serve(): Promise<void> {
    const term = new AbortController();
    const during = AbortSignal.any([signal, term.signal]);
    const end = (error: unknown) => {
      term.abort();
      if (!signal.aborted && !isFlywheelError(error, 'ERR_COLLECTOR_REPLACED')) onError(error);
    };
    const paying = pay(during, end);
    await repeat(during, pauseMs, () => journal.renew(leaseMs)).catch(end);
    await paying;
  }
}

async function repeat(signal: AbortSignal, pauseMs: number, work: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    await sleep(pauseMs, signal).catch(() => undefined);
    if (!signal.aborted) await work();
  }
}
