import { createSquadsRuntime, findSquadsProgram, TIP_ACCOUNTS } from '@flywheel/localnet';
import type { Batch } from '@flywheel/service/internal/model/batch.ts';
import type { Multisig } from '@flywheel/service/internal/model/project.ts';
import { executionGroup } from '@flywheel/service/internal/squads/groups.ts';
import { findBatch } from '@flywheel/service/internal/store/batches/batches.ts';
import { findBundles } from '@flywheel/service/internal/store/batches/bundles.ts';
import { requireProject } from '@flywheel/service/internal/store/projects/projects.ts';
import { proposalAddress, transactionAddress } from '@flywheel/squads';
import { execute, getBatch, init } from '@flywheel/testing/client';
import { isClusterShared } from '@flywheel/testing/cluster';
import { createProject, requireOk, signWith, type TestProject } from '@flywheel/testing/project';
import { decodeTransaction } from '@flywheel/testing/values';
import type { World } from '@flywheel/testing/world';
import { type Address, type EncodedAccount, fetchEncodedAccounts, type Transaction } from '@solana/kit';
import { LiteSVM } from 'litesvm';
import { openBenchWorld } from './bench-world.ts';
import { type Figures, ms, percent } from './figures.ts';
import { makePipelines } from './init.ts';

const PIPELINES = 200;
/** Short, so that waits for slots are the least part. */
const SLOT_MS = 10;

/**
 * Measures the pipelines executed per second through the service and the local cluster, and the rate at which LiteSVM
 * alone executes the same transactions from the same accounts.
 */
export async function benchExecution(): Promise<Figures> {
  const world = await openBenchWorld({}, { slotMs: SLOT_MS });
  try {
    return await measure(world);
  } finally {
    await world.stop();
  }
}

async function measure(world: World): Promise<Figures> {
  const project = await createProject(world);
  const batch = await finalize(world, project);
  const { multisig } = (await requireProject(world.db, batch.projectId)).flywheel;
  const before = await readAccounts(world, accountsOf(batch, multisig));

  const signedTx = await signWith(project.wallet, await approvalOf(world, project, batch));
  const [start, startedAt] = [performance.now(), Date.now()];
  const { status } = requireOk(await execute(world.url, project.apiKey, batch.id, signedTx, { prefer: 'wait=120' }));
  const serviceMs = performance.now() - start;
  if (status !== 'EXECUTED') throw new Error(`The batch is ${status}.`);

  const bundles = await findBundles(world.db, batch.id, 'execution');
  const checksMs = (await readBeginning(world, batch)).getTime() - startedAt;
  const transactions = bundles.flatMap((bundle) => bundle.transactions.map(decodeTransaction));
  const rawMs = replay(before, transactions, world);
  const [serviceRate, rawRate] = [serviceMs, rawMs].map((ms) => (PIPELINES * 1_000) / ms);
  return {
    title: `execution of ${PIPELINES} pipelines, ${transactions.length} transactions in ${bundles.length} bundles (${world.localnet.program})`,
    note: `${isClusterShared ? 'The cluster’s own slots' : `Slots of ${SLOT_MS} ms`}. Before the approval, all pipelines are executed twice in simulations: for the request, and for the signature of the company. A bundle is sent when the one before it is processed.`,
    rows: [
      ['through the service', `${serviceRate?.toFixed(0)} pipelines/s`],
      ['of its time: the checks before the approval', `${ms(checksMs)}  ${percent(checksMs, serviceMs)}`],
      ['of its time: a bundle', ms((serviceMs - checksMs) / bundles.length)],
      ['LiteSVM alone, the same transactions', `${rawRate?.toFixed(0)} pipelines/s`],
      ['ratio', `1 : ${(serviceMs / rawMs).toFixed(1)}`],
    ],
  };
}

/** Sets up a batch on chain, ready for its approval. */
async function finalize(world: World, { apiKey }: TestProject): Promise<Batch> {
  const { batch } = requireOk(await init(world.url, apiKey, await makePipelines(PIPELINES)));
  for (;;) {
    const { status } = requireOk(await getBatch(world.url, apiKey, batch.id));
    if (status === 'FINALIZED') break;
    if (status === 'FAILED') throw new Error('The batch could not be set up.');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const found = await findBatch(world.db, batch.id);
  if (!found) throw new Error('The batch is gone.');
  return found;
}

/** Reads when the first bundle was recorded, with the approval in it. */
async function readBeginning({ db }: World, { id }: Batch): Promise<Date> {
  const query = db.selectFrom('batches').select('execution_began_at').where('id', '=', id);
  const { execution_began_at: beganAt } = await query.executeTakeFirstOrThrow();
  if (beganAt === null) throw new Error('The execution has not begun.');
  return beganAt;
}

async function approvalOf(world: World, { apiKey }: TestProject, { id }: Batch): Promise<string> {
  return requireOk(await getBatch(world.url, apiKey, id, '?include=approval')).proposalApproveTx;
}

/** Lists every account that approving and executing a batch may use. */
function accountsOf(batch: Batch, multisig: Multisig): Address[] {
  const groups = batch.pipelines.map((pipeline, position) =>
    executionGroup(multisig, { batchIndex: batch.batchIndex, position }, pipeline, 0),
  );
  const named = groups
    .flatMap(({ instructions }) => instructions)
    .flatMap(({ accounts = [] }) => accounts.map((account) => account.address));
  return [
    ...new Set([
      ...named,
      multisig.address,
      transactionAddress(multisig.address, batch.batchIndex),
      proposalAddress(multisig.address, batch.batchIndex),
      multisig.lookupTable.address,
      multisig.operator,
      multisig.company,
      multisig.wallet,
      batch.nonce.address,
      ...TIP_ACCOUNTS,
    ]),
  ];
}

async function readAccounts({ rpc }: World, addresses: readonly Address[]): Promise<EncodedAccount[]> {
  const accounts: EncodedAccount[] = [];
  for (let i = 0; i < addresses.length; i += MAX_ACCOUNTS) {
    const found = await fetchEncodedAccounts(rpc, addresses.slice(i, i + MAX_ACCOUNTS), { commitment: 'confirmed' });
    // LiteSVM has the programs already.
    for (const account of found) if (account.exists && !account.executable) accounts.push(account);
  }
  return accounts;
}

/** Maximum of getMultipleAccounts (Solana RPC). */
const MAX_ACCOUNTS = 100;

/** Measures the milliseconds that LiteSVM takes for the transactions in sequence, on a state of its own. */
function replay(before: readonly EncodedAccount[], transactions: readonly Transaction[], { localnet }: World): number {
  const svm = new LiteSVM().withBlockhashCheck(false).withTransactionHistory(0n);
  const program = localnet.program === 'emulation' ? 'emulation' : process.env.FLYWHEEL_SQUADS_PROGRAM;
  const runtime = createSquadsRuntime(svm, findSquadsProgram(program));
  for (const account of before) svm.setAccount(account);
  svm.warpToSlot(REPLAY_SLOT);
  const start = performance.now();
  for (const transaction of transactions) {
    const { err } = runtime.execute(transaction);
    if (err !== null) throw new Error(`A transaction that landed fails in the replay: ${JSON.stringify(err)}`);
  }
  return performance.now() - start;
}

/** After the slot in which the lookup table was extended, so that it can be used. */
const REPLAY_SLOT = 1_000_000n;
