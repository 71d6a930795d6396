import { setTimeout as sleep } from 'node:timers/promises';
import { seededRandom } from '@flywheel/localnet';
import { openGate } from '@flywheel/testing/gate';
import { skipRetryDelays } from '@flywheel/testing/jobs';
import { observeSend, startProtocolLog } from '@flywheel/testing/protocol-log';
import { openWorld, type World } from '@flywheel/testing/world';
import type { Role } from '../../src/app.ts';
import type { SoakBatch } from './load.ts';
import { assertModelled } from './modelled.ts';
import { assertExact, awaitRest, describeUnfinished, readUnfinished } from './soak.ts';
import { createStoryProject, STORIES, type StoryContext, type StoryProject } from './stories.ts';
import { openWebhookWitness, WITNESS_ENVIRONMENT } from './webhook-witness.ts';
import type { Step } from './workers/stepped-worker.ts';
import { startWorkerPool, type WorkerPool } from './workers/worker-pool.ts';

export interface KillOptions {
  readonly workers: number;
  /** Number of projects; each runs the stories in turn, beginning with another one than its neighbour. */
  readonly projects: number;
  /** Minimum of stories of each project. */
  readonly stories: number;
  /** Minimum of kills. */
  readonly kills: number;
  /** Kill at every step that occurs; otherwise at some. */
  readonly everyStep: boolean;
  /** Random numbers in [0, 1) from a seed, which repeats a run. */
  readonly random: () => number;
}

export interface Killings {
  readonly batches: number;
  /** Says how many steps the model of the landing protocol has accepted, or why none were compared. */
  readonly modelCheck: string;
  readonly atRandom: number;
  /** How often processes died at each step that occurred. */
  readonly atSteps: ReadonlyMap<string, number>;
}

const HTTP_ONLY: ReadonlySet<Role> = new Set(['http']);
/** A dead worker's job is taken over within heartbeat (10 s), supervision and retry; the last ones died just before. */
const REST_SECONDS = 120;
/** A run of few kills takes a minute; the runner would end it without a word after five. */
const SECONDS = { few: 200, everyStep: 3 * 3_600 };

/**
 * Runs every story of a batch while worker processes are killed with SIGKILL, at the steps of their jobs and at random
 * moments, each replaced at once. Then asserts that every token has moved exactly once, that nothing is left behind,
 * that every project's webhook received the end of every batch, and that the model of the landing protocol has a run
 * with the same steps.
 */
export async function soakKills(options: KillOptions): Promise<Killings> {
  const world = await openWorld({ LOG_LEVEL: 'fatal', ...WITNESS_ENVIRONMENT }, { roles: HTTP_ONLY });
  const witness = await openWebhookWitness(seededRandom(Math.floor(options.random() * 2 ** 31)));
  await startProtocolLog(world);
  const gate = await openGate(world.localnet, (call) => observeSend(world, call));
  const killer = createKiller(options);
  const pool = startWorkerPool(world, { ...world.environment, ...gate.environment }, options.workers, killer.decide);
  const ending = new AbortController();
  try {
    await pool.ready();
    const projects: StoryProject[] = [];
    for (let i = 0; i < options.projects; i++) {
      const project = await createStoryProject(world);
      await witness.follow(world, project);
      projects.push(project);
    }
    const background = Promise.all([skipRetryDelays(world, ending.signal), killer.killAtRandom(pool, ending.signal)]);
    const context = { world, actAtStep: killer.actAtStep };
    const stories = Promise.all(
      projects.map((project, first) =>
        runStories(context, project, { first, least: options.stories, isEnough: killer.isEnough }),
      ),
    );
    const seconds = options.everyStep ? SECONDS.everyStep : SECONDS.few;
    const done = await Promise.race([stories, failAfter(world, seconds, { killer, signal: ending.signal })]);
    await pool.ready();
    await awaitRest(world, REST_SECONDS);
    ending.abort();
    await background;
    const batches = done.flat();
    await assertExact(world, { projects, batches });
    await witness.assertDelivered(world, batches);
    const modelCheck = await assertModelled(world, { hasFaults: false });
    return { modelCheck, batches: batches.length, atRandom: killer.atRandom(), atSteps: killer.atSteps };
  } finally {
    ending.abort();
    await pool.stop();
    await gate.stop();
    await world.stop();
    await witness.close();
  }
}

async function failAfter(
  world: World,
  seconds: number,
  { killer, signal }: { readonly killer: ReturnType<typeof createKiller>; readonly signal: AbortSignal },
): Promise<never> {
  await sleep(seconds * 1_000, undefined, { signal });
  const left = await describeUnfinished(world, await readUnfinished(world));
  throw new Error(
    `The stories have not ended after ${seconds} s; seen: ${[...killer.atSteps.keys()].join(', ')}; ${left}`,
  );
}

/** Runs all stories of a project, beginning with the one of that number. */
async function runStories(
  context: StoryContext,
  project: StoryProject,
  { first, least, isEnough }: { readonly first: number; readonly least: number; readonly isEnough: () => boolean },
): Promise<SoakBatch[]> {
  const stories = Object.values(STORIES);
  const batches: SoakBatch[] = [];
  for (let count = 0; count < least || !isEnough(); count += 1) {
    const run = stories[(first + count) % stories.length];
    if (!run) throw new Error('There are no stories.');
    batches.push(...(await run(context, project)));
  }
  return batches;
}

/** A low probability, so that a short run has kills left for its end. */
const SOME_STEPS_PROBABILITY = 0.1;

function createKiller({ kills, everyStep, random }: KillOptions) {
  const atSteps = new Map<string, number>();
  const cues: { readonly isAt: (step: Step) => boolean; readonly act: (step: Step) => Promise<void> }[] = [];
  let atRandom = 0;
  const isEnough = () => [...atSteps.values()].reduce((sum, times) => sum + times, atRandom) >= kills;

  const actAtStep: StoryContext['actAtStep'] = (multisig, isWanted, act) =>
    new Promise((resolve, reject) => {
      cues.push({
        isAt: (step) => step.job.multisig === multisig && isWanted(step),
        act: (step) => act(step).then(resolve, reject),
      });
    });
  const decide = async (step: Step): Promise<'go on' | 'die'> => {
    const cued = cues.find(({ isAt }) => isAt(step));
    if (cued) cues.splice(cues.indexOf(cued), 1);
    await cued?.act(step);
    const times = atSteps.get(step.name) ?? 0;
    const dies = times === 0 && (everyStep || (!isEnough() && random() < SOME_STEPS_PROBABILITY));
    atSteps.set(step.name, times + (dies ? 1 : 0));
    return dies ? 'die' : 'go on';
  };
  const killAtRandom = async (pool: WorkerPool, signal: AbortSignal): Promise<void> => {
    while (!signal.aborted && !isEnough()) {
      await sleep(500 + random() * 3_000);
      // On a busy machine a worker starts for longer than that: none would ever get to its jobs.
      await pool.ready();
      await pool.killAny(random);
      atRandom += 1;
    }
  };
  return { actAtStep, decide, killAtRandom, isEnough, atRandom: () => atRandom, atSteps };
}
