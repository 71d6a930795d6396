import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { getBatch, init } from '@flywheel/testing/client';
import { requireOk, type TestProject } from '@flywheel/testing/project';
import { z } from 'zod';
import { type Figures, ms, percent, percentile } from './figures.ts';
import { type HttpRequest, sendLoad } from './http-load.ts';
import { addRules, makePipelines } from './init.ts';
import { createProjects, openSeparateWorld, type SeparateWorld, untilNonces } from './separate-world.ts';

const CLIENTS = 32;
const PROJECTS = 8;
/** Enough for each connection to the database to have its plans: PostgreSQL plans the first five uses of a statement each time. */
const WARM_UP = { init: 160, get: 400 } as const;
/** Requests at one client, then at many. Each init leases a nonce. */
const COUNTS = { init: { one: 60, many: 240 }, get: { one: 500, many: 4_000 } } as const;
/** Inits of each project, with rules and without. */
const RULED = 150;
/** So that no init asks for a refill, which no worker would do. */
const SPARE_NONCES = 200;
const NONCES = WARM_UP.init + COUNTS.init.one + COUNTS.init.many + 2 * (WARM_UP.init + RULED) + SPARE_NONCES;

type Kind = keyof typeof COUNTS;

/** Measures init and get beside a Fastify route with one INSERT or one SELECT of the same bytes, each in a process of its own. */
export async function benchBesideFastify(): Promise<Figures> {
  const world = await openSeparateWorld({ NONCE_POOL_SIZE: String(NONCES), NONCE_POOL_MAX: String(2 * NONCES) });
  try {
    return {
      title: `init of 10 pipelines and get beside bare Fastify, p50 at one client and requests/s at ${CLIENTS}`,
      note: 'Bare Fastify has one route with one statement for the same bytes. Server, PostgreSQL and clients share the machine; no worker runs. All gets are of one key where nothing else is said. Rules as in the part init.',
      rows: await measure(world),
    };
  } finally {
    await world.stop();
  }
}

async function measure(world: SeparateWorld): Promise<[string, string][]> {
  const [ruled, ...projects] = await createProjects(world, 1 + PROJECTS);
  await untilNonces(world, NONCES);
  await world.stopWork();
  const [first] = projects;
  if (!first || !ruled) throw new Error('A project is missing.');
  const created = requireOk(await init(world.url, first.apiKey, await makePipelines()));
  const read = requireOk(await getBatch(world.url, first.apiKey, created.batch.id));
  const others = await Promise.all(
    projects.slice(1).map(async (project) => {
      const { batch } = requireOk(await init(world.url, project.apiKey, await makePipelines()));
      return { project, batchId: batch.id };
    }),
  );
  const ofFirst = { project: first, batchId: created.batch.id };
  const bare = await startBare(world, [JSON.stringify(created), JSON.stringify(read)]);
  try {
    const port = Number(new URL(world.url).port);
    const service = {
      init: async (count: number) => ({ port, requests: await initRequests(projects, count) }),
      get: async (count: number) => ({ port, requests: getRequests([ofFirst], count) }),
    };
    const fastify = {
      init: async (count: number) => {
        const { requests } = await service.init(count);
        return { port: bare.port, requests: requests.map((request) => ({ ...request, path: '/init' })) };
      },
      get: async (count: number) => ({
        port: bare.port,
        requests: Array<HttpRequest>(count).fill({ method: 'GET', path: `/batch/${bare.id}` }),
      }),
    };
    const rows: [string, string][] = [];
    for (const kind of ['init', 'get'] as const) {
      const ours = await timeKind(kind, service[kind]);
      const theirs = await timeKind(kind, fastify[kind]);
      const ratios = `${(theirs.p50 / ours.p50).toFixed(2)} and ${(ours.perSecond / theirs.perSecond).toFixed(2)}`;
      rows.push(
        [`${kind}`, `${ms(ours.p50)}, ${ours.perSecond.toFixed(0)}/s`],
        [`${kind}, bare Fastify`, `${ms(theirs.p50)}, ${theirs.perSecond.toFixed(0)}/s`],
        [`${kind}, ratios`, ratios],
      );
      if (kind === 'get') {
        const spread = await timeKind(kind, async (count) => ({
          port,
          requests: getRequests([ofFirst, ...others], count),
        }));
        const ratio = (spread.perSecond / theirs.perSecond).toFixed(2);
        rows.push([`get with the keys of ${PROJECTS} projects`, `${spread.perSecond.toFixed(0)}/s, ratio ${ratio}`]);
      }
    }
    rows.push(await compareRules(world, first, ruled));
    return rows;
  } finally {
    bare.stop();
  }
}

/** Sends inits of two projects in turn, one client at a time; the second project gets rules before. */
async function compareRules(world: SeparateWorld, plain: TestProject, ruled: TestProject): Promise<[string, string]> {
  await addRules(world, ruled.projectId);
  const requests = await initRequests([plain, ruled], 2 * (WARM_UP.init + RULED));
  const took = await sendLoad({ port: Number(new URL(world.url).port), senders: 1, requests });
  const counted = took.slice(2 * WARM_UP.init);
  const p50Of = (parity: number) =>
    percentile(
      counted.filter((_, index) => index % 2 === parity),
      0.5,
    );
  const [without, withRules] = [p50Of(0), p50Of(1)];
  const more = withRules - without;
  return [
    'init with rules of the company, one client',
    `${ms(withRules)}, ${ms(more)} or ${percent(more, without)} more`,
  ];
}

type Source = (count: number) => Promise<{ readonly port: number; readonly requests: readonly HttpRequest[] }>;

async function timeKind(kind: Kind, source: Source): Promise<{ readonly p50: number; readonly perSecond: number }> {
  const run = async (count: number, senders: number) => {
    const { port, requests } = await source(count);
    const start = performance.now();
    const took = await sendLoad({ port, senders, requests });
    return { took, perSecond: (1_000 * count) / (performance.now() - start) };
  };
  await run(WARM_UP[kind], CLIENTS);
  const { took } = await run(COUNTS[kind].one, 1);
  const { perSecond } = await run(COUNTS[kind].many, CLIENTS);
  return { p50: percentile(took, 0.5), perSecond };
}

function initRequests(projects: readonly TestProject[], count: number): Promise<HttpRequest[]> {
  return Promise.all(
    Array.from({ length: count }, async (_, index) => ({
      method: 'POST' as const,
      path: '/v1/flywheel/batch/init',
      headers: { ...keyOf(projects[index % projects.length]), 'x-idempotency-key': randomUUID() },
      body: JSON.stringify({ pipelines: await makePipelines() }),
    })),
  );
}

/** Reads batches in turn. */
function getRequests(
  batches: readonly { readonly project: TestProject; readonly batchId: string }[],
  count: number,
): HttpRequest[] {
  const requests = batches.map(({ project, batchId }) => ({
    method: 'GET' as const,
    path: `/v1/flywheel/batch/${batchId}`,
    headers: keyOf(project),
  }));
  const rounds = Array.from({ length: Math.ceil(count / requests.length) }, () => requests);
  return rounds.flat().slice(0, count);
}

function keyOf(project: TestProject | undefined): Readonly<Record<string, string>> {
  return { 'x-service-api-key': project?.apiKey ?? '' };
}

async function startBare({ databaseUrl }: SeparateWorld, answers: readonly string[]) {
  const child = fork(fileURLToPath(new URL('bare-fastify.ts', import.meta.url)), [databaseUrl, ...answers]);
  const [ready] = await once(child, 'message');
  return { ...z.object({ port: z.number(), id: z.string() }).parse(ready), stop: () => child.kill() };
}
