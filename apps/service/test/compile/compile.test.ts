import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { type Action, isApiError } from '@flywheel/api';
import { compilePipeline } from '@flywheel/testing/compile';
import { addressOf } from '@flywheel/testing/values';
import { type Address, generateKeyPairSigner } from '@solana/kit';
import { TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import { compilePipelines } from '../../src/compile/compile-pipeline.ts';
import { dailyTotals, requirements } from '../../src/compile/totals.ts';
import type { Project } from '../../src/model/project.ts';
import { lookupTableAddresses } from '../../src/squads/registration.ts';

describe('compilePipelines', () => {
  let project: Pick<Project, 'token' | 'flywheel'>;
  let wallets: Address[];

  before(async () => {
    const token = { id: 'token', mint: addressOf(1), decimals: 6, programAddress: TOKEN_PROGRAM_ADDRESS };
    const [multisig, vault, lookupTable] = [addressOf(2), addressOf(3), addressOf(4)];
    const addresses = lookupTableAddresses({ multisig, vault, token, lookupTable });
    project = {
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
    wallets = await Promise.all(Array.from({ length: 80 }, async () => (await generateKeyPairSigner()).address));
  });

  it('gives equal bytes for equal requests', async () => {
    const pipelines = [{ type: 'T', payload: '{}', actions: airdrops(3) }];
    assert.deepEqual(await compilePipelines(pipelines, project), await compilePipelines(pipelines, project));
  });

  it('keeps the pipeline unchanged beside its instructions', async () => {
    const pipeline = { type: 'T', payload: ' {"a": 1} ', actions: airdrops(1) };
    const { instructions, vaultMessage, ...rest } = await compilePipeline(pipeline, project);
    assert.deepEqual(rest, pipeline);
    assert.deepEqual([instructions.length, vaultMessage.length > 0], [3, true]);
  });

  it('names the first pipeline that is too big, with its size in bytes', async () => {
    const fitting = { type: 'T', payload: '{}', actions: airdrops(7) };
    const tooBig = { type: 'T', payload: '{}', actions: airdrops(8) };
    await assert.rejects(compilePipelines([fitting, tooBig, tooBig], project), (error) => {
      assert.ok(isApiError(error, 'ERR_FLYWHEEL_PIPELINE_TOO_BIG'));
      assert.equal(error.message, 'pipelines[1] needs 905 bytes; one transaction holds 856.');
      return true;
    });
  });

  it('rejects a pipeline of any length, whichever count overflows', async () => {
    const memos = (count: number): Action[] => Array.from({ length: count }, () => ({ action: 'MEMO', message: 'm' }));
    await tooBig(memos(59), /may run 65 instructions, inner ones included; one transaction runs 64\./);
    await tooBig(memos(300), /may run 306 instructions/);
    await tooBig(airdrops(20_000), /may run \d+ instructions/);
    await tooBig(
      [{ action: 'MEMO', message: 'é'.repeat(100_000) }],
      /needs 200\d\d\d bytes; one transaction holds 856/,
    );
  });

  it('counts the burns, airdrops and possible new accounts of a batch', async () => {
    const [first, second] = wallets;
    assert.ok(first && second);
    const pipelines = await compilePipelines(
      [
        {
          type: 'T',
          payload: '{}',
          actions: [
            { action: 'BURN', amount: 1.5 },
            { action: 'AIRDROP', toAddress: first, amount: 2 },
            { action: 'AIRDROP', toAddress: first, amount: 0.000001 },
            { action: 'MEMO', message: 'm' },
          ],
        },
        { type: 'T', payload: '{}', actions: [{ action: 'AIRDROP', toAddress: second, amount: 18446744073709 }] },
        { type: 'T', payload: '{}', actions: [{ action: 'AIRDROP', toAddress: first, amount: 18446744073709 }] },
      ],
      project,
    );
    const airdropBaseUnits = 2_000_001n + 2n * 18_446_744_073_709_000_000n;
    assert.deepEqual(dailyTotals(pipelines, project.token), { burnBaseUnits: 1_500_000n, airdropBaseUnits });
    const needed = requirements(pipelines, project.token);
    assert.equal(needed.amountBaseUnits, 1_500_000n + airdropBaseUnits);
    assert.deepEqual(
      needed.tokenAccounts.map(({ owner }) => owner),
      [first, second],
    );
  });

  function airdrops(count: number): Action[] {
    return Array.from({ length: count }, (_, index) => ({
      action: 'AIRDROP',
      toAddress: wallets[index % wallets.length] ?? '',
      amount: 1,
    }));
  }

  async function tooBig(actions: Action[], message: RegExp): Promise<void> {
    await assert.rejects(compilePipeline({ type: 'T', payload: '{}', actions }, project), (error) => {
      assert.ok(isApiError(error, 'ERR_FLYWHEEL_PIPELINE_TOO_BIG'), String(error));
      assert.match(error.message, message);
      return true;
    });
  }
});
