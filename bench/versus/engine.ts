import { callRpc, createRpcTransport } from '@flywheel/solana-rpc';
import type { World } from '@flywheel/testing/world';
import { z } from 'zod';
import { openBenchWorld } from '../bench-world.ts';
import type { Figures } from '../figures.ts';
import { byService } from './versus.ts';

const COUNTS = [10, 100, 1_000] as const;
const RATES = [1, 5] as const;
/** The slots of a cluster. */
const SLOT_MS = 400;

const Requests = z.object({ accepted: z.number(), refused: z.number() });

/**
 * Measures batches through the block engine at the rates that Jito allows without an agreement and with one. The engine refuses
 * more. The bound is the time that the bundles of a batch take at this rate, if no other request is sent.
 */
export async function benchEngine(): Promise<Figures> {
  const rows: [string, string][] = [];
  for (const perSecond of RATES) {
    const world = await openBenchWorld(
      { BLOCK_ENGINE_REQUESTS_PER_SECOND: String(perSecond) },
      { slotMs: SLOT_MS, engineRequestsPerSecond: perSecond },
    );
    try {
      for (const count of COUNTS) rows.push(await measure(world, count, perSecond));
    } finally {
      await world.stop();
    }
  }
  return {
    title: 'a batch through the block engine at 1 and at 5 requests/s',
    note: `Slots of ${SLOT_MS} ms; from the first request to the last execution. The bundles of a batch but the first wait for the rate: that is the bound. Requests count until the batch is closed.`,
    rows,
  };
}

async function measure(world: World, count: number, perSecond: number): Promise<[string, string]> {
  const before = await readRequests(world);
  const { wallMs, bundles } = await byService(world, count);
  const { accepted, refused } = await readRequests(world);
  const boundMs = (1_000 * (bundles - 1)) / perSecond;
  const seconds = (value: number) => `${(value / 1_000).toFixed(1)} s`;
  return [
    `${count.toLocaleString('en-US')} pipelines at ${perSecond} request${perSecond === 1 ? '' : 's'}/s`,
    `${seconds(wallMs)}; bound ${seconds(boundMs)} for ${bundles} bundles, ${(wallMs / Math.max(boundMs, 1_000 / perSecond)).toFixed(2)} : 1; ${accepted - before.accepted} requests, ${refused - before.refused} refused`,
  ];
}

async function readRequests({ localnet }: World): Promise<z.infer<typeof Requests>> {
  return Requests.parse(await callRpc(createRpcTransport({ url: localnet.url }), 'localnet_engineRequests'));
}
