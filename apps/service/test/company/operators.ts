import { type Answer, send } from '@flywheel/testing/client';
import { openGatedWorld } from '@flywheel/testing/gate';
import { createProject, type ProjectOptions, requireOk, signIn, type TestProject } from '@flywheel/testing/project';
import type { World } from '@flywheel/testing/world';
import { generateKeyPairSigner } from '@solana/kit';

/** A person who acts for the company. */
export interface Operator {
  readonly address: string;
  /** Session of the operator's wallet, as a Cookie header. */
  readonly cookie: string;
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
    wallets.map(async (wallet) => ({ address: wallet.address, cookie: await signIn(world.url, wallet) })),
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

export function approve(world: Pick<World, 'url'>, operator: Pick<Operator, 'cookie'>, batchId: string) {
  return askCompany(world, operator, 'POST', `batches/${batchId}/approve`, {});
}

export function reject(world: Pick<World, 'url'>, operator: Pick<Operator, 'cookie'>, batchId: string, reason: string) {
  return askCompany(world, operator, 'POST', `batches/${batchId}/reject`, { reason });
}

/** Pauses or resumes one project, or all of them. */
export async function setPause(
  world: Pick<World, 'url'>,
  operator: Pick<Operator, 'cookie'>,
  project: Pick<TestProject, 'projectId'> | 'all',
  isPaused: boolean,
  reason?: string,
): Promise<void> {
  const path = project === 'all' ? 'pause' : `projects/${project.projectId}/pause`;
  const body = { isPaused, ...(reason !== undefined && { reason }) };
  const answer = requireOk(await askCompany(world, operator, 'PUT', path, body));
  if (answer.isPaused !== isPaused) throw new Error(`Answered ${JSON.stringify(answer)}.`);
}
