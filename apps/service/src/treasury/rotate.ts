import { ApiError, type Approver, type RotateAction, type RotateWalletRequest, rotationMessage } from '@flywheel/api';
import { type Address, isAddress, isOffCurveAddress } from '@solana/kit';
import type { Deps } from '../batches/deps.ts';
import { type StoredBatch, storeOnce } from '../batches/store-once.ts';
import type { CompiledPipeline } from '../model/batch.ts';
import type { Project } from '../model/project.ts';
import { utcDay } from '../model/utc-day.ts';
import { isSignedBy } from '../projects/sign-in.ts';
import { decodeMultisig } from '../squads/accounts.ts';
import { encodeReplacement } from '../squads/rotation/config-transaction.ts';
import { insertAuditEntry } from '../store/audit.ts';
import { findOpenIds } from '../store/batches/rotations.ts';
import type { Db } from '../store/db.ts';

interface Asked {
  readonly project: Project;
  /** Lowercase. */
  readonly idempotencyKey: string;
}

/**
 * Begins to replace a project's wallet, as its present one asks and the new one has signed.
 * @throws ApiError ERR_INVALID_REQUEST for a wallet that cannot be one or has not signed; ERR_ROTATION_REFUSED,
 * ERR_DUPLICATE_IDEMPOTENCY_KEY, ERR_PAUSED, ERR_NONCE_POOL_EMPTY
 */
export async function rotateWallet(
  deps: Deps,
  { project, idempotencyKey, body }: Asked & { readonly body: RotateWalletRequest },
): Promise<StoredBatch> {
  const { id: projectId, wallet: from, flywheel } = project;
  const { newWallet: to, signature } = body;
  if (!isAddress(to)) throw invalid('newWallet', 'is no address: base58 of 32 bytes is needed.');
  if (isOffCurveAddress(to)) throw invalid('newWallet', `${to} is off the curve: no wallet has this address.`);
  const text = rotationMessage({ projectId, multisig: flywheel.multisig.address, from, to });
  if (!(await isSignedBy(to, text, signature))) {
    throw invalid('signature', `is not ${to}’s over the text that says what it takes over.`);
  }
  const rotation = { approver: 'wallet', from, to, evidence: { signature } } as const;
  return rotate(deps, { project, idempotencyKey, actor: from, body, rotation });
}

/**
 * Begins to replace the company's approver of a project by the one that the service signs with now.
 * @throws ApiError ERR_ROTATION_REFUSED also when that is the same one; else as `rotateWallet`.
 */
export async function rotateCompany(
  deps: Deps & { readonly company: Address },
  { project, idempotencyKey, operator }: Asked & { readonly operator: Address },
): Promise<StoredBatch> {
  const rotation = { approver: 'company', from: project.flywheel.multisig.company, to: deps.company } as const;
  if (rotation.from === rotation.to) throw refused(`the project is approved with ${rotation.to} already.`);
  return rotate(deps, { project, idempotencyKey, actor: operator, body: rotation, rotation });
}

/** The proof type that a rotation's record names. */
const ROTATION_TYPE = 'ROTATE';

interface Rotation {
  readonly approver: Approver;
  readonly from: Address;
  readonly to: Address;
  /** What shows that the new one agreed. */
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
  }: Asked & { readonly actor: Address; readonly body: unknown; readonly rotation: Rotation },
): Promise<StoredBatch> {
  return storeOnce(
    deps,
    { project, kind: 'rotation', idempotencyKey, body },
    {
      compile: async () => {
        await requireReplaceable(deps, project, rotation);
        return [compileRotation(rotation)];
      },
      admit: async (trx) => {
        await requireNothingOpen(trx, project);
        const totals = { burnBaseUnits: 0n, airdropBaseUnits: 0n };
        return { reserved: { day: utcDay(deps.clock.now()), totals }, warnings: [] };
      },
      record: (trx, { id: batchId, createdAt: at }) => {
        const { approver, from, to } = rotation;
        const change = { before: { [approver]: from }, after: { [approver]: to } };
        const projectId = project.id;
        return insertAuditEntry(trx, { at, actor, action: 'rotation.requested', projectId, batchId, ...change });
      },
    },
  );
}

/** Squads refuses, only when it is executed, what would leave a multisig with a member twice or without one it removes. */
async function requireReplaceable(
  { chain }: Deps,
  { flywheel: { multisig } }: Project,
  { from, to }: Rotation,
): Promise<void> {
  const [account] = await chain.accounts([multisig.address]);
  if (!account) throw new Error(`The multisig ${multisig.address} is not on chain.`);
  const members = decodeMultisig(account).members.map(({ address }) => address);
  if (members.includes(to)) throw refused(`${to} is a member of the multisig already.`);
  if (!members.includes(from)) throw refused(`${from} is no member of the multisig ${multisig.address} any more.`);
}

function compileRotation({ approver, from, to, evidence }: Rotation): CompiledPipeline {
  const action: RotateAction = { action: 'ROTATE', approver, from, to };
  return {
    type: ROTATION_TYPE,
    payload: JSON.stringify({ approver, from, to, ...evidence }),
    actions: [action],
    instructions: [],
    vaultMessage: encodeReplacement({ from, to }),
  };
}

/** So many ids show which they are; the console lists them all. */
const MAX_IDS_NAMED = 5;

/** Executing a rotation makes every earlier proposal that is not approved yet stale: it could never be approved. */
async function requireNothingOpen(trx: Db, { flywheel }: Project): Promise<void> {
  const open = await findOpenIds(trx, flywheel.id);
  if (open.length === 0) return;
  const named = open.slice(0, MAX_IDS_NAMED).join(', ');
  const more = open.length > MAX_IDS_NAMED ? ` and ${open.length - MAX_IDS_NAMED} more` : '';
  throw refused(`${open.length} of its batches are open and would become stale (${named}${more}). End them first.`);
}

function refused(problem: string): ApiError {
  return new ApiError('ERR_ROTATION_REFUSED', { problem });
}

function invalid(field: keyof RotateWalletRequest, problem: string): ApiError {
  return new ApiError('ERR_INVALID_REQUEST', { place: `body.${field}`, problem });
}
