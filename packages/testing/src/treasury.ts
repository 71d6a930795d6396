import { randomUUID } from 'node:crypto';
import { type BatchDetail, type BatchProgress, rotationMessage, type WithdrawalRequest } from '@flywheel/api';
import { createSignableMessage, getBase58Decoder, type KeyPairSigner } from '@solana/kit';
import { waitUntil } from './batches.ts';
import { findMultisig } from './chain.ts';
import { type Answer, send } from './client.ts';
import { requireOk, signWith, type TestProject } from './project.ts';
import type { World } from './world.ts';

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

/** Requests a withdrawal and waits for its setup on chain. @returns the batch's id. */
export async function setUpWithdrawal(
  world: Pick<World, 'url'>,
  project: Owner,
  body: WithdrawalRequest,
): Promise<string> {
  const { batchId } = requireOk(await withdraw(world, project, body));
  await waitForWithdrawal(world, project, batchId, ({ batch }) => batch.status === 'FINALIZED');
  return batchId;
}

/** Submits the approval that the project's wallet has signed; a company operator approves next. */
export async function approve(world: Pick<World, 'url'>, project: Owner, batchId: string): Promise<Answer> {
  const path = `/console/api/projects/${project.projectId}/batches/${batchId}`;
  const headers = { cookie: project.cookie };
  const { proposalApproveTx } = requireOk(await send(world.url, 'GET', `${path}/approval`, { headers }));
  const body = { signedTx: await signWith(project.wallet, proposalApproveTx) };
  return send(world.url, 'POST', `${path}/execute`, { headers, body });
}

export function waitForWithdrawal(
  world: Pick<World, 'url'>,
  project: Pick<Owner, 'projectId' | 'cookie'>,
  batchId: string,
  isWanted: (progress: BatchProgress) => boolean,
): Promise<BatchProgress> {
  const read = async () => requireOk(await readBatches(world, project, `/${batchId}/progress`));
  return waitUntil(`withdrawal ${batchId}`, read, isWanted);
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

/** Requests that `to` replaces the project's wallet. `signer` signs the consent of the new wallet. */
export async function rotateWallet(
  world: Pick<World, 'url' | 'db'>,
  project: TestProject,
  to: KeyPairSigner,
  signer: KeyPairSigner = to,
): Promise<Answer> {
  const headers = { cookie: project.cookie, 'x-idempotency-key': randomUUID() };
  const body = { newWallet: to.address, signature: await signRotation(world, project, to, signer) };
  return send(world.url, 'POST', `/console/api/projects/${project.projectId}/rotations`, { headers, body });
}

/** Has the new wallet of a project agree to its rotation. @returns the signature of `signer`, base58. */
export async function signRotation(
  world: Pick<World, 'db'>,
  { projectId }: ProjectId,
  to: KeyPairSigner,
  signer: KeyPairSigner = to,
): Promise<string> {
  const { address: multisig, wallet: from } = await findMultisig(world, { projectId });
  const text = rotationMessage({ projectId, multisig, from, to: to.address });
  const [signatures] = await signer.signMessages([createSignableMessage(text)]);
  const signature = signatures?.[signer.address];
  if (!signature) throw new Error('The new wallet gave no signature.');
  return getBase58Decoder().decode(signature);
}

/** Requests, as an operator of the company, that its present approver replaces a project's one. */
export function rotateCompany(world: Pick<World, 'url'>, project: ProjectId, cookie: string): Promise<Answer> {
  return rotateByCompany(world, `${project.projectId}/rotations`, cookie);
}

/** Requests, as an operator of the company, that the service's present operator replaces a project's one. */
export function rotateOperator(world: Pick<World, 'url'>, project: ProjectId, cookie: string): Promise<Answer> {
  return rotateByCompany(world, `${project.projectId}/rotations/operator`, cookie);
}

type ProjectId = Pick<TestProject, 'projectId'>;

function rotateByCompany({ url }: Pick<World, 'url'>, path: string, cookie: string): Promise<Answer> {
  const headers = { cookie, 'x-idempotency-key': randomUUID() };
  return send(url, 'POST', `/console/api/company/projects/${path}`, { headers, body: {} });
}
