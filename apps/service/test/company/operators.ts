import { type Answer, send } from '@flywheel/testing/client';
import type { Decider } from '@flywheel/testing/decisions';
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
