import type { Rotation, TREASURY_OPERATIONS } from '@flywheel/api';
import type { StoredBatch } from '../../batches/store-once.ts';
import { requireOwnProject, requireVisibleProject } from '../../projects/access.ts';
import { findRotations, type RotationRecord, replacementOf } from '../../store/rotations.ts';
import { rotateCompany, rotateWallet } from '../../treasury/rotate.ts';
import { withdraw } from '../../treasury/withdraw.ts';
import type { Handlers } from '../handlers.ts';
import type { ConsoleDeps } from './console-handlers.ts';

/** As many as anyone scrolls through; the history has them all. */
const MAX_ROTATIONS = 100;

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
      return { status: 200, body: presentStored(stored), ...replayHeaders(stored) };
    },

    rotateCompany: async ({ wallet: operator }, { headers, params }) => {
      const project = await requireVisibleProject(deps, operator, params.projectId.toLowerCase());
      const stored = await rotateCompany(deps, { project, idempotencyKey: keyOf(headers), operator });
      return { status: 200, body: presentStored(stored), ...replayHeaders(stored) };
    },

    listRotations: async ({ wallet }, { params }) => {
      const project = await requireVisibleProject(deps, wallet, params.projectId.toLowerCase());
      const rotations = await findRotations(deps.db, project.id, MAX_ROTATIONS);
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

function presentStored({ batch }: StoredBatch): Rotation {
  const { approver, from, to } = replacementOf(batch);
  return {
    batchId: batch.id,
    approver,
    from,
    to,
    status: batch.status,
    dateCreated: batch.createdAt.toISOString(),
    ...(batch.endedAt && { dateEnded: batch.endedAt.toISOString() }),
  };
}

function presentRotation({ createdAt, endedAt, ...rotation }: RotationRecord): Rotation {
  return {
    ...rotation,
    dateCreated: createdAt.toISOString(),
    ...(endedAt && { dateEnded: endedAt.toISOString() }),
  };
}
