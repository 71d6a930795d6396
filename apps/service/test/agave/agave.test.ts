import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type Agave, findAgave, findFreePorts, hasSquadsProgram, startAgave } from '@flywheel/testing/agave';
import { executeSigned, setUpBatch, waitUntil } from '@flywheel/testing/batches';
import { airdropPipeline, burnPipeline } from '@flywheel/testing/client';
import { connectCluster } from '@flywheel/testing/cluster';
import { createProject, requireOk, type TestProject } from '@flywheel/testing/project';
import { openWorld, type World } from '@flywheel/testing/world';
import {
  appendTransactionMessageInstruction,
  createTransactionMessage,
  generateKeyPairSigner,
  getBase64EncodedWireTransaction,
  isSolanaError,
  SOLANA_ERROR__TRANSACTION_ERROR__BLOCKHASH_NOT_FOUND,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
} from '@solana/kit';
import { fetchSysvarClock } from '@solana/sysvars';
import { getTransferSolInstruction } from '@solana-program/system';

const SLOT_MS = 50;
/** A day of slots on mainnet: more than any blockhash lives. */
const JUMP_SLOTS = 216_000n;
/** A restart continues from the last snapshot, of which there is one every hundred finalized slots. */
const SNAPSHOT_SLOTS = 110n;

const binary = findAgave();
const squadsProgram = process.env.FLYWHEEL_SQUADS_PROGRAM;
const missing =
  binary === null
    ? 'there is no Agave validator on this machine: npm run agave -- --install'
    : !hasSquadsProgram(squadsProgram) && 'the deployed Squads program is not in the cache, and a validator needs it';

describe("on Agave's own validator, the service", { skip: missing }, () => {
  let directory: string;
  let port: number;
  let agave: Agave;
  let world: World;
  let project: TestProject;

  const start = (options: { readonly warpSlot?: bigint } = {}) =>
    startAgave({
      binary: binary ?? '',
      squadsProgram,
      ledger: join(directory, 'ledger'),
      port,
      slotMs: SLOT_MS,
      ...options,
    });

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'flywheel-agave-'));
    port = await findFreePorts();
    agave = await start();
    world = await openWorld({}, { cluster: await connectCluster(agave.url) });
    project = await createProject(world);
  });
  after(async () => {
    await world?.stop();
    await agave?.stop();
    await rm(directory, { recursive: true, force: true });
  });

  it('executes an approval that was signed a day of slots before, when every blockhash has expired', async () => {
    const { address: recipient } = await generateKeyPairSigner();
    const batch = await setUpBatch(world, project, [burnPipeline(5), airdropPipeline(recipient, 2.5)]);
    const { transfer, lastValidBlockHeight } = await signTransfer(world, project);
    const landed = await world.rpc.getSlot({ commitment: 'confirmed' }).send();

    // A validator jumps only while it starts, and starts at the last block that it has finalized.
    await waitUntil(
      'the finality of the setup',
      () => world.rpc.getSlot({ commitment: 'finalized' }).send(),
      (slot) => slot >= landed + SNAPSHOT_SLOTS,
    );
    await agave.stop();
    const target = landed + JUMP_SLOTS;
    agave = await start({ warpSlot: target });
    const clock = await fetchSysvarClock(world.rpc);
    assert.ok(clock.slot >= target, `Clock is at slot ${clock.slot}, before ${target}`);
    assert.ok((await world.rpc.getSlot().send()) >= target);
    // A jump adds one block, and a blockhash ages by blocks.
    await waitUntil(
      'the expiry of the blockhash',
      () => world.rpc.getBlockHeight({ commitment: 'confirmed' }).send(),
      (height) => height > lastValidBlockHeight,
    );
    await assert.rejects(world.rpc.sendTransaction(transfer, { encoding: 'base64' }).send(), ({ cause }) => {
      return isSolanaError(cause, SOLANA_ERROR__TRANSACTION_ERROR__BLOCKHASH_NOT_FOUND);
    });

    const { status, result } = requireOk(await executeSigned(world, project, batch));
    assert.equal(status, 'EXECUTED');
    assert.equal(result.totalSuccessful, 2);
  });
});

/** A transfer whose lifetime is the newest blockhash. */
async function signTransfer({ rpc }: World, { wallet }: TestProject) {
  const { value: lifetime } = await rpc.getLatestBlockhash().send();
  const empty = setTransactionMessageFeePayer(wallet.address, createTransactionMessage({ version: 0 }));
  const transfer = getTransferSolInstruction({ source: wallet, destination: wallet.address, amount: 1n });
  const message = setTransactionMessageLifetimeUsingBlockhash(lifetime, empty);
  const signed = await signTransactionMessageWithSigners(appendTransactionMessageInstruction(transfer, message));
  const { lastValidBlockHeight } = lifetime;
  return { transfer: getBase64EncodedWireTransaction(signed), lastValidBlockHeight };
}
