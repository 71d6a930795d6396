import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { ProofCheck, PublicVault } from '@flywheel/api';
import { MEMO_PROGRAM_ADDRESS } from '@flywheel/protocol';
import { compileVaultMessage, decodeMultisig } from '@flywheel/squads';
import { assertError, executeSigned, setUpBatch, waitForBatch, waitUntil } from '@flywheel/testing/batches';
import { findMultisig } from '@flywheel/testing/chain';
import { airdropPipeline, burnPipeline, send } from '@flywheel/testing/client';
import { createProject, requireOk, type TestProject } from '@flywheel/testing/project';
import { openWorld, type World } from '@flywheel/testing/world';
import {
  AccountRole,
  type Address,
  address,
  addSignersToInstruction,
  appendTransactionMessageInstructions,
  createTransactionMessage,
  fetchEncodedAccount,
  generateKeyPairSigner,
  getBase64EncodedWireTransaction,
  getSignatureFromTransaction,
  type Instruction,
  type KeyPairSigner,
  pipe,
  type Signature,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
  type TransactionSigner,
} from '@solana/kit';
import { type CheckProofDeps, checkProof } from '../../src/proofs/check-proof.ts';
import { createChain } from '../../src/solana/chain.ts';
import { loadSigner } from '../../src/solana/signer.ts';
import { executionGroup } from '../../src/squads/groups.ts';
import {
  batchAddTransaction,
  batchCreate,
  locateBatch,
  proposalActivate,
  proposalApprove,
  proposalCreate,
} from '../../src/squads/instructions.ts';

const HASH = 'f'.repeat(64);

let world: World;
let project: TestProject;
before(async () => {
  world = await openWorld();
  project = await createProject(world);
});
after(() => world.stop());

const UNBOUNDED: CheckProofDeps['work'] = { run: (_work, _vault, start) => start() };

describe('a proof by type and payload', () => {
  it('is proven by the transaction that executed it, for everyone', async () => {
    const event = { type: 'WATCH_AD', payload: `{"adId":"${randomUUID()}"}` };
    const batch = await executed([{ ...burnPipeline(1), ...event }, burnPipeline(1)]);
    const { verdict, message, hash, pipelines } = await check(event);
    assert.equal(verdict, 'proven');
    const [pipeline] = pipelines;
    assert.ok(pipeline?.signature && pipeline.slot && pipeline.executedAt);
    assert.equal(
      message,
      `Proven: transaction ${pipeline.signature} contains this proof, signed by the vault ${project.vaultAddress}, as pipeline 0 of batch ${batch.batchIndex}.`,
    );
    assert.ok(
      batch.executeResult?.successfulExecutions.some(({ txHashes }) => txHashes.includes(pipeline.signature ?? '')),
    );
    const blockTime = await world.rpc.getBlockTime(BigInt(pipeline.slot)).send();
    assert.equal(Date.parse(pipeline.executedAt), Number(blockTime) * 1_000);
    const { signature, slot, executedAt, ...rest } = pipeline;
    assert.deepEqual(rest, {
      batchId: batch.id,
      batchIndex: batch.batchIndex,
      status: 'EXECUTED',
      pipeline: 0,
      type: 'WATCH_AD',
      hash,
      mintAddress: project.mint,
      multisig: project.multisig,
      vaultAddress: project.vaultAddress,
      isOnChain: true,
      memo: `flywheel:v1:WATCH_AD:${hash}`,
    });
  });

  it('is not found if a byte differs', async () => {
    const event = { type: 'WATCH_AD', payload: `{"adId":"${randomUUID()}"}` };
    await executed([{ ...burnPipeline(1), ...event }]);
    assert.equal((await check(event)).verdict, 'proven');
    for (const other of [
      { ...event, payload: `${event.payload} ` },
      { ...event, type: 'WATCH_AD2' },
    ]) {
      const { verdict, message, pipelines } = await check(other);
      assert.deepEqual([verdict, pipelines], ['nothing', []]);
      assert.match(message, /^No proof: no batch of this service/);
    }
  });

  it('is recorded but not proven until it is executed, and unknown until it is on chain', async () => {
    const event = { type: 'WATCH_AD', payload: `{"adId":"${randomUUID()}"}` };
    const { id, batchIndex } = await setUpBatch(world, project, [{ ...burnPipeline(1), ...event }]);
    const waiting = await check(event);
    assert.deepEqual([waiting.verdict, waiting.pipelines[0]?.isOnChain], ['recorded', false]);
    assert.equal(
      waiting.message,
      `Not proven yet: pipeline 0 of batch ${batchIndex} contains this proof and waits to be approved and executed.`,
    );

    requireOk(await send(world.url, 'POST', `/v1/flywheel/batch/${id}/cancel`, { key: project.apiKey, body: {} }));
    const cancelled = await check(event);
    assert.equal(cancelled.verdict, 'recorded');
    assert.match(cancelled.message, /ended without executing it\.$/);

    await world.db.updateTable('batches').set({ finalized_at: null }).where('id', '=', id).execute();
    assert.equal((await check(event)).verdict, 'nothing');
  });

  it('is shown twice if it was used twice', async () => {
    const event = { type: 'WATCH_AD', payload: `{"adId":"${randomUUID()}"}` };
    await executed([
      { ...burnPipeline(1), ...event },
      { ...burnPipeline(2), ...event },
    ]);
    const { message, pipelines } = await check(event);
    assert.match(message, /The same proof is on chain 2 times/);
    assert.deepEqual(
      pipelines.map(({ isOnChain }) => isOnChain),
      [true, true],
    );
  });
});

