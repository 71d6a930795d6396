import { ApiError, type Approver, type RotateAction, type RotateWalletRequest, rotationMessage } from '@flywheel/api';
import { address, findWalletIssue, isSignedBy, ROTATION_TYPE } from '@flywheel/protocol';
import { decodeMultisig } from '@flywheel/squads';
import type { Address } from '@solana/kit';
import { requireNoHalt } from '../batches/admission.ts';
import { type CreatedBatch, createBatchIdempotently, findBeginning, hashRequest } from '../batches/create-batch.ts';
import type { Deps } from '../batches/deps.ts';
import type { Batch, CompiledPipeline } from '../model/batch.ts';
import type { Project } from '../model/project.ts';
import { encodeReplacement } from '../squads/rotation.ts';
import { findRotations, type RotationRecord, replacementOf } from '../store/batches/rotations.ts';

interface RotationRequest {
  readonly project: Project;
  /** Lowercase. */
  readonly idempotencyKey: string;
}

/**
 * Creates the batch that replaces a project's wallet by another. The present wallet asks; the new one has signed.
 * @throws ApiError ERR_INVALID_REQUEST for an address that is not a wallet's or a signature that does not verify;
 * ERR_ROTATION_REFUSED, ERR_PAUSED; and those of `createBatchIdempotently`.
 */
export async function rotateWallet(
  deps: Deps,
  { project, idempotencyKey, body }: RotationRequest & { readonly body: RotateWalletRequest },
): Promise<CreatedBatch> {
  const { id: projectId, wallet: from, flywheel } = project;
  const { newWallet, signature } = body;
  const problem = findWalletIssue(newWallet);
  if (problem !== null) throw invalid('newWallet', problem);
  const to = address(newWallet);
  const text = rotationMessage({ projectId, multisig: flywheel.multisig.address, from, to });
  if (!(await isSignedBy(to, text, signature))) {
    throw invalid('signature', `is not a signature of ${to} over the message of this rotation.`);
  }
  const rotation = { approver: 'wallet', from, to, evidence: { signature } } as const;
  return rotate(deps, { project, idempotencyKey, actor: from, body, rotation });
}

/**
 * Creates the batch that replaces the company's approver of a project by the key that the service signs with now.
 * @throws ApiError ERR_ROTATION_REFUSED, also when that key is the approver already; ERR_PAUSED; and those of
 * `createBatchIdempotently`.
 */
export async function rotateCompany(
  deps: Deps & { readonly company: Address },
  { project, idempotencyKey, operator }: RotationRequest & { readonly operator: Address },
): Promise<CreatedBatch> {
  const rotation = { approver: 'company', from: project.flywheel.multisig.company, to: deps.company } as const;
  if (rotation.from === rotation.to) throw refused(`the project is approved with ${rotation.to} already.`);
  return rotate(deps, { project, idempotencyKey, actor: operator, body: rotation, rotation });
}

/**
 * Creates the batch that replaces a project's operator by the key that the service works with now.
 * @throws ApiError ERR_ROTATION_REFUSED, also when that key is the operator already; ERR_PAUSED; and those of
 * `createBatchIdempotently`.
 */
export async function rotateOperator(
  deps: Deps & { readonly operator: Address },
  { project, idempotencyKey, actor }: RotationRequest & { readonly actor: Address },
): Promise<CreatedBatch> {
  // A lost operator is still the member to remove, while the recovery key acts in its place.
  const rotation = { approver: 'operator', from: project.flywheel.multisig.rentCollector, to: deps.operator } as const;
  if (rotation.from === rotation.to) throw refused(`${rotation.to} is the operator of the project already.`);
  return rotate(deps, { project, idempotencyKey, actor, body: rotation, rotation });
}

/** Bounds the list; the audit log has all rotations. */
const MAX_LISTED = 100;

/** Lists the open and past rotations of a project, newest first. */
export async function listRotations({ db }: Pick<Deps, 'db'>, { id }: Project): Promise<RotationRecord[]> {
  return findRotations(db, id, MAX_LISTED);
}

/** Converts a rotation's batch to the record that the list shows. */
export function toRotationRecord(batch: Batch): RotationRecord {
  const { id: batchId, status, createdAt, endedAt } = batch;
  return { ...replacementOf(batch), batchId, status, createdAt, endedAt };
}

interface Rotation {
  readonly approver: Approver;
  readonly from: Address;
  readonly to: Address;
  /** Proof that the new approver agreed. */
  readonly evidence?: { readonly signature: string };
}

async function rotate(
  deps: Deps,
  {
    project,
    idempotencyKey,
    actor,
    body,
    rotation,
  }: RotationRequest & { readonly actor: Address; readonly body: unknown; readonly rotation: Rotation },
): Promise<CreatedBatch> {
  const key = { project, kind: 'rotation', idempotencyKey, requestHash: hashRequest(body) } as const;
  const { earlier, halt } = await findBeginning(deps.db, key);
  if (earlier) return earlier;
  requireNoHalt(halt);

  await requireReplaceable(deps, project, rotation);

  const { approver, from, to } = rotation;
  const change = { before: { [approver]: from }, after: { [approver]: to } };
  const audit = { actor, action: 'rotation.requested', ...change } as const;
  return createBatchIdempotently(deps, key, { keyId: null, pipelines: [compileRotation(rotation)], audit });
}

/** Squads would accept such a rotation, and fail only when it is executed. */
async function requireReplaceable(
  { chain }: Deps,
  { flywheel: { multisig } }: Project,
  { from, to }: Rotation,
): Promise<void> {
  const [account] = await chain.accounts([multisig.address]);
  if (!account) throw new Error(`The multisig ${multisig.address} is not on chain.`);
  const members = decodeMultisig(account).members.map(({ key }) => key);
  if (members.includes(to)) throw refused(`${to} is a member of the multisig already.`);
  if (!members.includes(from)) throw refused(`${from} is no longer a member of the multisig ${multisig.address}.`);
}

function compileRotation({ approver, from, to, evidence }: Rotation): CompiledPipeline {
  const action: RotateAction = { action: 'ROTATE', approver, from, to };
  return {
    type: ROTATION_TYPE,
    payload: JSON.stringify({ approver, from, to, ...evidence }),
    actions: [action],
    instructions: [],
    vaultMessage: encodeReplacement({ approver, from, to }),
  };
}

function refused(problem: string): ApiError {
  return new ApiError('ERR_ROTATION_REFUSED', { problem });
}

function invalid(field: keyof RotateWalletRequest, problem: string): ApiError {
  return new ApiError('ERR_INVALID_REQUEST', { place: `body.${field}`, problem });
}
