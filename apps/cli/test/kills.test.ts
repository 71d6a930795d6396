import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createFlywheelClient, type FlywheelClient, type Pipeline, runKeyOf } from '@flywheel/sdk';
import { waitUntil } from '@flywheel/testing/batches';
import { tokenBalance } from '@flywheel/testing/chain';
import { ENGINES, type GatedWorld, holdSends, openGatedWorld } from '@flywheel/testing/gate';
import { createProject, type TestProject } from '@flywheel/testing/project';
import { type Address, generateKeyPairSigner } from '@solana/kit';
import { planAirdrop } from '../src/commands/airdrop/plan.ts';
import { type KillStage, openKillStage } from './kill-stage.ts';
import { runCommand } from './run-command.ts';
import { makeTemporaryFolder, type TemporaryFolder, writeWallet } from './wallet-files.ts';

/** Without a block engine each transaction is sent alone, so that a test can stop between the first two. */
const [, ENGINE] = ENGINES;
/** Pipelines for several transactions. */
const ROWS = 24;
/** Past the life of any blockhash (Agave, MAX_PROCESSING_AGE). */
const EXPIRY_SLOTS = 151n;
/** Most of the time passes in the commands, while each slot costs CPU. */
const SLOT_MS = 100;
const BASE_UNITS_PER_TOKEN = 1_000_000n;
const INIT = 'POST /v1/flywheel/batch/init';
const EXECUTE = 'POST /v1/flywheel/batch/execute';
const READ = 'GET /v1/flywheel/batch/';
const READ_APPROVAL = 'include=approval';

const addresses = await Promise.all(Array.from({ length: ROWS }, async () => (await generateKeyPairSigner()).address));

interface Payer {
  readonly command: string;
  /** The pipelines of a run. */
  readonly pipelinesOf: (mint: Address, run: number) => readonly Pipeline[];
  /** One way leads through both commands, so that the later runs of one of them are killed at two steps only. */
  readonly isKilledAtEveryStep: boolean;
  /** The file that the command pays. */
  readonly file: { readonly name: string; readonly textOf: (mint: Address) => string };
}

const PAYERS: readonly Payer[] = [
  {
    command: 'run',
    isKilledAtEveryStep: true,
    pipelinesOf: (mint) => planRows(mint, 1),
    file: { name: 'request.json', textOf: (mint) => JSON.stringify({ pipelines: planRows(mint, 1) }) },
  },
  {
    command: 'airdrop',
    isKilledAtEveryStep: false,
    pipelinesOf: planRows,
    file: { name: 'rows.csv', textOf: () => addresses.map((address) => `${address},1\n`).join('') },
  },
];

function planRows(mint: Address, run: number): readonly Pipeline[] {
  const rows = addresses.map((address) => ({ address, amount: '1' }));
  const { parts } = planAirdrop(rows, { type: 'AIRDROP', round: '', run, token: { mint } });
  return parts.flat().map(({ pipeline }) => pipeline);
}

