import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { waitForBatch, waitUntil } from '@flywheel/testing/batches';
import { burnPipeline, execute, getBatch, init, send } from '@flywheel/testing/client';
import { createProject, requireOk, signWith, type TestProject } from '@flywheel/testing/project';
import { type Address, createSolanaRpc } from '@solana/kit';
import { removePostgres } from '../src/store/postgres.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const VAULT_BASE_UNITS = 10n ** 9n;

let directory: string;
let service: Service;
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'flywheel-restart-'));
  service = await start();
});
after(async () => {
  await end(service, 'SIGTERM');
  await removePostgres(directory);
  await rm(directory, { recursive: true });
});

it('a service that is ready has stored what it compiled', async () => {
  const files = await readdir(compileCacheOf(directory), { recursive: true });
  assert.ok(files.length > 500, `${files.length} files`);
});

it('a restarted service has the same projects, keys, batches and chain', async () => {
  const project = await createProject(service, { vaultBaseUnits: VAULT_BASE_UNITS });
  const { batch, proposalApproveTx } = requireOk(await init(service.url, project.apiKey, [burnPipeline(2)]));
  await waitForBatch(service, project, batch.id, ({ status }) => status === 'FINALIZED');
  assert.equal(await end(service, 'SIGTERM'), 0);
  service = await start();
  const signedTx = await signWith(project.wallet, proposalApproveTx);
  const executed = await execute(service.url, project.apiKey, batch.id, signedTx);
  assert.equal(requireOk(executed).status, 'EXECUTED');
  assert.equal(await supplyOf(project.mint), VAULT_BASE_UNITS - 2_000_000n);
});

for (const phase of ['setup', 'execution'] as const) {
  it(`a service killed during ${phase} continues after its restart, and moves every token once`, async () => {
    const project = await createProject(service, { vaultBaseUnits: VAULT_BASE_UNITS });
    const pipelines = Array.from({ length: 40 }, () => burnPipeline(1));
    const { batch, proposalApproveTx } = requireOk(await init(service.url, project.apiKey, pipelines));
    const signedTx = await signWith(project.wallet, proposalApproveTx);
    if (phase === 'execution') {
      await waitForBatch(service, project, batch.id, ({ status }) => status === 'FINALIZED');
      await execute(service.url, project.apiKey, batch.id, signedTx, { prefer: 'wait=0' });
    }
    await waitForBundle(project, batch.id, phase);
    await end(service, 'SIGKILL');
    service = await start();
    const { status } = requireOk(await getBatch(service.url, project.apiKey, batch.id));
    assert.notEqual(status, 'FAILED');
    await execute(service.url, project.apiKey, batch.id, signedTx, { prefer: 'wait=60' });
    await waitForBatch(service, project, batch.id, (seen) => seen.status === 'EXECUTED');
    assert.equal(await supplyOf(project.mint), VAULT_BASE_UNITS - 40_000_000n);
  });
}

/** Waits until the service has recorded a bundle of a phase, which happens before it is sent. */
async function waitForBundle({ projectId, cookie }: TestProject, batchId: string, phase: string): Promise<void> {
  const path = `/console/api/projects/${projectId}/batches/${batchId}/progress`;
  const read = async (): Promise<{ readonly phase: string }[]> =>
    requireOk(await send(service.url, 'GET', path, { headers: { cookie } })).bundles;
  await waitUntil(`a bundle of the ${phase}`, read, (bundles) => bundles.some((bundle) => bundle.phase === phase));
}

interface Service {
  readonly child: ChildProcess;
  readonly url: string;
  readonly rpcUrl: string;
  readonly localnet: Parameters<typeof createProject>[0]['localnet'];
}

/** Starts `flywheel start` on the test's data directory. */
async function start(): Promise<Service> {
  const child = spawn(process.execPath, ['-e', `import(${JSON.stringify(MAIN)}).then(({ main }) => main('start'))`], {
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: compileCacheOf(directory),
      FLYWHEEL_DATA_DIR: directory,
      FLYWHEEL_SQUADS_PROGRAM: process.env.FLYWHEEL_SQUADS_PROGRAM ?? 'emulation',
      PORT: '0',
      LOCALNET_PORT: '0',
      LOCALNET_SLOT_MS: '50',
      LOG_LEVEL: 'fatal',
      RATE_LIMIT_GET: '100000/1',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  const { url, rpcUrl, program } = JSON.parse(line);
  assert.ok(program === 'emulation' || program === 'squads-v4', program);
  return { child, url, rpcUrl, localnet: { bank: bankAt(rpcUrl) } };
}

/** A cache of its own, which is empty at the first start. */
function compileCacheOf(dataDirectory: string): string {
  return join(dataDirectory, 'compiled');
}

async function end({ child }: Service, signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null> {
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
  return child.exitCode;
}

/** Calls the cluster's bank over JSON-RPC, because it lives in the other process. */
function bankAt(rpcUrl: string): Service['localnet']['bank'] {
  const call = async (method: string, params: object) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [params] });
    const response = await fetch(rpcUrl, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    const answer = Object(await response.json());
    assert.equal(answer.error, undefined);
    return answer.result;
  };
  return {
    airdrop: async (recipient, lamports) =>
      (await call('localnet_fund', { address: recipient, lamports: Number(lamports) })).signature,
    createMint: async (decimals, token2022) => (await call('localnet_createMint', { decimals, token2022 })).mint,
    mintTo: async (mint, recipient, amount) =>
      (await call('localnet_fund', { address: recipient, mint, amount: String(amount) })).tokenAccount,
  };
}

async function supplyOf(mint: Address): Promise<bigint> {
  const { value } = await createSolanaRpc(service.rpcUrl).getTokenSupply(mint, { commitment: 'confirmed' }).send();
  return BigInt(value.amount);
}