describe('a proof that two projects use', () => {
  it('is found by its payload and by its transaction', async () => {
    const event = { type: 'WATCH_AD', payload: `{"adId":"${randomUUID()}"}` };
    await executed([{ ...burnPipeline(1), ...event }]);
    const signature = await signatureOf(event);
    const other = await createProject(world);
    await executed(
      Array.from({ length: 21 }, () => ({ ...burnPipeline(1), ...event })),
      other,
    );

    const { pipelines, message } = await check(event);
    assert.equal(pipelines.length, 20);
    assert.match(message, /The same proof is on chain at least 20 times/);
    assert.ok(pipelines.some((pipeline) => pipeline.signature === signature));
    const proven = await check({ signature });
    assert.deepEqual(
      proven.pipelines.map(({ vaultAddress }) => vaultAddress),
      [project.vaultAddress],
    );
    assert.doesNotMatch(proven.message, /no record/);
  });
});

describe('a transaction signature', () => {
  it('proves the pipelines that it executed', async () => {
    const { address: to } = await generateKeyPairSigner();
    const batch = await executed([burnPipeline(1), airdropPipeline(to, 2)]);
    const signatures = batch.executeResult?.successfulExecutions.flatMap(({ txHashes }) => txHashes) ?? [];
    const proven = await Promise.all(signatures.map((signature) => check({ signature })));
    const pipelines = proven.flatMap(({ pipelines }) => pipelines);
    assert.deepEqual(
      pipelines.map(({ batchId, pipeline, isOnChain }) => [batchId, pipeline, isOnChain]),
      [
        [batch.id, 0, true],
        [batch.id, 1, true],
      ],
    );
    const [first] = proven.filter(({ verdict }) => verdict === 'proven');
    const amount = first?.pipelines.length === 1 ? '1 proof' : `${first?.pipelines.length} proofs`;
    assert.equal(
      first?.message,
      `Proven: the transaction contains ${amount} of batch ${batch.batchIndex}, signed by the vault ${project.vaultAddress}.`,
    );
  });

  it('proves pipelines at the end of a batch in which more than twenty have the same proof', async () => {
    const event = { type: 'WATCH_AD', payload: `{"adId":"${randomUUID()}"}` };
    const { id, executeResult } = await executed(Array.from({ length: 24 }, () => ({ ...burnPipeline(1), ...event })));
    const last = executeResult?.successfulExecutions.at(-1)?.txHashes.at(-1);
    const { message, pipelines } = await check({ signature: last });
    assert.doesNotMatch(message, /no record/);
    const place = pipelines.at(-1);
    assert.deepEqual([place?.batchId, place?.pipeline, place?.signature], [id, 23, last]);
  });

  it('proves pipelines of a known vault even if they are not recorded', async () => {
    const event = { type: 'WATCH_AD', payload: `{"adId":"${randomUUID()}"}` };
    const batch = await executed([{ ...burnPipeline(1), ...event }]);
    const signature = await signatureOf(event);
    const lost = { proof_hash: Buffer.alloc(32) };
    await world.db.updateTable('pipelines').set(lost).where('batch_id', '=', batch.id).execute();
    const { verdict, message, pipelines } = await check({ signature });
    assert.deepEqual([verdict, pipelines], ['proven', []]);
    assert.match(message, /of which this service has no record but whose vault it knows/);
  });

  it('proves nothing if a stranger wrote the memo', async () => {
    const stranger = await generateKeyPairSigner();
    const { verdict, message } = await check({ signature: await land(stranger, memo(stranger.address)) });
    assert.equal(verdict, 'nothing');
    assert.match(message, /no proof that a vault has signed through its multisig/);
  });

  it('proves nothing by a memo that an executed pipeline wrote after its first instruction', async () => {
    const forged = await createProject(world);
    const { vaultAddress } = forged;
    const genuine = `flywheel:v1:PURCHASE:${'e'.repeat(64)}`;
    const signature = await executeMemos(forged, [genuine, `flywheel:v1:WATCH_AD:${HASH}`]);
    const { verdict, message } = await check({ signature });
    assert.equal(verdict, 'proven');
    assert.match(message, new RegExp(`contains 1 proof, .* signed by the vault ${vaultAddress}`));
    const plain = await executeMemos(forged, ['a memo', `flywheel:v1:WATCH_AD:${HASH}`]);
    const nothing = await check({ signature: plain });
    assert.equal(nothing.verdict, 'nothing');
    assert.match(nothing.message, /no proof that a vault has signed through its multisig/);
  });

  it('proves nothing if the transaction failed', async () => {
    const stranger = await generateKeyPairSigner();
    const failing = { programAddress: MEMO_PROGRAM_ADDRESS, data: Uint8Array.of(0xff) };
    const { verdict, message } = await check({ signature: await land(stranger, failing) });
    assert.equal(verdict, 'nothing');
    assert.match(message, /the transaction failed/);
  });

  it('proves nothing if the cluster does not know the transaction', async () => {
    const { verdict, message } = await check({ signature: '1'.repeat(64) });
    assert.equal(verdict, 'nothing');
    assert.match(message, /the cluster does not know this transaction/);
  });

  it('is recorded, and not proven, if the recorded transaction failed on chain', async () => {
    const event = { type: 'WATCH_AD', payload: `{"adId":"${randomUUID()}"}` };
    await executed([{ ...burnPipeline(1), ...event }]);
    const signature = await signatureOf(event);
    // A failed transaction lists the same instructions as a successful one.
    const read = await createChain({ rpcUrls: [world.localnet.url] }).landedTransaction(signature as Signature);
    assert.ok(read?.succeeded && read.calls.length > 0);
    const deps = {
      db: world.db,
      chain: { landedTransaction: async () => ({ ...read, succeeded: false }) },
      work: UNBOUNDED,
    };
    const { verdict, pipelines } = await checkProof(deps, event);
    assert.deepEqual([verdict, pipelines[0]?.isOnChain, pipelines[0]?.memo], ['recorded', false, undefined]);
    assert.equal((await checkProof(deps, { signature })).verdict, 'nothing');
  });

  it('is recorded, and not proven, if the node has deleted the transaction', async () => {
    const event = { type: 'WATCH_AD', payload: `{"adId":"${randomUUID()}"}` };
    await executed([{ ...burnPipeline(1), ...event }]);
    const signature = await signatureOf(event);
    const deps = { db: world.db, chain: { landedTransaction: async () => null }, work: UNBOUNDED };
    for (const request of [{ signature }, event]) {
      const { verdict, message, pipelines } = await checkProof(deps, request);
      assert.deepEqual([verdict, pipelines[0]?.isOnChain, pipelines[0]?.memo], ['recorded', false, undefined]);
      assert.equal(pipelines[0]?.signature, signature);
      assert.match(message, /does not show it, or no longer shows it/);
    }
  });

  it('is rejected if it is not a signature', async () => {
    for (const signature of ['z'.repeat(88), '0', 'x']) {
      const answer = await ask({ signature });
      assertError(answer, 400, 'ERR_INVALID_REQUEST');
    }
  });
});

