import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { findBundles } from '@flywheel/service/internal/store/batches/bundles.ts';
import { waitUntil } from '@flywheel/testing/batches';
import { execute, getBatch, init } from '@flywheel/testing/client';
import { isClusterShared } from '@flywheel/testing/cluster';
import { createProject, requireOk, signWith } from '@flywheel/testing/project';
import type { World } from '@flywheel/testing/world';
import { address, generateKeyPairSigner } from '@solana/kit';
import { openBenchWorld } from '../bench-world.ts';
import { type Figures, markdownTable } from '../figures.ts';

const COUNTS = [1, 10, 100, 1_000] as const;
const WARM_UP = 10;
const DECIMALS = 6;
const VAULT_BASE_UNITS = 10n ** 12n;
const POLL_MS = 20;
/** The slots of a public cluster, and shorter ones, with which the script is done in minutes. */
const [SLOT_MS, SHORT_SLOT_MS] = [400, 50];
const ACCEPTED = 202;

interface Taken {
  readonly setupTransactions: number;
  readonly totalTransactions: number;
  /** Lamports that the signers have lost in the end; the vault pays recipients' token accounts on both sides. */
  readonly netLamports: number;
  readonly wallMs: number;
}

/**
 * Measures the same pipelines (a memo, a burn, an airdrop to a new wallet) through the service, with transactions of
 * version 1 and without, and through two programs that use the SDK of Squads: a script that a developer would write, and
 * one by an expert. All on one local cluster or on that of FLYWHEEL_TEST_RPC_URL, from the first request to the last execution.
 */
export function benchVersus(): Promise<Figures> {
  // A shared cluster has version 1 or has it not.
  return compareParties(SHORT_SLOT_MS, !isClusterShared);
}

/** Measures the same with the slots of a public cluster, and with transactions of version 1 only. */
export function benchVersusSlots(): Promise<Figures> {
  return compareParties(SLOT_MS, false);
}

async function compareParties(slotMs: number, isV0Measured: boolean): Promise<Figures> {
  const withV1 = await onCluster({ v1: true, slotMs }, async (world) => ({
    service: await measureService(world, 'service'),
    script: await forEachCount('script', (count) => byScript(world, SCRIPT, count)),
    expert: await forEachCount('expert', (count) => byScript(world, EXPERT, count)),
  }));
  const withoutV1 = isV0Measured
    ? await onCluster({ v1: false, slotMs }, (world) => measureService(world, 'service without version 1'))
    : [];
  const measured = COUNTS.map((count, i) => {
    const [v1, v0, script, expert] = [withV1.service[i], withoutV1[i], withV1.script[i], withV1.expert[i]];
    if (!v1 || !script || !expert) throw new Error(`${count} pipelines were not measured.`);
    return { pipelines: count, count: count.toLocaleString('en-US'), each: { v1, v0, expert, script } };
  });
  return {
    title: `a batch by the service and by a script (${isClusterShared ? 'the cluster’s own slots' : `slots of ${slotMs} ms`})`,
    note: 'The clock starts when the lookup table of a project, or of the expert, can be used; the service has carried out a batch before. The service counts the transactions that close accounts, and their rent as returned; the programs close nothing.',
    rows: measured.flatMap(({ count, each: { v1, expert, script } }) => [
      [`time of the script : the service, ${count} pipelines`, ratio(script.wallMs, v1.wallMs)],
      [`time of the expert : the service, ${count} pipelines`, ratio(expert.wallMs, v1.wallMs)],
    ]),
    details: markdownTable(
      ['pipelines', 'figure', 'v1', 'v0', 'expert', 'expert : v1', 'script', 'script : v1'],
      measured.flatMap(({ pipelines, count, each }) => [
        [count, 'setup transactions', ...compare(each, (taken) => taken.setupTransactions)],
        [count, 'all transactions', ...compare(each, (taken) => taken.totalTransactions)],
        [count, 'net lamports a pipeline', ...compare(each, (taken) => taken.netLamports / pipelines)],
        [count, 'wall time, ms', ...compare(each, (taken) => taken.wallMs)],
      ]),
    ),
  };
}

async function onCluster<T>(
  options: { readonly v1: boolean; readonly slotMs: number },
  measure: (world: World) => Promise<T>,
): Promise<T> {
  const world = await openBenchWorld({}, options);
  try {
    return await measure(world);
  } finally {
    await world.stop();
  }
}

async function measureService(world: World, name: string): Promise<Taken[]> {
  await byService(world, WARM_UP); // a service has worked before
  return forEachCount(name, (count) => byService(world, count));
}

