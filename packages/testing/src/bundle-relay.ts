import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { TIP_ACCOUNTS, tipFloor } from '@flywheel/localnet';
import { BUNDLES_PATH, bundleIdOf } from '@flywheel/protocol';
import {
  type Base64EncodedWireTransaction,
  createSolanaRpc,
  getSignatureFromTransaction,
  type Signature,
} from '@solana/kit';
import { decodeTransaction } from './values.ts';

/** A block engine for a cluster that has none, which lands bundles through RPC. */
export interface BundleRelay {
  readonly url: string;
  stop(): Promise<void>;
}

interface Relayed {
  readonly signatures: readonly Signature[];
  status: 'Pending' | 'Landed' | 'Failed';
  slot: bigint | null;
}

/** A bundle that has not landed by now is given up. Slots of a validator under load are much longer than an auction. */
const LANDING_MS = 20_000;
const POLL_MS = 20;

/**
 * Starts a relay that speaks Jito's methods in front of any RPC node. It simulates each transaction on the newest bank
 * before it sends it, and sends the next when the one before is processed.
 *
 * It cannot promise what Jito promises: the transactions of a bundle may be in several slots, others may come between them,
 * and when one fails those before it have landed. It cannot forget a bundle after an auction of 200 ms, because the node
 * repeats what it was given. It charges no tip, and limits no requests.
 */
export async function startBundleRelay(rpcUrl: string): Promise<BundleRelay> {
  const rpc = createSolanaRpc(rpcUrl);
  const bundles = new Map<string, Relayed>();
  const stopping = new AbortController();
  const running = new Set<Promise<void>>();

  const relay = async (bundle: Relayed, transactions: readonly Base64EncodedWireTransaction[]) => {
    const deadline = Date.now() + LANDING_MS;
    for (const [position, wire] of transactions.entries()) {
      const config = { encoding: 'base64', commitment: 'processed', sigVerify: true } as const;
      const { value: simulated } = await rpc.simulateTransaction(wire, config).send();
      if (simulated.err !== null) return;
      await rpc.sendTransaction(wire, { encoding: 'base64', skipPreflight: true }).send();
      const signature = bundle.signatures[position] as Signature;
      for (;;) {
        const [status] = (await rpc.getSignatureStatuses([signature]).send()).value;
        if (status?.err || Date.now() > deadline || stopping.signal.aborted) return;
        bundle.slot = status?.slot ?? null;
        if (status) break;
        await sleep(POLL_MS);
      }
    }
    bundle.status = 'Landed';
  };

  const sendBundle = (transactions: readonly Base64EncodedWireTransaction[]): string => {
    const signatures = transactions.map((wire) => getSignatureFromTransaction(decodeTransaction(wire)));
    const bundleId = bundleIdOf(signatures);
    const known = bundles.get(bundleId);
    if (known && known.status !== 'Failed') return bundleId;
    const bundle: Relayed = { signatures, status: 'Pending', slot: null };
    bundles.set(bundleId, bundle);
    const run = relay(bundle, transactions)
      // A node that does not answer loses the bundle, which its sender must expect.
      .catch(() => undefined)
      .finally(() => {
        if (bundle.status === 'Pending') bundle.status = 'Failed';
        running.delete(run);
      });
    running.add(run);
    return bundleId;
  };

  const methods: Readonly<Record<string, (parameter: never) => unknown>> = {
    getTipAccounts: () => TIP_ACCOUNTS,
    sendBundle,
    getInflightBundleStatuses: (ids: readonly string[]) => ({
      value: ids.map((id) => {
        const bundle = bundles.get(id);
        const landedSlot = bundle?.status === 'Landed' ? Number(bundle.slot) : null;
        return { bundle_id: id, status: bundle?.status ?? 'Invalid', landed_slot: landedSlot };
      }),
    }),
    getBundleStatuses: (ids: readonly string[]) => ({
      value: ids.map((id) => {
        const bundle = bundles.get(id);
        if (bundle?.status !== 'Landed') return null;
        const { signatures: transactions, slot } = bundle;
        return { bundle_id: id, transactions, slot: Number(slot), confirmation_status: 'processed', err: { Ok: null } };
      }),
    }),
  };

  const server = createServer(async (request, response) => {
    const answer = (body: unknown) => {
      response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
    };
    if (request.method === 'GET') return answer(tipFloor());
    const { id, method, params } = JSON.parse(await text(request));
    const call = methods[method];
    if (call) return answer({ jsonrpc: '2.0', id, result: call(params[0] as never) });
    answer({ jsonrpc: '2.0', id, error: { code: -32_601, message: 'Method not found' } });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${BUNDLES_PATH}`,
    stop: async () => {
      stopping.abort();
      await Promise.all(running);
      server.closeAllConnections();
      await once(server.close(), 'close');
    },
  };
}
