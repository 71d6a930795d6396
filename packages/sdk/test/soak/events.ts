import { airdrop } from '@flywheel/sdk';
import type { CollectedItem } from '@flywheel/sdk/collector';

/** What the soak tells the app that it kills. */
export interface SoakSetup {
  readonly url: string;
  readonly rpcUrl: string;
  readonly apiKey: string;
  readonly walletBytes: readonly number[];
  readonly eventsPerSecond: number;
  readonly honest: readonly string[];
  /** Recipients whose token accounts are frozen now and then. */
  readonly hostile: readonly string[];
  /** Addresses that can never be paid. */
  readonly unpayable: readonly string[];
}

/** Events that the app collects once more after each start. */
export const REPEATED_EVENTS = 40;
export const AMOUNT_TOKENS = '0.01';
export const AMOUNT_BASE_UNITS = 10_000n;
/** Less than a base unit: nine of a merged airdrop are refused as one is. */
const TOO_FINE_AMOUNT_TOKENS = '0.0000001';

/** The n-th event of the source: equal numbers give equal events. */
export function eventOf(setup: Pick<SoakSetup, 'honest' | 'hostile' | 'unpayable'>, n: number): CollectedItem {
  const { kind, recipient } = kindOf(setup, n);
  const amount = kind === 'malformed' ? TOO_FINE_AMOUNT_TOKENS : AMOUNT_TOKENS;
  const payload = { n, note: 'x'.repeat(n % 50) };
  return { id: `event ${n}`, type: 'WATCH_AD', payload, actions: [airdrop(recipient, amount)] };
}

export function kindOf({ honest, hostile, unpayable }: Pick<SoakSetup, 'honest' | 'hostile' | 'unpayable'>, n: number) {
  const one = (list: readonly string[]) => list[Math.floor(n / 7) % list.length] ?? '';
  if (n % 53 === 17) return { kind: 'malformed', recipient: one(honest) } as const;
  if (n % 41 === 11) return { kind: 'unpayable', recipient: one(unpayable) } as const;
  if (n % 17 === 5) return { kind: 'hostile', recipient: one(hostile) } as const;
  return { kind: 'good', recipient: one(honest) } as const;
}
