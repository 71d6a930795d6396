import type { Rotation, TREASURY_OPERATIONS } from '@flywheel/api';
import type { StoredBatch } from '../../batches/store-once.ts';
import { requireOwnProject, requireVisibleProject } from '../../projects/access.ts';
import { listRotations, rotationOf } from '../../treasury/list-rotations.ts';
import { rotateCompany, rotateWallet } from '../../treasury/rotate.ts';
import { withdraw } from '../../treasury/withdraw.ts';
import type { Handlers } from '../handlers.ts';
import type { ConsoleDeps } from './console-handlers.ts';

/** What leaves the vault, and who decides over it. */
export function createTreasuryHandlers(deps: ConsoleDeps): Handlers<typeof TREASURY_OPERATIONS> {
  return {
    withdraw: async ({ wallet }, { headers, params, body }) => {
      const project = await requireOwnProject(deps, wallet, params.projectId.toLowerCase());
      const stored = await withdraw(deps, { project, idempotencyKey: keyOf(headers), body });
      const warnings = stored.warnings.map(({ message }) => message);
      return { status: 200, body: { batchId: stored.batch.id, warnings }, ...replayHeaders(stored) };
    },

    rotateWallet: async ({ wallet }, { headers, params, body }) => {
      const project = await requireOwnProject(deps, wallet, params.projectId.toLowerCase());
      const stored = await rotateWallet(deps, { project, idempotencyKey: keyOf(headers), body });
      return { status: 200, body: presentRotation(rotationOf(stored.batch)), ...replayHeaders(stored) };
    },

    rotateCompany: async ({ wallet: operator }, { headers, params }) => {
      const project = await requireVisibleProject(deps, operator, params.projectId.toLowerCase());
      const stored = await rotateCompany(deps, { project, idempotencyKey: keyOf(headers), operator });
      return { status: 200, body: presentRotation(rotationOf(stored.batch)), ...replayHeaders(stored) };
    },

    listRotations: async ({ wallet }, { params }) => {
      const project = await requireVisibleProject(deps, wallet, params.projectId.toLowerCase());
      const rotations = await listRotations(deps, project);
      return { status: 200, body: { rotations: rotations.map(presentRotation) } };
    },
  };
}

function keyOf(headers: { readonly 'x-idempotency-key': string }): string {
  return headers['x-idempotency-key'].toLowerCase();
}

function replayHeaders({ replayed }: StoredBatch) {
  return replayed ? { headers: { 'idempotency-replayed': 'true' } } : {};
}

type RotationRecord = ReturnType<typeof rotationOf>;

function presentRotation({ batchId, approver, from, to, status, createdAt, endedAt }: RotationRecord): Rotation {
  const ended = endedAt && { dateEnded: endedAt.toISOString() };
  return { batchId, approver, from, to, status, dateCreated: createdAt.toISOString(), ...ended };
}
