import { airdrop, createFlywheelClient, proofHash } from '@flywheel/sdk';
import {
  type CollectedItem,
  type Collector,
  type CollectorOptions,
  type CollectorStore,
  createCollector,
} from '@flywheel/sdk/collector';
import { generateKeyPairSigner } from '@solana/kit';
import { buildApproval } from '../approvals.ts';
import { type Behaviour, createFakeService, type FakeService } from './fake-service.ts';

/** Recipients by how they behave; all others take what they get. */
export const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  mint: 'noWallet',
  checked: 'refusesCheck',
  hostile: 'failsAlways',
  hostile2: 'failsAlways',
  shaky: 'failsOnce',
};

export interface CollectorWorld {
  serve(behaviourOf?: (recipient: string) => Behaviour | undefined): FakeService;
  /** Creates a collector that waits for nothing. */
  open(
    service: Pick<FakeService, 'fetch'>,
    store: CollectorStore,
    options?: Partial<CollectorOptions>,
  ): Promise<Collector>;
}

export async function openCollectorWorld(): Promise<CollectorWorld> {
  const [operator, company] = await Promise.all([generateKeyPairSigner(), generateKeyPairSigner()]);
  const wallet = await generateKeyPairSigner();
  const approveTx = await buildApproval({ operator, wallet, company: company.address });
  return {
    serve: (behaviourOf = () => undefined) => createFakeService(approveTx, behaviourOf),
    open: ({ fetch }, store, options = {}) => {
      const client = createFlywheelClient({ url: 'http://fake', apiKey: 'fw_key', fetch, maxAttempts: 1 });
      const quick = { maxAgeMs: 5, minOpenIntervalMs: 0, finalAfterMs: 0, retryMs: [0, 1] } as const;
      return createCollector({ client, store, approval: { wallet, verify: 'trust-service' }, ...quick, ...options });
    },
  };
}

/** Tells a service which events merged payloads may list. */
export function nameEvents({ ids }: FakeService, events: readonly CollectedItem[]): void {
  for (const { id, type, payload } of events) ids.set(proofHash({ type, payload: JSON.stringify(payload) }), id);
}

/** An event that pays one token to a recipient. */
export function event(id: string, to: string): CollectedItem {
  return { id, type: 'WATCH_AD', payload: { id }, actions: [airdrop(to, 1)] };
}