describe('a payment whose command is killed at every step', () => {
  let world: GatedWorld;
  let cache: TemporaryFolder;
  before(async () => {
    cache = await makeTemporaryFolder();
    world = await openGatedWorld(ENGINE.environment, { slotMs: SLOT_MS });
  });
  after(async () => {
    await world?.stop();
    await cache?.[Symbol.asyncDispose]();
  });

  for (const { command, pipelinesOf, file, isKilledAtEveryStep } of PAYERS) {
    describe(`by flywheel ${command}`, () => {
      let folder: TemporaryFolder;
      let project: TestProject;
      let client: FlywheelClient;
      let environment: Readonly<Record<string, string>>;
      let stage: KillStage;
      let words: readonly string[];
      let funds: bigint;
      let started = 0;

      before(async () => {
        folder = await makeTemporaryFolder();
        const wallet = await writeWallet(folder);
        project = await createProject(world, { wallet: wallet.signer });
        client = createFlywheelClient({ url: world.url, apiKey: project.apiKey });
        environment = {
          FLYWHEEL_URL: world.url,
          FLYWHEEL_API_KEY: project.apiKey,
          SOLANA_RPC_URL: world.localnet.url,
          XDG_STATE_HOME: folder.path,
        };
        stage = await openKillStage(world.url, { folder: cache.path, environment });
        const path = await folder.write(file.name, file.textOf(project.mint));
        // Without pins the vault must be named: the cancel vote of a failed batch is cast in no other.
        words = [command, path, '--wallet', wallet.file, '--trust', project.vaultAddress];
        funds = await vaultBalance();
      });

      after(async () => {
        await stage?.close();
        await folder?.[Symbol.asyncDispose]();
      });

      /** Every second command finds nothing of the commands before: no state and no receipt. */
      async function forget(): Promise<void> {
        started += 1;
        if (started % 2 === 1) return;
        await rm(join(folder.path, 'flywheel'), { recursive: true, force: true });
        for (const run of ['', '.run2']) await rm(join(folder.path, `rows${run}.receipt.csv`), { force: true });
      }

      /** Runs the command to its end. */
      async function run(options: readonly string[]) {
        await forget();
        return runCommand([...words, ...options], environment);
      }

      async function killed(options: readonly string[], step: string, at: Promise<unknown>): Promise<string> {
        await forget();
        return stage.killed([...words, ...options], step, at);
      }

      const keyOf = (number: number, rest = 0) => runKeyOf(pipelinesOf(project.mint, number), { run: number, rest });

      async function vaultBalance(): Promise<bigint> {
        return tokenBalance(world, project.mint, project.vaultAddress as Address); // what the service answers is one
      }

      async function paidRows(): Promise<number> {
        return Number((funds - (await vaultBalance())) / BASE_UNITS_PER_TOKEN);
      }

      /** Kills at every step up to the execution, each time a new process, and returns the batch. */
      async function killUntilExecution(options: readonly string[], key: string) {
        await killed(options, 'before init', stage.reach({ path: INIT, moment: 'arrives', key }));
        const initialized = await killed(
          options,
          'after init',
          stage.reach({ path: INIT, moment: 'is answered', key }),
        );
        assert.match(initialized, new RegExp(`^Idempotency key ${key}$`, 'm'));
        await killed(options, 'while it is set up', stage.reach({ path: READ, moment: 'is answered' }));
        // Ctrl-C names what the killed commands have printed.
        await forget();
        const at = stage.reach({ path: READ_APPROVAL, moment: 'is answered' });
        const interrupted = await stage.run([...words, ...options], { at, by: 'SIGINT' });
        assert.equal(interrupted.exitCode, 130, interrupted.stderr);
        const names = /ERR_INTERRUPTED.*\n {2}Batch (\S+), idempotency key (\S+)\n$/.exec(interrupted.stderr) ?? [];
        const [, batchId = ''] = names;
        assert.equal(names[2], key, interrupted.stderr);
        // The first execute of a resumed batch asks whether its execution has begun, the second one starts it.
        await killed(options, 'after the signature', stage.reach({ path: EXECUTE, moment: 'arrives', nth: 2 }));
        return client.getBatch(batchId);
      }

      /** Kills as soon as the batch exists; the service sets it up. */
      async function killAfterInit(options: readonly string[], key: string) {
        await killed(options, 'after init', stage.reach({ path: INIT, moment: 'is answered', key }));
        const [batch] = (await client.listBatches()).batches;
        assert.ok(batch);
        return waitForStatus(batch.id, 'FINALIZED');
      }

      /** Kills in the middle of the execution. */
      async function killWhileExecuted(options: readonly string[], batchIndex: string) {
        const hold = holdSends(world, ENGINE, project, BigInt(batchIndex));
        await killed(options, 'half executed', hold.reached);
        return hold;
      }

      function untilExecutionIsRecorded(id: string) {
        const read = () =>
          world.db
            .selectFrom('bundles')
            .select('id')
            .where('batch_id', '=', id)
            .where('phase', '=', 'execution')
            .execute();
        return waitUntil('a bundle of the execution', read, (bundles) => bundles.length > 0);
      }

      async function waitForStatus(id: string, wanted: string, read = () => client.getBatch(id)) {
        const batch = await waitUntil('the end', read, ({ status }) => status === wanted);
        world.gate.clear();
        return batch;
      }

      it('is made once, and a finished one says when', async () => {
        const { id, batchIndex } = await killUntilExecution([], await keyOf(1));
        const hold = await killWhileExecuted([], batchIndex);
        const paid = await paidRows();
        // The wallet has signed: another command only waits for the end.
        await killed([], 'joined', stage.reach({ path: EXECUTE, moment: 'arrives', nth: 2 }));
        assert.equal(await paidRows(), paid);
        hold.release();
        await waitForStatus(id, 'EXECUTED');
        await killed([], 'ended', stage.reach({ path: READ, moment: 'is answered' }));
        const ended = await run([]);
        assert.equal(ended.exitCode, 5, ended.stderr);
        assert.match(ended.stderr, /Paid on \S+; nothing was sent\. --again pays/);
        assert.equal(await paidRows(), ROWS);
      });

      it('is made a second time by --again, once, and after a failure only --rest continues', async () => {
        const again = ['--again'];
        const key = await keyOf(2);
        const { id, batchIndex } = await (isKilledAtEveryStep
          ? killUntilExecution(again, key)
          : killAfterInit(again, key));
        await killWhileExecuted(again, batchIndex);
        // The held request never arrives; the cancellation ends the batch once its blockhash has expired.
        world.gate.clear();
        world.gate.intercept('sendTransaction', async () => 'hang up');
        await client.cancelBatch(id, { waitSeconds: 0 });
        const { executeResult } = await waitForStatus(id, 'FAILED', async () => {
          await world.localnet.warp({ slots: EXPIRY_SLOTS });
          return client.getBatch(id);
        });
        const left = (executeResult?.total ?? 0) - (executeResult?.totalSuccessful ?? 0);
        const paid = await paidRows();
        assert.ok(left > 0 && paid > ROWS && paid < 2 * ROWS, `${left} pipelines left, ${paid} rows paid`);

        const failed = await run(again);
        assert.equal(failed.exitCode, 3, failed.stderr);
        assert.match(failed.stderr, /--rest/);
        const third = await run(['--run', '3']);
        assert.equal(third.exitCode, 2, third.stderr);
        const tooEarly = `Run 3 starts only after run 2 .*: ${left} of its ${executeResult?.total} pipelines are not`;
        assert.match(third.stderr, new RegExp(tooEarly));
        assert.equal(await paidRows(), paid);
      });

      it('is completed by --rest, once', async () => {
        const rest = ['--again', '--rest'];
        const key = await keyOf(2, 1);
        if (isKilledAtEveryStep) {
          await killed(rest, 'before the rest', stage.reach({ path: INIT, moment: 'arrives', key }));
          assert.equal((await client.listBatches()).batches.length, 2);
        }
        const batch = await killAfterInit(rest, key);
        if (isKilledAtEveryStep) {
          await killed(rest, 'after its setup', stage.reach({ path: READ_APPROVAL, moment: 'is answered' }));
          await killed(rest, 'after the signature', stage.reach({ path: EXECUTE, moment: 'arrives', nth: 2 }));
        }
        // Nonces are sent as transactions, too: the row of its bundle says that this batch is executed.
        const hold = world.gate.hold('sendTransaction');
        await killed(rest, 'execution begun', untilExecutionIsRecorded(batch.id));
        hold.release();
        await waitForStatus(batch.id, 'EXECUTED');
        for (const line of [rest, ['--again'], []]) assert.equal((await run(line)).exitCode, 5);
        assert.equal(await paidRows(), 2 * ROWS);
        assert.equal((await client.listBatches()).batches.length, 3);
      });
    });
  }
});
