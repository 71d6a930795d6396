import assert from 'node:assert/strict';
import { it } from 'node:test';
import { PROJECT } from '@flywheel/testing/test-server';
import type { Blockhash } from '@solana/kit';
import { simulatePipelines } from '../../src/batches/check/simulate.ts';
import type { Chain } from '../../src/solana/chain.ts';

it('a simulation that does not find the lookup table is an error of the node, not of the batch', async () => {
  const chain = {
    latestBlockhash: async () => ({
      blockhash: '11111111111111111111111111111111' as Blockhash,
      lastValidBlockHeight: 1n,
    }),
    simulate: async () => ({ err: '"AddressLookupTableNotFound"', logs: [], unitsConsumed: null }),
  } as unknown as Chain; // the two calls of a simulation
  const simulated = simulatePipelines({ chain }, PROJECT.flywheel.multisig, [{ instructions: [] }], [0]);
  await assert.rejects(simulated, /^Error: The node does not show .*AddressLookupTableNotFound/);
});
