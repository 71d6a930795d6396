import { randomUUID } from 'node:crypto';
import type { BatchDetail, BatchProgress, WithdrawalRequest } from '@flywheel/api';
import { type Answer, send } from '../client.ts';
import { until } from '../execution/batches.ts';
import { requireOk, signWith, type TestProject } from '../project.ts';
import type { World } from '../world.ts';

type Owner = Pick<TestProject, 'projectId' | 'cookie' | 'wallet'>;

export function withdraw(
  { url }: Pick<World, 'url'>,
  { projectId, cookie }: Pick<Owner, 'projectId' | 'cookie'>,
  body: WithdrawalRequest | Readonly<Record<string, unknown>>,
  idempotencyKey: string = randomUUID(),
): Promise<Answer> {
  const headers = { cookie, 'x-idempotency-key': idempotencyKey };
  return send(url, 'POST', `/console/api/projects/${projectId}/withdrawals`, { headers, body });
}

/** As `withdraw`, on chain whole; answers the batch's id. */
export async function setUpWithdrawal(
  world: Pick<World, 'url'>,
  project: Owner,
  body: WithdrawalRequest,
): Promise<string> {
  const { batchId } = requireOk(await withdraw(world, project, body));
  await untilWithdrawal(world, project, batchId, ({ batch }) => batch.status === 'FINALIZED');
  return batchId;
}

/** Hands in the approval that the project's wallet has signed: a person of the company is asked next. */
export async function approve(world: Pick<World, 'url'>, project: Owner, batchId: string): Promise<Answer> {
  const path = `/console/api/projects/${project.projectId}/batches/${batchId}`;
  const headers = { cookie: project.cookie };
  const { proposalApproveTx } = requireOk(await send(world.url, 'GET', `${path}/approval`, { headers }));
  const body = { signedTx: await signWith(project.wallet, proposalApproveTx) };
  return send(world.url, 'POST', `${path}/execute`, { headers, body });
}

/** Approves, as an operator of the company, what the project's wallet has approved. */
export function approveForCompany(
  { url }: Pick<World, 'url'>,
  companyCookie: string,
  batchId: string,
): Promise<Answer> {
  const path = `/console/api/company/batches/${batchId}/approve`;
  return send(url, 'POST', path, { headers: { cookie: companyCookie }, body: {} });
}

export function untilWithdrawal(
  world: Pick<World, 'url'>,
  project: Pick<Owner, 'projectId' | 'cookie'>,
  batchId: string,
  isWanted: (progress: BatchProgress) => boolean,
): Promise<BatchProgress> {
  const read = async () => requireOk(await readBatches(world, project, `/${batchId}/progress`));
  return until(`withdrawal ${batchId}`, read, isWanted);
}

export async function readWithdrawal(
  world: Pick<World, 'url'>,
  project: Pick<Owner, 'projectId' | 'cookie'>,
  batchId: string,
): Promise<BatchDetail> {
  return requireOk(await readBatches(world, project, `/${batchId}`));
}

function readBatches(
  { url }: Pick<World, 'url'>,
  { projectId, cookie }: Pick<Owner, 'projectId' | 'cookie'>,
  path: string,
): Promise<Answer> {
  return send(url, 'GET', `/console/api/projects/${projectId}/batches${path}`, { headers: { cookie } });
}
