import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { type Action, isApiError, type Pipeline } from '@flywheel/api';
import { MAX_PIPELINE_BYTES, MAX_PIPELINE_INSTRUCTIONS } from '@flywheel/protocol';
import {
  airdrop,
  burn,
  memo,
  packActions,
  pipelineSize,
  MAX_PIPELINE_BYTES as SDK_MAX_PIPELINE_BYTES,
  TOKEN_2022_PROGRAM_ADDRESS,
} from '@flywheel/sdk';
import { compilePipeline, lookupTableAddresses } from '@flywheel/testing/compile';
import { addressOf } from '@flywheel/testing/values';
import { type Address, address, generateKeyPairSigner } from '@solana/kit';
import fc from 'fast-check';

const TOKEN_PROGRAM = address('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA');

type Target = Parameters<typeof compilePipeline>[1];

describe('pipelineSize', () => {
  let wallets: Address[];
  before(async () => {
    wallets = await Promise.all(Array.from({ length: 6 }, async () => (await generateKeyPairSigner()).address));
  });

  for (const tokenProgram of [TOKEN_PROGRAM, TOKEN_2022_PROGRAM_ADDRESS]) {
    it(`equals the service’s count, to the byte, with ${tokenProgram}`, async () => {
      const project = await projectOf(tokenProgram);
      const { mint } = project.token;
      const recipient = fc.constantFrom(...wallets, mint, TOKEN_PROGRAM, TOKEN_2022_PROGRAM_ADDRESS);
      const action: fc.Arbitrary<Action> = fc.oneof(
        fc.integer({ min: 1, max: 1_000_000 }).map(burn),
        { weight: 2, arbitrary: recipient.map((to) => airdrop(to, '1.5')) },
        fc.string({ unit: 'binary', minLength: 1, maxLength: 60 }).map(memo),
      );
      const pipeline = fc.record({
        type: fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/),
        payload: fc.constantFrom('{}', '{"adId":"1"}'),
        actions: fc.array(action, { minLength: 1, maxLength: 30 }),
      });
      await fc.assert(
        fc.asyncProperty(pipeline, async (made) => {
          const { bytes, instructions, share } = pipelineSize(made, { mint, tokenProgram });
          const counted = await countedByService(made, project);
          assert.equal(share <= 1, counted.fits, counted.message);
          if (counted.bytes !== null) assert.equal(bytes, counted.bytes);
          if (counted.instructions !== null) assert.equal(instructions, counted.instructions);
        }),
        { numRuns: 150 },
      );
    });
  }

  it('has the service’s limits', () => {
    assert.equal(SDK_MAX_PIPELINE_BYTES, MAX_PIPELINE_BYTES);
    assert.equal(pipelineSize({ type: 'A', actions: Array.from({ length: 58 }, () => memo('m')) }).instructions, 64);
    assert.equal(MAX_PIPELINE_INSTRUCTIONS, 64);
  });

  it('packs items in order and undivided into as few pipelines as possible', async () => {
    const many = await Promise.all(Array.from({ length: 20 }, async () => (await generateKeyPairSigner()).address));
    const pipelines = packActions(many, {
      type: 'SEASON_1',
      actionsOf: (wallet) => [airdrop(wallet, 1.25)],
      payloadOf: (packed) => ({ count: packed.length }),
    });
    assert.deepEqual(
      pipelines.map(({ payload, actions }) => [payload, actions.length]),
      [7, 7, 6].map((count) => [`{"count":${count}}`, count]),
    );
    assert.ok(pipelines.every((made) => pipelineSize(made).bytes <= MAX_PIPELINE_BYTES));
    const sent = pipelines.flatMap(({ actions }) => actions.map((action) => 'toAddress' in action && action.toAddress));
    assert.deepEqual(sent, many);
    assert.throws(
      () => packActions(['x'.repeat(900)], { type: 'A', actionsOf: (text) => [memo(text)], payloadOf: () => ({}) }),
      /Item 0 has 1 actions, which do not fit one transaction/,
    );
  });
});

/** Reads the service's count, of an accepted or rejected pipeline. An error states one of both numbers. */
async function countedByService(pipeline: Pipeline, project: Target) {
  try {
    const { vaultMessage } = await compilePipeline(pipeline, project);
    return { fits: true, bytes: vaultMessage.length, instructions: null, message: '' };
  } catch (error) {
    assert.ok(isApiError(error, 'ERR_FLYWHEEL_PIPELINE_TOO_BIG'));
    const [, bytes] = /needs (\d+) bytes/.exec(error.message) ?? [];
    const [, instructions] = /may run (\d+) instructions/.exec(error.message) ?? [];
    const number = (text: string | undefined) => (text === undefined ? null : Number(text));
    return { fits: false, bytes: number(bytes), instructions: number(instructions), message: error.message };
  }
}

async function projectOf(programAddress: Address): Promise<Target> {
  const mint = (await generateKeyPairSigner()).address;
  const token = { id: 'token', mint, decimals: 6, programAddress };
  const [multisig, vault, lookupTable] = [addressOf(2), addressOf(3), addressOf(4)];
  const addresses = lookupTableAddresses({ multisig, vault, token, lookupTable });
  return {
    token,
    flywheel: {
      id: 'flywheel',
      multisig: {
        address: multisig,
        vault,
        vaultIndex: 0,
        operator: addressOf(5),
        recovery: null,
        rentCollector: addressOf(5),
        company: addressOf(6),
        wallet: addressOf(7),
        lookupTable: { address: lookupTable, addresses },
      },
    },
  };
}