describe('a vault', () => {
  it('shows everyone its balance and deposit address', async () => {
    const { vaultAddress, mint } = await createProject(world, {
      vaultBaseUnits: 1_500_000n,
      vaultLamports: 7n * 10n ** 9n,
    });
    const answer = await send(world.url, 'GET', `/console/api/vaults/${vaultAddress}`);
    const { tokenAccount, ...vault } = PublicVault.parse(requireOk(answer));
    assert.deepEqual(vault, { address: vaultAddress, mint, decimals: 6, lamports: '7000000000', tokens: '1.5' });
    const { value } = await world.rpc.getTokenAccountBalance(address(tokenAccount)).send();
    assert.equal(value.amount, '1500000');
  });

  it('is empty before the first deposit', async () => {
    const { vaultAddress } = await createProject(world, { vaultBaseUnits: 0n, vaultLamports: 0n });
    const { lamports, tokens } = requireOk(await send(world.url, 'GET', `/console/api/vaults/${vaultAddress}`));
    assert.deepEqual([lamports, tokens], ['0', '0']);
  });

  it('answers 404 if it is unknown', async () => {
    const { address: other } = await generateKeyPairSigner();
    assertError(await send(world.url, 'GET', `/console/api/vaults/${other}`), 404, 'ERR_VAULT_NOT_FOUND');
  });
});

