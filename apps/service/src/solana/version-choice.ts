import type { TransactionVersion } from '@flywheel/squads';
import type { Address } from '@solana/kit';
import type { Clock } from '../model/clock.ts';
import type { Chain } from './chain.ts';
import type { Warn } from './rpc/transport.ts';

/** Which version goes out, by what the cluster has and what became of those sent before. */
export interface VersionChoice {
  /** `attempt` counts the sendings of the same work that came to nothing: another is worth another version. */
  current(attempt: number): Promise<TransactionVersion>;
  /** What became of transactions of version 1. Refused, or lost twice in a row: none for an hour. */
  report(outcome: 'landed' | 'lost' | 'refused'): void;
}

/** A block engine may not take what the cluster takes, and say so or let it fall: that is found out by sending. */
export function createVersionChoice({
  chain,
  clock,
  log,
}: {
  readonly chain: Pick<Chain, 'accounts'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly log?: Warn;
}): VersionChoice {
  let lostInARow = 0;
  let avoidUntilMs = 0;
  let isActive = false;
  let askAgainMs = 0;
  return {
    current: async (attempt) => {
      const nowMs = clock.now().getTime();
      if (attempt > 0 || nowMs < avoidUntilMs) return 0;
      if (!isActive && nowMs >= askAgainMs) {
        isActive = isActivated(await chain.accounts([V1_FEATURE]));
        askAgainMs = nowMs + RETRY_MS;
      }
      return isActive ? 1 : 0;
    },

    report: (outcome) => {
      lostInARow = outcome === 'lost' ? lostInARow + 1 : 0;
      if (outcome !== 'refused' && lostInARow < MAX_LOST_IN_A_ROW) return;
      lostInARow = 0;
      avoidUntilMs = clock.now().getTime() + RETRY_MS;
      log?.warn({ outcome, retryMs: RETRY_MS }, 'transactions of version 1 do not land here, version 0 is sent');
    },
  };
}

/** SIMD-0385. */
const V1_FEATURE = 'txv1aq4pp281K9um3tnPgkfX8UqtFT6wcVW3hNezGLL' as Address;
const FEATURE_PROGRAM = 'Feature111111111111111111111111111111111111';
const RETRY_MS = 60 * 60_000;
const MAX_LOST_IN_A_ROW = 2;

/** A feature's account holds an optional slot: 1 and the slot since when it is active (Agave, `Feature`). */
function isActivated([feature]: Awaited<ReturnType<Chain['accounts']>>): boolean {
  return feature?.programAddress === FEATURE_PROGRAM && feature.data[0] === 1;
}
