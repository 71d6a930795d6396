import { findBatch } from '@flywheel/service/internal/store/batches/batches.ts';
import { findProofsByHash, findProofsBySignature } from '@flywheel/service/internal/store/batches/proofs.ts';
import { getBatch, getCurrent, init, send } from '@flywheel/testing/client';
import { requireOk } from '@flywheel/testing/project';
import { makePipelines } from '../init.ts';
import { CYCLE, copyHash, copyId, copyKey, copySignature, templateOf } from './fill.ts';
import { LARGEST, type PastWorld } from './worlds.ts';

/** The requests that are measured on a database with a past. The sample counts from 1. */
export type Request = (past: PastWorld, sample: number) => Promise<unknown>;

/** In the order in which they are measured: an init leaves an open batch. */
export const REQUESTS: Readonly<Record<string, Request>> = {
  '`current`, none open': async ({ world, project }) => requireOk(await getCurrent(world.url, project.apiKey)),
  'init of 10 pipelines': async (past) => {
    const { world, project } = past;
    past.newestId = requireOk(await init(world.url, project.apiKey, await makePipelines())).batch.id;
  },
  '`current`, some open': async ({ world, project }) => requireOk(await getCurrent(world.url, project.apiKey)),
  'init replayed by its idempotency key': async (past, sample) => {
    const { world, project, templates } = past;
    const n = pick(past, sample);
    requireOk(await init(world.url, project.apiKey, templateOf(templates, n).pipelines, copyKey(n)));
  },
  'get of a batch': (past, sample) => get(past, pick(past, sample), ''),
  'get with pipelines': (past, sample) => get(past, pickSmall(past, sample), '?include=pipelines'),
  // Not by HTTP, which limits the pipelines that a key reads in ten seconds.
  [`a batch with its ${LARGEST} pipelines from the store`]: ({ world, ...past }, sample) =>
    findBatch(world.db, copyId(pickLargest(past, sample))),
  'list, first page': (past) => list(past, ''),
  'list, a page in the middle': (past, sample) => list(past, `?cursor=b${Math.max(25, pick(past, sample))}`),
  'list, the last page': (past) => list(past, '?cursor=b25'),
  'list of failed ones': (past) => list(past, '?status=FAILED'),
  'events of a batch, the whole stream': async ({ world, project, ...past }, sample) => {
    const url = new URL(`/v1/flywheel/batch/${copyId(pick(past, sample))}/events`, world.url);
    const answer = await fetch(url, { headers: { 'x-service-api-key': project.apiKey } });
    if (!(await answer.text()).includes('batch.closed'))
      throw new Error(`Answered ${answer.status} without the last event.`);
  },
  'proof by the hash of its payload': async ({ world, ...past }, sample) => {
    const found = await findProofsByHash(world.db, [copyHash(pick(past, sample), 3)], 10);
    if (found.length !== 1) throw new Error(`${found.length} proofs were found by a hash.`);
  },
  'proof by the transaction of its pipeline': async ({ world, signature, ...past }, sample) => {
    // Of copies of the first template.
    const n = pick(past, sample);
    const found = await findProofsBySignature(world.db, copySignature(n - (n % CYCLE), signature), 20);
    if (found.length === 0) throw new Error('No proof was found by a signature.');
  },
  'console: overview': ({ project, ...past }) => ask(past, project.cookie, `/projects/${project.projectId}`),
  'console: first page of batches': ({ project, ...past }) =>
    ask(past, project.cookie, `/projects/${project.projectId}/batches`),
  'console: a batch': ({ project, ...past }, sample) =>
    ask(past, project.cookie, `/projects/${project.projectId}/batches/${copyId(pick(past, sample))}`),
  'console: rotations': ({ project, ...past }) => ask(past, project.cookie, `/projects/${project.projectId}/rotations`),
  'badge: figures of a vault': ({ project, ...past }) => ask(past, '', `/vaults/${project.vaultAddress}`),
  'company: overview': (past) => ask(past, past.companyCookie, '/company'),
  'company: projects': (past) => ask(past, past.companyCookie, '/company/projects'),
  'company: waiting batches': (past) => ask(past, past.companyCookie, '/company/waiting'),
  'company: review of a batch': (past) => ask(past, past.companyCookie, `/company/batches/${past.newestId}/review`),
};

async function get({ world, project }: PastWorld, n: number, query: string): Promise<unknown> {
  return requireOk(await getBatch(world.url, project.apiKey, copyId(n), query));
}

async function list({ world, project }: PastWorld, query: string): Promise<unknown> {
  return requireOk(await send(world.url, 'GET', `/v1/flywheel/batches${query}`, { key: project.apiKey }));
}

async function ask({ world }: Pick<PastWorld, 'world'>, cookie: string, path: string): Promise<unknown> {
  return requireOk(await send(world.url, 'GET', `/console/api${path}`, { headers: { cookie } }));
}

type Copies = Pick<PastWorld, 'first' | 'copies'>;

/** A copy that no sample before has read, from all over the year. */
function pick({ first, copies }: Copies, sample: number): number {
  return first + Math.floor(copies * ((sample * GOLDEN) % 1));
}

/** A copy of one of the two smallest templates, which come first in a cycle. */
function pickSmall(past: Copies, sample: number): number {
  const n = pick(past, sample);
  return n - (n % CYCLE) + (n % 16);
}

/** A copy of the largest template, the last one of a cycle. */
function pickLargest(past: Copies, sample: number): number {
  const n = pick(past, sample);
  return n - (n % CYCLE) + CYCLE - 1;
}

const GOLDEN = 0.618_033_988_75;
