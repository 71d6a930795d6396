import assert from 'node:assert/strict';
import type { CompanyPolicy } from '@flywheel/api';
import { type Answer, send } from '@flywheel/testing/client';
import { type Decider, resume, setPolicy } from '@flywheel/testing/decisions';
import { openGatedWorld } from '@flywheel/testing/gate';
import { createProject, type ProjectOptions, requireOk, signIn, type TestProject } from '@flywheel/testing/project';
import type { World } from '@flywheel/testing/world';
import { generateKeyPairSigner } from '@solana/kit';

export { approveForCompany as approve, rejectForCompany as reject } from '@flywheel/testing/decisions';

export interface Operator extends Decider {
  readonly address: string;
}

/** Opens a world with two operators of its company. The service reaches the cluster through a gate. */
export async function openCompanyWorld(
  environment: Readonly<Record<string, string>> = {},
  open: typeof openGatedWorld = openGatedWorld,
) {
  const wallets = await Promise.all([generateKeyPairSigner(), generateKeyPairSigner()]);
  const own = { COMPANY_OPERATORS: wallets.map(({ address }) => address).join(','), ...environment };
  const world = await open(own);
  const [first, second] = await Promise.all(
    wallets.map(async (wallet) => ({ wallet, address: wallet.address, cookie: await signIn(world.url, wallet) })),
  );
  if (!first || !second) throw new Error('A company of the tests has two operators.');
  return { world, operators: [first, second] as const satisfies readonly Operator[] };
}

export function createManualProject(world: World, options: ProjectOptions = {}): Promise<TestProject> {
  return createProject(world, { approvalMode: 'manual', ...options });
}

/** Calls an operation of the company in the console API, e.g. `waiting`. */
export function askCompany(
  { url }: Pick<World, 'url'>,
  { cookie }: Pick<Operator, 'cookie'>,
  method: 'GET' | 'POST' | 'PUT',
  path: string,
  body?: unknown,
): Promise<Answer> {
  const options = body === undefined ? {} : { body };
  return send(url, method, `/console/api/company${path === '' ? '' : `/${path}`}`, { headers: { cookie }, ...options });
}

/** Sets the company's rules for a project. */
export async function setRules(
  world: World,
  operator: Operator,
  project: TestProject,
  policy: CompanyPolicy,
): Promise<void> {
  requireOk(await setPolicy(world, operator, project, policy));
}

/** Pauses or resumes one project, or all of them. */
export async function setPause(
  world: World,
  operator: Operator,
  project: Pick<TestProject, 'projectId'> | 'all',
  isPaused: boolean,
  reason?: string,
): Promise<void> {
  const projectId = project === 'all' ? null : project.projectId;
  const path = projectId === null ? 'pause' : `projects/${projectId}/pause`;
  const answer = await (isPaused
    ? askCompany(world, operator, 'PUT', path, { ...(reason !== undefined && { reason }) })
    : resume(world, operator, projectId));
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  assert.deepEqual(answer.body, { isPaused });
}

/** Reads how often the worker of a world with METRICS_PORT has refused to sign for a reason. */
export async function countRefusals({ app }: World, reason: string): Promise<number> {
  assert.ok(app.metricsUrl);
  const text = await (await fetch(app.metricsUrl)).text();
  return Number(text.match(`flywheel_refused_to_sign_total{reason="${reason}"} (\\d+)`)?.[1]);
}
