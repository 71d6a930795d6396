import * as z from 'zod';
import { BatchStatus } from './schemas.ts';

/** What can happen to a batch. */
export const BatchEventType = z
  .enum([
    'batch.initialized',
    'batch.finalized',
    'batch.approval_received',
    'batch.awaiting_company_approval',
    'batch.company_approved',
    'batch.company_rejected',
    'batch.bundle_sent',
    'batch.bundle_landed',
    'batch.bundle_failed',
    'batch.held_up',
    'batch.executed',
    'batch.failed',
    'batch.expired',
    'batch.closed',
  ])
  .meta({
    id: 'BatchEventType',
    description:
      '`batch.held_up`: something is in the way, see `error`. `batch.executed`, `batch.failed` and `batch.expired` end a batch. `batch.closed`: the rent is back, and nothing more comes.',
  });

const details = z.object({
  phase: z.enum(['setup', 'execution', 'close']).optional().describe('Of a bundle.'),
  bundleId: z.string().optional(),
  signatures: z.array(z.string()).optional().describe('Sent, or, once it is settled, landed.'),
  error: z
    .object({ code: z.string().optional(), message: z.string() })
    .optional()
    .describe('What holds it up, or why it failed.'),
  executedPipelines: z.int().optional().describe('When it has ended.'),
  operator: z.string().optional().describe('The wallet that decided for the company.'),
  reason: z.string().optional().describe('Why the company rejected it.'),
});

/** One thing that happened to a batch, as its stream tells it. */
export const BatchEvent = z
  .object({
    id: z.string().describe('Rises within a batch; as `Last-Event-ID` it asks for what came after.'),
    type: BatchEventType,
    batchId: z.guid(),
    at: z.iso.datetime().describe('ISO 8601, UTC.'),
    status: BatchStatus.describe('After the event.'),
    ...details.shape,
  })
  .meta({ id: 'BatchEvent' });

/** Of a request that follows a batch. */
export const lastEventId = z
  .string()
  .regex(/^\d{1,18}$/, 'must be the id of an event')
  .optional()
  .describe('The last event that was received: those after it are sent.');

export type BatchEventType = z.output<typeof BatchEventType>;
/** What an event tells beside what every event does. */
export type BatchEventDetails = z.output<typeof details>;
export type BatchEvent = z.output<typeof BatchEvent>;
