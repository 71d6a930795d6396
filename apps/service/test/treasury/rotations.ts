import { randomUUID } from 'node:crypto';
import { rotationMessage } from '@flywheel/api';
import { createSignableMessage, getBase58Decoder, type KeyPairSigner } from '@solana/kit';
import { type Answer, send } from '../client.ts';
import { multisigOf } from '../execution/chain.ts';
import type { TestProject } from '../project.ts';
import type { World } from '../world.ts';

/** Asks, as the project's wallet, for another to take its place, which `signer` signs for. */
export async function rotateWallet(
  world: World,
  project: TestProject,
  to: KeyPairSigner,
  signer: KeyPairSigner = to,
): Promise<Answer> {
  const { address: multisig } = await multisigOf(world, project);
  const { projectId, wallet } = project;
  const text = rotationMessage({ projectId, multisig, from: wallet.address, to: to.address });
  const [signatures] = await signer.signMessages([createSignableMessage(text)]);
  const signature = signatures?.[signer.address];
  if (!signature) throw new Error('The new wallet gave no signature.');
  const headers = { cookie: project.cookie, 'x-idempotency-key': randomUUID() };
  const body = { newWallet: to.address, signature: getBase58Decoder().decode(signature) };
  return send(world.url, 'POST', `/console/api/projects/${projectId}/rotations`, { headers, body });
}

/** Asks, as an operator of the company, for its present approver to take the place of a project's. */
export function rotateCompany(
  { url }: Pick<World, 'url'>,
  { projectId }: Pick<TestProject, 'projectId'>,
  cookie: string,
): Promise<Answer> {
  const headers = { cookie, 'x-idempotency-key': randomUUID() };
  return send(url, 'POST', `/console/api/company/projects/${projectId}/rotations`, { headers, body: {} });
}