function ask(body: object) {
  return send(world.url, 'POST', '/console/api/proof', { body });
}

async function check(body: object): Promise<ProofCheck> {
  const answer = requireOk(await ask(body));
  assert.doesNotMatch(JSON.stringify(answer), /adId/);
  return ProofCheck.parse(answer);
}

async function signatureOf(event: { readonly type: string; readonly payload: string }): Promise<string> {
  const { pipelines } = await check(event);
  return pipelines[0]?.signature ?? assert.fail('The proof is in no transaction.');
}

/** Sets up, approves and executes a batch of these pipelines. */
async function executed(pipelines: Parameters<typeof setUpBatch>[2], of: TestProject = project) {
  const batch = await setUpBatch(world, of, pipelines);
  await executeSigned(world, of, batch);
  return waitForBatch(world, of, batch.id, ({ status }) => status === 'EXECUTED');
}

/** Executes a pipeline of memos that the service would not compile, with the keys of everyone who has to sign. */
async function executeMemos(of: TestProject, texts: readonly string[]): Promise<Signature> {
  const multisig = await findMultisig(world, of);
  const { vault, lookupTable } = multisig;
  const company = await loadSigner(world.environment.COMPANY_SIGNER ?? '');
  const signers: TransactionSigner[] = [world.operator, company, of.wallet];
  const instructions = texts.map((text) => memo(vault, text));
  const pipeline = {
    instructions,
    vaultMessage: compileVaultMessage(instructions, { vault, lookupTables: [lookupTable] }),
  };
  await world.localnet.bank.airdrop(of.wallet.address, 10n ** 9n);
  const account = await fetchEncodedAccount(world.rpc, multisig.address, { commitment: 'confirmed' });
  if (!account.exists) throw new Error('The multisig is on chain.');
  const batchIndex = decodeMultisig(account).transactionIndex + 1n;
  const located = locateBatch(multisig, batchIndex);
  const execution = executionGroup(multisig, { batchIndex, position: 0 }, pipeline, 0);
  const withSigners = (instruction: Instruction) => addSignersToInstruction(signers, instruction);
  await landAll(of.wallet, [batchCreate(located), proposalCreate(located)].map(withSigners));
  await landAll(of.wallet, [withSigners(batchAddTransaction(located, 0, pipeline.vaultMessage))]);
  const votes = [company.address, of.wallet.address].map((member) => proposalApprove(located, member));
  await landAll(of.wallet, [proposalActivate(located), ...votes].map(withSigners));
  return landAll(of.wallet, execution.instructions.map(withSigners));
}

function memo(signer: Address, text = `flywheel:v1:WATCH_AD:${HASH}`): Instruction {
  return {
    programAddress: MEMO_PROGRAM_ADDRESS,
    accounts: [{ address: signer, role: AccountRole.READONLY_SIGNER }],
    data: new TextEncoder().encode(text),
  };
}

async function land(payer: KeyPairSigner, instruction: Instruction): Promise<Signature> {
  await world.localnet.bank.airdrop(payer.address, 10n ** 9n);
  return landAll(payer, [instruction]);
}

/** Sends a transaction without preflight, and waits until it is confirmed. */
async function landAll(payer: KeyPairSigner, instructions: readonly Instruction[]): Promise<Signature> {
  const { value: blockhash } = await world.rpc.getLatestBlockhash().send();
  const message = pipe(
    createTransactionMessage({ version: 0 }),
    (message) => setTransactionMessageFeePayerSigner(payer, message),
    (message) => setTransactionMessageLifetimeUsingBlockhash(blockhash, message),
    (message) => appendTransactionMessageInstructions(instructions, message),
  );
  const transaction = await signTransactionMessageWithSigners(message);
  const wire = getBase64EncodedWireTransaction(transaction);
  await world.rpc.sendTransaction(wire, { encoding: 'base64', skipPreflight: true }).send();
  const signature = getSignatureFromTransaction(transaction);
  await waitUntil(
    `transaction ${signature}`,
    async () => (await world.rpc.getSignatureStatuses([signature]).send()).value[0]?.confirmationStatus,
    (status) => status === 'confirmed' || status === 'finalized',
  );
  return signature;
}
