import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { seededRandom } from '@flywheel/localnet';
import type { ItemState } from '@flywheel/sdk/collector';
import { openSqliteStore } from '@flywheel/sdk/collector/sqlite';
import { land, tokenBalance } from '@flywheel/testing/chain';
import { associatedTokenAccount, createOwnMint, freeze, mintTo, type OwnMint } from '@flywheel/testing/mints';
import { createProject } from '@flywheel/testing/project';
import { openWorld, type World } from '@flywheel/testing/world';
import { type Address, createKeyPairSignerFromPrivateKeyBytes, generateKeyPairSigner } from '@solana/kit';
import { getThawAccountInstruction } from '@solana-program/token';
import { AMOUNT_BASE_UNITS, kindOf, type SoakSetup } from './events.ts';

/** Number of kills; `npm run soak` raises it. */
const KILLS = Number(process.env.FLYWHEEL_SOAK_COLLECTOR_KILLS ?? 2);
const SEED = Number(process.env.FLYWHEEL_SOAK_SEED ?? randomInt(2 ** 31));
const EVENTS_PER_SECOND = 50;
/** Events after the last kill. */
const LAST_EVENTS = 60;
/** A process lives between nothing and this time after its start. */
const MAX_LIFE_MS = 2_500;

let world: World;
let folder: string;
before(async () => {
  world = await openWorld();
  folder = await mkdtemp(join(tmpdir(), 'flywheel-collector-soak-'));
});
after(async () => {
  await world.stop();
  await rm(folder, { recursive: true });
});

it(`a collector pays every good event exactly once while its app is killed ${KILLS} times`, async (test) => {
  test.diagnostic(`seed ${SEED}`);
  const random = seededRandom(SEED);
  const { setup, mint } = await prepare();
  const hostility = new AbortController();
  const freezing = freezeNowAndThen(mint, setup.hostile as Address[], { random, signal: hostility.signal });

  for (let kill = 0; kill < KILLS; kill += 1) {
    const app = startApp();
    if (app.stdout) await Promise.race([once(app.stdout, 'data'), once(app, 'exit')]);
    await sleep(random() * MAX_LIFE_MS);
    assert.equal(app.exitCode, null, 'the app ended by itself');
    app.kill('SIGKILL');
    await once(app, 'exit');
  }
  const cursor = Number(await readFile(join(folder, 'cursor'), 'utf8'));
  const end = cursor + LAST_EVENTS;
  const last = startApp({ SOAK_END: String(end) });
  assert.deepEqual(await once(last, 'exit'), [0, null]);
  hostility.abort();
  await freezing;
  test.diagnostic(`${end} events`);
  await assertPaidOnce(setup, mint, end);
});

async function prepare(): Promise<{ readonly setup: SoakSetup; readonly mint: OwnMint }> {
  const mint = await createOwnMint(world, false);
  const walletBytes = crypto.getRandomValues(new Uint8Array(32));
  const wallet = await createKeyPairSignerFromPrivateKeyBytes(walletBytes);
  const project = await createProject(world, { mint: mint.address, wallet, vaultBaseUnits: 0n });
  const vault = project.vaultAddress as Address;
  await mintTo(world, mint, vault, 10n ** 13n);
  await world.localnet.bank.airdrop(vault, 10n ** 10n);
  const wallets = async (length: number) =>
    Promise.all(Array.from({ length }, async () => (await generateKeyPairSigner()).address));
  const [honest, hostile] = [await wallets(8), await wallets(3)];
  for (const each of hostile) await mintTo(world, mint, each, 1n);
  const unpayable = [mint.address, 'SysvarC1ock11111111111111111111111111111111'];
  const setup: SoakSetup = {
    ...{ url: world.url, rpcUrl: world.localnet.url, apiKey: project.apiKey, walletBytes: [...walletBytes] },
    ...{ eventsPerSecond: EVENTS_PER_SECOND, honest, hostile, unpayable },
  };
  await writeFile(join(folder, 'setup.json'), JSON.stringify(setup));
  await writeFile(join(folder, 'cursor'), '0');
  return { setup, mint };
}

function startApp(environment: Readonly<Record<string, string>> = {}): ChildProcess {
  const program = fileURLToPath(new URL('app.ts', import.meta.url));
  return spawn(process.execPath, [program, folder], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

/** Freezes and thaws the accounts of recipients at random, between a check and the execution too. */
async function freezeNowAndThen(
  mint: OwnMint,
  recipients: readonly Address[],
  { random, signal }: { readonly random: () => number; readonly signal: AbortSignal },
): Promise<void> {
  const frozen = new Set<Address>();
  while (!signal.aborted) {
    const recipient = recipients[Math.floor(random() * recipients.length)];
    if (recipient === undefined) return;
    const account = await associatedTokenAccount(mint, recipient);
    if (frozen.delete(recipient)) {
      const { address, authority } = mint;
      await land(world, authority, [getThawAccountInstruction({ account, mint: address, owner: authority })]);
    } else {
      await freeze(world, mint, account);
      frozen.add(recipient);
    }
    await sleep(random() * 400);
  }
}

async function assertPaidOnce(setup: SoakSetup, mint: OwnMint, events: number): Promise<void> {
  const store = await openSqliteStore(join(folder, 'payments.db'));
  try {
    const { accepted, pending, paid, quarantined, dropped } = await store.count();
    assert.deepEqual([accepted, pending, dropped], [events, 0, 0]);
    assert.equal(accepted, paid + quarantined);
    const ids = Array.from({ length: events }, (_, n) => `event ${n}`);
    const states = new Map((await store.read({ ids })).map(({ id, state }) => [id, state]));
    const owed = new Map<string, bigint>();
    for (const [n, id] of ids.entries()) {
      const { kind, recipient } = kindOf(setup, n);
      const state = states.get(id);
      const allowed: Record<typeof kind, readonly ItemState[]> = {
        ...{ good: ['paid'], hostile: ['paid', 'quarantined'] },
        ...{ malformed: ['quarantined'], unpayable: ['quarantined'] },
      };
      assert.ok(state !== undefined && allowed[kind].includes(state), `${id}, ${kind}, is ${state}`);
      if (state === 'paid') owed.set(recipient, (owed.get(recipient) ?? 0n) + AMOUNT_BASE_UNITS);
    }
    for (const recipient of [...setup.honest, ...setup.hostile] as Address[]) {
      const given = setup.hostile.includes(recipient) ? 1n : 0n;
      const expected = (owed.get(recipient) ?? 0n) + given;
      assert.equal(await tokenBalance(world, mint.address, recipient), expected, `what ${recipient} received`);
    }
  } finally {
    await store.close();
  }
}
