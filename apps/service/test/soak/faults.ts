import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from '@flywheel/localnet';
import { isClusterShared } from '@flywheel/testing/cluster';
import { type CallHandler, type Gate, openGate } from '@flywheel/testing/gate';
import { skipRetryDelays } from '@flywheel/testing/jobs';
import { createProject, type TestProject } from '@flywheel/testing/project';
import { observeSend, startProtocolLog } from '@flywheel/testing/protocol-log';
import { finalizeSlots } from '@flywheel/testing/slots';
import { openWorld, type World } from '@flywheel/testing/world';
import { askToExecute, initialize, type SoakBatch, VAULT_BASE_UNITS } from './load.ts';
import { assertModelled } from './modelled.ts';
import { assertExact, awaitRest } from './soak.ts';

export interface FaultOptions {
  readonly projects: number;
  readonly batches: number;
  readonly pipelinesPerBatch: number;
  /** Without a block engine, transactions are sent over RPC in order. */
  readonly hasBlockEngine: boolean;
  /** Random numbers in [0, 1) from a seed, which repeats a run. */
  readonly random: () => number;
}

/** The faults end after this time: a batch of eight pipelines takes about a second on a healthy cluster. */
const FAULTS_MS = 12_000;
const FAULTS_MS_PER_BATCH = 1_000;
/**
 * A transaction that was lost last is sent again after its blockhash expires, and a hanging request is repeated after
 * 10 s, four times.
 */
const REST_SECONDS = 180;

/**
 * Executes batches while the cluster loses bundles, lands parts of them, and answers late, twice, wrongly or not at
 * all, in random combinations; then asserts that every token has moved exactly once and that nothing is left behind, and
 * that the model of the landing protocol has a run with the same steps.
 * @returns how often each fault was injected.
 */
export async function soakFaults(
  options: FaultOptions,
): Promise<{ readonly turned: ReadonlyMap<Knob, number>; readonly modelCheck: string }> {
  const { hasBlockEngine } = options;
  const world = await openWorld({ LOG_LEVEL: 'fatal' });
  await startProtocolLog(world);
  const gate = await openGate(world.localnet, (call) => observeSend(world, call));
  const ending = new AbortController();
  try {
    await world.restart({ ...gate.environment, ...(!hasBlockEngine && { JITO_BLOCK_ENGINE_URL: '' }) });
    const projects: TestProject[] = [];
    for (let i = 0; i < options.projects; i++) {
      projects.push(await createProject(world, { vaultBaseUnits: VAULT_BASE_UNITS }));
    }
    // A multisig that a fork takes away is not created again.
    await finalizeSlots(world);
    const background = Promise.all([injectFaults(world, gate, options), skipRetryDelays(world, ending.signal)]);
    const batches = await load(world, projects, options);
    await awaitRest(world, FAULTS_MS / 1_000 + (options.batches * FAULTS_MS_PER_BATCH) / 1_000 + REST_SECONDS);
    ending.abort();
    const [turned] = await background;
    await assertExact(world, { projects, batches });
    return { turned, modelCheck: await assertModelled(world, { hasFaults: true }) };
  } finally {
    ending.abort();
    gate.clear();
    if (!isClusterShared) world.localnet.faults.clear();
    await world.stop();
    await gate.stop();
  }
}

/** Initializes and executes batches, round robin over the projects. */
async function load(
  world: World,
  projects: readonly TestProject[],
  { batches: count, pipelinesPerBatch }: FaultOptions,
): Promise<SoakBatch[]> {
  const batches: SoakBatch[] = [];
  for (let i = 0; i < count; i++) {
    const project = projects[i % projects.length];
    if (!project) throw new Error('A load takes a project.');
    const { batch, proposalApproveTx } = await initialize(world, project, pipelinesPerBatch);
    await askToExecute(world, project, batch.id, proposalApproveTx);
    batches.push({ ...batch, fate: 'executed' });
  }
  return batches;
}

/** Faults on the way to any cluster, and slots that pass. */
const ROAD_KNOBS = ['refuse', 'hold', 'land and time out', 'land and hang up', 'expire blockhashes'] as const;
/** Faults of the cluster itself. */
const CLUSTER_KNOBS = [
  ...(['drop', 'partLand', 'duplicate', 'wrongStatus', 'error', 'delay', 'hang', 'behind', 'forgetHistory'] as const),
  'fork',
  'drop WebSockets',
] as const satisfies readonly (Fault['kind'] | 'fork' | 'drop WebSockets')[];

export type Knob = (typeof ROAD_KNOBS)[number] | (typeof CLUSTER_KNOBS)[number];

export const KNOBS: readonly Knob[] = isClusterShared ? ROAD_KNOBS : [...CLUSTER_KNOBS, ...ROAD_KNOBS];

