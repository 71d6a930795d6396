import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { type Action, isApiError } from '@flywheel/api';
import { MAX_PIPELINE_BYTES } from '@flywheel/protocol';
import { appendIfFits, compileVaultMessage, planTransactions, type TransactionLimits } from '@flywheel/squads';
import { compilePipeline } from '@flywheel/testing/compile';
import { type Address, generateKeyPairSigner, lamports } from '@solana/kit';
import { MAX_COMPUTE_UNIT_LIMIT } from '@solana-program/compute-budget';
import { getTransferSolInstruction } from '@solana-program/system';
import { findAssociatedTokenPda } from '@solana-program/token';
import type { CompiledPipeline } from '../../src/model/batch.ts';
import type { Multisig, Token } from '../../src/model/project.ts';
import { executionGroup, setupGroups } from '../../src/squads/groups.ts';
import { batchAddTransaction, locateBatch, proposalApprove } from '../../src/squads/instructions.ts';
import {
  type Cluster,
  createToken,
  fundVault,
  land,
  landMessage,
  openCluster,
  projectOf,
  register,
  withoutSquads,
} from '../squads/cluster.ts';

describe('a transaction at the limits, on the deployed Squads program', { skip: withoutSquads }, () => {
  let cluster: Cluster;
  let token: Token;
  let multisig: Multisig;
  let nextIndex = 1n;

  before(async () => {
    cluster = await openCluster();
    token = await createToken(cluster);
    ({ multisig } = await register(cluster, token));
    await fundVault(cluster, multisig, token, 1_000_000_000_000n);
  });

  it('holds one addition with a vault message of 856 bytes, to the last byte', async () => {
    const batch = locateBatch(multisig, 1n);
    const sizeOf = async (bytes: number) => {
      const instructions = [batchAddTransaction(batch, 0, new Uint8Array(bytes))];
      return planTransactions([{ instructions, computeUnits: 0, traceLength: 1 }], limitsOf());
    };
    assert.equal((await sizeOf(MAX_PIPELINE_BYTES)).length, 1);
    await assert.rejects(sizeOf(MAX_PIPELINE_BYTES + 1), /1 instructions that need 1233 bytes/);
  });

  it('adds and executes the largest accepted memo', async () => {
    const compiled = await largest((length) => [{ action: 'MEMO', message: 'm'.repeat(length) }]);
    assert.equal(compiled.vaultMessage.length, MAX_PIPELINE_BYTES);
    await run(compiled);
  });

  it('executes the maximum of airdrops to new wallets with a tip, whether their token accounts hold lamports or not', async () => {
    const wallets = await Promise.all(Array.from({ length: 12 }, async () => (await generateKeyPairSigner()).address));
    for (const isFundedBefore of [false, true]) {
      const recipients = isFundedBefore
        ? await Promise.all(Array.from({ length: 12 }, async () => (await generateKeyPairSigner()).address))
        : wallets;
      if (isFundedBefore) for (const wallet of recipients) await sendLamports(wallet);
      const compiled = await largest((count) =>
        recipients.slice(0, count).map((toAddress) => ({ action: 'AIRDROP', toAddress, amount: 1 })),
      );
      assert.equal(compiled.actions.length, 7);
      await run(compiled);
    }
  });

  it('runs the maximum of instructions within the largest heap: burns, memos, airdrops to one wallet', async () => {
    const { address: toAddress } = await generateKeyPairSigner();
    await sendLamports(toAddress);
    for (const action of [
      { action: 'BURN', amount: 0.000001 },
      { action: 'MEMO', message: 'm' },
      { action: 'AIRDROP', toAddress, amount: 0.000001 },
    ] as const satisfies Action[]) {
      const compiled = await largest((count) => Array.from({ length: count }, () => action));
      await run(compiled);
    }
  });

  it('has the trace length that the runtime counts', async () => {
    // Seven airdrops to wallets whose token accounts already hold lamports, and memos up to the limit.
    const recipients = await Promise.all(
      Array.from({ length: 7 }, async () => (await generateKeyPairSigner()).address),
    );
    for (const wallet of recipients) await sendLamports(wallet);
    const actions = (memos: number): Action[] => [
      ...recipients.map((wallet): Action => ({ action: 'AIRDROP', toAddress: wallet, amount: 1 })),
      ...Array.from({ length: memos }, (): Action => ({ action: 'MEMO', message: 'm' })),
    ];
    const full = await compile(actions(2));
    const [oneMore] = (await compile(actions(1))).instructions.slice(-1);
    assert.ok(oneMore);
    const instructions = [...full.instructions, oneMore];
    const vaultMessage = compileVaultMessage(instructions, {
      vault: multisig.vault,
      lookupTables: [multisig.lookupTable],
    });
    await assert.rejects(run({ ...full, instructions, vaultMessage }), /MaxInstructionTraceLengthExceeded/);
    await run(full);
    await assert.rejects(
      compile(actions(3)),
      (error) => isApiError(error, 'ERR_FLYWHEEL_PIPELINE_TOO_BIG') && /may run 65 instructions/.test(error.message),
    );
  });

  function limitsOf(heapBytes?: number): TransactionLimits {
    return {
      version: 0,
      feePayer: cluster.operator.address,
      lookupTables: [multisig.lookupTable],
      computeUnitLimit: 1_400_000,
      computeUnitPriceMicroLamports: 1_000n,
      ...(heapBytes === undefined ? {} : { heapBytes }),
    };
  }

  function compile(actions: Action[]): Promise<CompiledPipeline> {
    return compilePipeline({ type: 'T', payload: '{}', actions }, projectOf(token, multisig));
  }

  /** Compiles the largest accepted pipeline of its kind. */
  async function largest(actionsOf: (count: number) => Action[]): Promise<CompiledPipeline> {
    let low = 1;
    let high = 1_024;
    let best: CompiledPipeline | undefined;
    while (low <= high) {
      const middle = (low + high) >> 1;
      try {
        best = await compile(actionsOf(middle));
        low = middle + 1;
      } catch (error) {
        if (!isApiError(error, 'ERR_FLYWHEEL_PIPELINE_TOO_BIG')) throw error;
        high = middle - 1;
      }
    }
    assert.ok(best);
    return best;
  }

  async function sendLamports(wallet: Address): Promise<void> {
    const [ata] = await findAssociatedTokenPda({ owner: wallet, mint: token.mint, tokenProgram: token.programAddress });
    cluster.svm.airdrop(ata, lamports(1_000_000n));
  }

  /** Sets up, approves and executes a batch of one pipeline, with a tip in the last transaction. */
  async function run(compiled: CompiledPipeline): Promise<{ bytes: number; units: bigint }> {
    const batchIndex = nextIndex;
    nextIndex += 1n;
    const { operator, wallet, company } = cluster;
    for (const { message } of planTransactions(
      setupGroups(multisig, { batchIndex, pipelines: [compiled] }),
      limitsOf(),
    )) {
      await landMessage(cluster, [operator], message);
    }
    const batch = locateBatch(multisig, batchIndex);
    await land(
      cluster,
      operator,
      [wallet, company],
      [wallet, company].map(({ address }) => proposalApprove(batch, address)),
    );
    const heap = limitsOf(256 * 1_024);
    const group = executionGroup(multisig, { batchIndex, position: 0 }, compiled, MAX_COMPUTE_UNIT_LIMIT);
    const [planned] = planTransactions([group], heap);
    assert.ok(planned);
    const tip = getTransferSolInstruction({
      source: operator,
      destination: cluster.mintAuthority.address,
      amount: 1_000n,
    });
    const tipped = appendIfFits(planned.message, [tip]);
    assert.ok(tipped, 'no room for a tip');
    return landMessage(cluster, [operator], tipped);
  }
});
