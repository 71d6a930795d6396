import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { Action } from '@flywheel/api';
import { type InstructionGroup, VOTE_WEIGHT } from '@flywheel/squads';
import { compilePipeline } from '@flywheel/testing/compile';
import {
  appendTransactionMessageInstructions,
  compileTransaction,
  createTransactionMessage,
  generateKeyPairSigner,
  type Instruction,
  setTransactionMessageFeePayer,
} from '@solana/kit';
import { TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import { TOKEN_2022_PROGRAM_ADDRESS } from '@solana-program/token-2022';
import { FailedTransactionMetadata } from 'litesvm';
import type { CompiledPipeline } from '../../src/model/batch.ts';
import type { Multisig, Token } from '../../src/model/project.ts';
import { closeGroups, executionGroup, setupGroups } from '../../src/squads/groups.ts';
import { locateBatch, proposalApprove } from '../../src/squads/instructions.ts';
import {
  type Cluster,
  computeBudget,
  createToken,
  fundVault,
  land,
  openCluster,
  projectOf,
  register,
  withoutSquads,
} from './cluster.ts';

/** Units of the compute budget's own instructions, 150 each. */
const BUDGET_UNITS = 450n;
/** The number of tries to find an address varies, so each content is measured several times. */
const TRIES = 5;

const CONTENTS: Readonly<Record<string, () => Promise<Action[]>>> = {
  'a memo': async () => [{ action: 'MEMO', message: 'thank you' }],
  'a long memo': async () => [{ action: 'MEMO', message: 'x'.repeat(600) }],
  'a burn': async () => [{ action: 'BURN', amount: 1 }],
  'twenty-four burns': async () => Array.from({ length: 24 }, () => ({ action: 'BURN', amount: 1 })),
  'an airdrop': async () => [await airdrop()],
  'seven airdrops': async () => Promise.all(Array.from({ length: 7 }, airdrop)),
  'all kinds': async () => [{ action: 'MEMO', message: 'a' }, { action: 'BURN', amount: 1 }, await airdrop()],
};

for (const [standard, tokenProgram] of [
  ['SPL Token', TOKEN_PROGRAM_ADDRESS],
  ['Token-2022', TOKEN_2022_PROGRAM_ADDRESS],
] as const) {
  describe(`the weight of instruction groups, ${standard}`, { skip: withoutSquads }, () => {
    let cluster: Cluster;
    let token: Token;
    let multisig: Multisig;
    let batchIndex = 0n;

    before(async () => {
      cluster = await openCluster();
      token = await createToken(cluster, tokenProgram);
      ({ multisig } = await register(cluster, token));
      await fundVault(cluster, multisig, token, 1_000_000_000_000n);
    });

    for (const [name, actions] of Object.entries(CONTENTS)) {
      it(`is a close upper bound of what the deployed program uses: ${name}`, async () => {
        for (let time = 0; time < TRIES; time += 1) {
          const pipeline = await compilePipeline(
            { type: 'T', payload: '{}', actions: await actions() },
            projectOf(token, multisig),
          );
          await runThrough(pipeline);
        }
      });
    }

    async function runThrough(pipeline: CompiledPipeline): Promise<void> {
      batchIndex += 1n;
      const { wallet, company } = cluster;
      const batch = { batchIndex, pipelines: [pipeline] };
      for (const group of setupGroups(multisig, batch)) await assertBound(group);
      const located = locateBatch(multisig, batchIndex);
      for (const voter of [wallet, company]) {
        const vote = { instructions: [proposalApprove(located, voter.address)], ...VOTE_WEIGHT };
        await assertBound(vote, [voter]);
      }
      const units = unitsAlone(pipeline.instructions);
      const execution = executionGroup(multisig, { batchIndex, position: 0 }, pipeline, units);
      const used = await assertBound(execution);
      assert.ok(execution.computeUnits < 1.5 * used, `${execution.computeUnits} for ${used}`);
      for (const group of closeGroups(multisig, batch, 1)) await assertBound(group);
    }

    async function assertBound(
      { instructions, computeUnits }: InstructionGroup,
      signers: Parameters<typeof land>[2] = [],
    ): Promise<number> {
      const landed = await land(cluster, cluster.operator, signers, [...computeBudget(), heap(), ...instructions]);
      const used = Number(landed.units - BUDGET_UNITS);
      assert.ok(used <= computeUnits, `${used} units used, ${computeUnits} foretold`);
      return used;
    }

    /** Measures the units of the instructions alone, as the check before an approval does. */
    function unitsAlone(instructions: readonly Instruction[]): number {
      const { svm, operator } = cluster;
      const message = appendTransactionMessageInstructions(
        [...computeBudget(), heap(), ...instructions],
        setTransactionMessageFeePayer(operator.address, createTransactionMessage({ version: 0 })),
      );
      svm.withSigverify(false);
      const simulated = svm.simulateTransaction(
        compileTransaction(svm.setTransactionMessageLifetimeUsingLatestBlockhash(message)),
      );
      svm.withSigverify(true);
      if (simulated instanceof FailedTransactionMetadata) throw new Error(simulated.toString());
      return Number(simulated.meta().computeUnitsConsumed());
    }
  });
}

async function airdrop(): Promise<Action> {
  return { action: 'AIRDROP', toAddress: (await generateKeyPairSigner()).address, amount: 1 };
}

/** Requests the largest heap, 256 KiB. */
function heap(): Instruction {
  const [limit] = computeBudget();
  if (!limit) throw new Error('There is no compute budget.');
  return { programAddress: limit.programAddress, data: Uint8Array.of(1, 0, 0, 4, 0) };
}