const METHODS = [
  'getSignatureStatuses',
  'getMultipleAccounts',
  'getLatestBlockhash',
  'getBlockHeight',
  'getInflightBundleStatuses',
  'simulateTransaction',
  '*',
];
const STATUS_METHODS = ['getSignatureStatuses', 'getBundleStatuses', 'getInflightBundleStatuses'] as const;
/** A little longer than the service waits for an answer. */
const PAST_TIMEOUT_MS = 10_500;

/** Injects every fault in turn, in another order each time, until the time is over. */
async function injectFaults(
  { localnet }: World,
  gate: Gate,
  { batches, hasBlockEngine, random }: FaultOptions,
): Promise<ReadonlyMap<Knob, number>> {
  const faults = isClusterShared ? null : localnet.faults;
  const send = hasBlockEngine ? 'sendBundle' : 'sendTransaction';
  const pick = <T>(choices: readonly T[]): T => {
    const choice = choices[Math.floor(random() * choices.length)];
    if (choice === undefined) throw new Error('There is nothing to pick from.');
    return choice;
  };
  const times = () => 1 + Math.floor(random() * 3);
  const turn: Readonly<Record<Knob, () => void | Promise<void>>> = {
    refuse: () => answerNot(gate, pick([send, ...METHODS]), times()),
    hold: () => delayAnswers(gate, pick([send, ...METHODS]), times(), Math.floor(random() * 400)),
    drop: () => faults?.set({ kind: 'drop', method: send, times: times() }),
    partLand: () => faults?.set({ kind: 'partLand', method: 'sendBundle', landed: times(), times: times() }),
    duplicate: () => faults?.set({ kind: 'duplicate', method: send, times: times() }),
    wrongStatus: () => {
      const lie = pick(['unknown', 'failed'] as const);
      faults?.set({ kind: 'wrongStatus', method: pick(STATUS_METHODS), lie, times: times() });
    },
    error: () => {
      const method = pick([send, ...METHODS]);
      faults?.set({ kind: 'error', method, status: pick([429, 500] as const), times: times() });
    },
    delay: () => {
      const method = pick([send, ...METHODS]);
      faults?.set({ kind: 'delay', method, delayMs: Math.floor(random() * 400), times: times() });
    },
    hang: () => faults?.set({ kind: 'hang', method: pick([send, ...METHODS]), times: 1 }),
    // Two nodes behind one URL, the second of them late or with a short memory.
    behind: () => faults?.set({ kind: 'behind', method: '*', slots: [0, Math.floor(random() * 200)], times: 20 }),
    forgetHistory: () =>
      faults?.set({ kind: 'forgetHistory', method: '*', slots: Math.floor(random() * 200), times: 3 * times() }),
    fork: () => localnet.fork(),
    'drop WebSockets': () => localnet.dropWebSockets(),
    'land and time out': () => delayAnswers(gate, send, 1, PAST_TIMEOUT_MS),
    'land and hang up': () => hangUpOn(gate, send, times()),
    'expire blockhashes': () => localnet.warp({ slots: 151n }),
  };
  const turned = new Map<Knob, number>();
  const end = Date.now() + FAULTS_MS + batches * FAULTS_MS_PER_BATCH;
  // On a busy machine the time is over before each has been turned.
  for (let deck: Knob[] = []; Date.now() < end || turned.size < KNOBS.length; ) {
    if (deck.length === 0) deck = [...KNOBS];
    const [knob = 'drop'] = deck.splice(Math.floor(random() * deck.length), 1);
    await turn[knob]();
    turned.set(knob, (turned.get(knob) ?? 0) + 1);
    await sleep(100 + random() * 900);
  }
  gate.clear();
  faults?.clear();
  // Lost transactions expire at once.
  await localnet.warp({ slots: 151n });
  return turned;
}

/** Forwards requests and never answers them. */
function hangUpOn(gate: Gate, method: string, times: number): void {
  interceptSome(gate, method, times, async (pass) => {
    await pass();
    return 'hang up';
  });
}

/** Neither forwards requests nor answers them. */
function answerNot(gate: Gate, method: string, times: number): void {
  interceptSome(gate, method, times, async () => 'hang up');
}

/** Forwards requests at once and answers them late. */
function delayAnswers(gate: Gate, method: string, times: number, delayMs: number): void {
  interceptSome(gate, method, times, async (pass) => {
    const answer = await pass();
    await sleep(delayMs);
    return answer;
  });
}

type Pass = Parameters<CallHandler>[1];

function interceptSome(
  gate: Gate,
  method: string,
  times: number,
  handle: (pass: Pass) => ReturnType<CallHandler>,
): void {
  let left = times;
  gate.intercept(method, (_call, pass) => {
    left -= 1;
    return left < 0 ? pass() : handle(pass);
  });
}
