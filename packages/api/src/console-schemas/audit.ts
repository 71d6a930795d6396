import * as z from 'zod';
import { nextCursor } from '../page.ts';
import { isoDateTime } from '../values.ts';

export const AuditAction = z
  .enum([
    'project.registered',
    'key.created',
    'key.rotated',
    'key.revoked',
    'limits.changed',
    'proof-types.changed',
    'approval-mode.changed',
    'terms.changed',
    'policy.changed',
    'batch.initialized',
    'withdrawal.requested',
    'rotation.requested',
    'operator.recovered',
    'batch.executed',
    'batch.cancelled',
    'batch.approved',
    'batch.rejected',
    'project.admitted',
    'project.admission-withdrawn',
    'project.paused',
    'project.resumed',
    'company.paused',
    'company.resumed',
    'job.retried',
    'webhook.created',
    'webhook.changed',
    'webhook.rotated',
    'webhook.deleted',
    // Written by 0.2 only.
    'webhook.redelivered',
    'webhook.tested',
  ])
  .meta({ id: 'AuditAction' });

export const AuditEntry = z
  .object({
    id: z.string(),
    at: isoDateTime,
    actor: z.string().describe('Wallet that was signed in.'),
    action: AuditAction,
    projectId: z.guid().optional(),
    batchId: z.guid().optional(),
    subject: z.string().optional().describe('Id of the key, job or webhook that the action concerned.'),
    before: z.unknown().optional().describe('Value before the change.'),
    after: z.unknown().optional().describe('Value after the change.'),
    reason: z.string().optional(),
  })
  .meta({ id: 'AuditEntry' });

export const AuditPage = z
  .object({ entries: z.array(AuditEntry).describe('Newest first.'), nextCursor })
  .meta({ id: 'AuditPage' });

export type AuditAction = z.output<typeof AuditAction>;
export type AuditEntry = z.output<typeof AuditEntry>;
