import type { Rotation, TREASURY_OPERATIONS } from '@flywheel/api';
import { requireOwnProject, requireVisibleProject } from '../../projects/access.ts';
import {
  listRotations,
  rotateCompany,
  rotateOperator,
  rotateWallet,
  toRotationRecord,
} from '../../treasury/rotations.ts';
import { withdraw } from '../../treasury/withdraw.ts';
import { replayHeaders } from '../batches/batch-replies.ts';
import type { Handlers } from '../operations/handlers.ts';
import type { ConsoleDeps } from './deps.ts';

/** Handlers of the operations that withdraw from the vault and rotate members of the multisig. */
export function createTreasuryHandlers(deps: ConsoleDeps): Handlers<typeof TREASURY_OPERATIONS> {
  return {
    withdraw: async ({ wallet }, { headers, params, body }) => {
      const project = await requireOwnProject(deps, wallet, params.projectId);
      const stored = await withdraw(deps, { project, idempotencyKey: headers['x-idempotency-key'], body });
      const warnings = stored.warnings.map(({ message }) => message);
      return { status: 200, body: { batchId: stored.batch.id, warnings }, ...replayHeaders(stored.replayed) };
    },

    rotateWallet: async ({ wallet }, { headers, params, body }) => {
      const project = await requireOwnProject(deps, wallet, params.projectId);
      const stored = await rotateWallet(deps, { project, idempotencyKey: headers['x-idempotency-key'], body });
      return { status: 200, body: presentRotation(toRotationRecord(stored.batch)), ...replayHeaders(stored.replayed) };
    },

    rotateCompany: async ({ wallet: operator }, { headers, params }) => {
      const project = await requireVisibleProject(deps, operator, params.projectId);
      const stored = await rotateCompany(deps, { project, idempotencyKey: headers['x-idempotency-key'], operator });
      return { status: 200, body: presentRotation(toRotationRecord(stored.batch)), ...replayHeaders(stored.replayed) };
    },

    rotateOperator: async ({ wallet: actor }, { headers, params }) => {
      const project = await requireVisibleProject(deps, actor, params.projectId);
      const stored = await rotateOperator(deps, { project, idempotencyKey: headers['x-idempotency-key'], actor });
      return { status: 200, body: presentRotation(toRotationRecord(stored.batch)), ...replayHeaders(stored.replayed) };
    },

    listRotations: async ({ wallet }, { params }) => {
      const project = await requireVisibleProject(deps, wallet, params.projectId);
      const rotations = await listRotations(deps, project);
      return { status: 200, body: { rotations: rotations.map(presentRotation) } };
    },
  };
}

type RotationRecord = ReturnType<typeof toRotationRecord>;

function presentRotation({ batchId, approver, from, to, status, createdAt, endedAt }: RotationRecord): Rotation {
  const ended = endedAt && { dateEnded: endedAt.toISOString() };
  return { batchId, approver, from, to, status, dateCreated: createdAt.toISOString(), ...ended };
}