async function forEachCount(name: string, measure: (count: number) => Promise<Taken>): Promise<Taken[]> {
  const all: Taken[] = [];
  for (const count of COUNTS) {
    const taken = await measure(count);
    process.stderr.write(`  ${name}, ${count} pipelines: ${Math.round(taken.wallMs).toLocaleString('en-US')} ms\n`);
    all.push(taken);
  }
  return all;
}

/** Carries out a batch of so many pipelines, until it is closed. */
export async function byService(world: World, count: number): Promise<Taken & { readonly bundles: number }> {
  const project = await createProject(world, { vaultBaseUnits: VAULT_BASE_UNITS, decimals: DECIMALS });
  const pipelines = await Promise.all(
    Array.from({ length: count }, async (_, i) => {
      const { address: toAddress } = await generateKeyPairSigner();
      return {
        type: 'WATCH_AD',
        payload: JSON.stringify({ i }),
        actions: [
          { action: 'BURN', amount: 1 },
          { action: 'AIRDROP', toAddress, amount: 1 },
        ],
      };
    }),
  );
  await untilFinal(world);
  const start = performance.now();
  const { batch, proposalApproveTx } = requireOk(await init(world.url, project.apiKey, pipelines));
  const signedTx = await signWith(project.wallet, proposalApproveTx);
  let status: string;
  do {
    // A request waits for two minutes at most, and then answers 202.
    const answer = await execute(world.url, project.apiKey, batch.id, signedTx, { prefer: 'wait=120' });
    ({ status } = answer.status === ACCEPTED ? answer.body : requireOk(answer));
  } while (status === 'AVAILABLE_TO_QUEUE' || status === 'FINALIZED');
  const wallMs = performance.now() - start;
  if (status !== 'EXECUTED') throw new Error(`The batch of ${count} is ${status}.`);
  for (;;) {
    const { ledger } = requireOk(await getBatch(world.url, project.apiKey, batch.id, '?include=ledger'));
    if (!ledger.isComplete) {
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      continue;
    }
    const bundles = await findBundles(world.db, batch.id);
    const countOf = (some: typeof bundles) =>
      some.reduce((sum, { landedSignatures }) => sum + landedSignatures.length, 0);
    return {
      setupTransactions: countOf(bundles.filter(({ phase }) => phase === 'setup')),
      totalTransactions: countOf(bundles),
      netLamports: Number(ledger.operatorNetLamports),
      wallMs,
      bundles: bundles.filter(({ phase }) => phase !== 'close').length,
    };
  }
}

/** Waits until all leaders can use the lookup table of a new project, as the expert’s program does with its own. */
async function untilFinal({ rpc }: World): Promise<void> {
  const slot = await rpc.getSlot({ commitment: 'processed' }).send();
  const final = () => rpc.getSlot({ commitment: 'finalized' }).send();
  await waitUntil('a slot that is final', final, (reached) => reached > slot);
}

async function byScript({ localnet }: World, file: URL, count: number): Promise<Taken> {
  const mint = await localnet.bank.createMint(DECIMALS, false);
  const child = spawn(
    process.execPath,
    [fileURLToPath(file), localnet.url, localnet.websocketUrl, mint, String(count), localnet.blockEngineUrl],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  const lines = createInterface({ input: child.stdout });
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`The script ended with ${code}.`);
  });
  const nextLine = async (): Promise<string> => {
    const [line] = await Promise.race([once(lines, 'line'), ended]);
    return line;
  };
  const vault = address(await nextLine());
  await localnet.bank.mintTo(mint, vault, VAULT_BASE_UNITS);
  await localnet.bank.airdrop(vault, 10_000_000_000n);
  child.stdin.write('go\n');
  const taken: Taken = JSON.parse(await nextLine());
  ended.catch(() => undefined); // its end is expected from here on
  return taken;
}

const SCRIPT = new URL('script.ts', import.meta.url);
const EXPERT = new URL('expert.ts', import.meta.url);

interface Compared {
  readonly v1: Taken;
  readonly v0: Taken | undefined;
  readonly expert: Taken;
  readonly script: Taken;
}

function compare({ v1, v0, expert, script }: Compared, of: (taken: Taken) => number): string[] {
  const figure = (taken: Taken | undefined) => (taken ? Math.round(of(taken)).toLocaleString('en-US') : '–');
  const [expertRatio, scriptRatio] = [expert, script].map((taken) => ratio(of(taken), of(v1)));
  return [figure(v1), figure(v0), figure(expert), expertRatio ?? '', figure(script), scriptRatio ?? ''];
}

function ratio(theirs: number, ours: number): string {
  return `${(theirs / ours).toFixed(1)} : 1`;
}
