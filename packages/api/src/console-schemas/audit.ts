import * as z from 'zod';
import { isoDateTime, nextCursor } from './values.ts';

export const AuditAction = z
  .enum([
    'project.registered',
    'key.created',
    'key.rotated',
    'key.revoked',
    'limits.changed',
    'proof-types.changed',
    'approval-mode.changed',
    'batch.initialized',
    'withdrawal.requested',
    'rotation.requested',
    'batch.executed',
    'batch.cancelled',
    'batch.approved',
    'batch.rejected',
    'project.paused',
    'project.resumed',
    'company.paused',
    'company.resumed',
    'job.retried',
    'webhook.created',
    'webhook.changed',
    'webhook.rotated',
    'webhook.deleted',
    'webhook.redelivered',
    'webhook.tested',
  ])
  .meta({ id: 'AuditAction' });

export const AuditEntry = z
  .object({
    id: z.string(),
    at: isoDateTime,
    actor: z.string().describe('The wallet that was signed in.'),
    action: AuditAction,
    projectId: z.guid().optional(),
    batchId: z.guid().optional(),
    subject: z
      .string()
      .optional()
      .describe('What it was done to, where that is no batch: the id of a key, a job or a webhook.'),
    before: z.unknown().optional().describe('What was there, for what was changed.'),
    after: z.unknown().optional().describe('What is there since.'),
    reason: z.string().optional(),
  })
  .meta({ id: 'AuditEntry' });

export const AuditPage = z
  .object({ entries: z.array(AuditEntry).describe('Newest first.'), nextCursor })
  .meta({ id: 'AuditPage' });

export type AuditAction = z.output<typeof AuditAction>;
export type AuditEntry = z.output<typeof AuditEntry>;
