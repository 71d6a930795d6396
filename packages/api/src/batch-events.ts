import * as z from 'zod';
import { BatchStatus } from './schemas.ts';
import { isoDateTime } from './values.ts';

/** Types of events of a batch. */
export const BatchEventType = z
  .enum([
    'batch.initialized',
    'batch.finalized',
    'batch.approval_received',
    'batch.awaiting_company_approval',
    'batch.company_approval_received',
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
      '`batch.company_approval_received`: an operator has approved, and another one must approve as well, see `approvals`. `batch.held_up`: the batch cannot continue at the moment, see `error`. `batch.executed`, `batch.failed` and `batch.expired` end a batch; one of the latter two after `batch.executed` corrects it, because a fork undid the execution. `batch.closed`: the rent is returned; this is the last event.',
  });

export const Approvals = z
  .object({ given: z.int(), required: z.int() })
  .meta({ id: 'Approvals', description: 'Approvals of a batch by operators of the company.' });

const details = z.object({
  phase: z.enum(['setup', 'execution', 'close']).optional().describe('Phase that the bundle belongs to.'),
  bundleId: z.string().optional(),
  signatures: z
    .array(z.string())
    .optional()
    .describe('Signatures that were sent; after the bundle has settled, those that landed.'),
  error: z
    .object({ code: z.string().optional(), message: z.string() })
    .optional()
    .describe('Why the batch cannot continue, or why it failed.'),
  executedPipelines: z.int().optional().describe('Present when the batch has ended.'),
  operator: z.string().optional().describe('Wallet that decided, or approved, for the company.'),
  approvals: Approvals.optional().describe('Present while another operator must approve as well.'),
  reason: z.string().optional().describe('Reason of the company’s rejection.'),
});

/** An event of a batch, as its stream sends it. */
export const BatchEvent = z
  .object({
    id: z.string().describe('Increases within a batch. Send it as `Last-Event-ID` to get the events after it.'),
    type: BatchEventType,
    batchId: z.guid(),
    at: isoDateTime,
    status: BatchStatus.describe('Status after the event.'),
    ...details.shape,
  })
  .meta({ id: 'BatchEvent' });

/** Writes an event as its stream sends it (HTML, "Server-sent events"). */
export function batchEventText(event: BatchEvent): string {
  return `id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** Header of a request that resumes a stream of events. */
export const lastEventId = z
  .string()
  .regex(/^\d{1,18}$/, 'must be the id of an event')
  .optional()
  .describe('Id of the last event that was received; the events after it are sent.');

export type Approvals = z.output<typeof Approvals>;
export type BatchEventType = z.output<typeof BatchEventType>;
/** Fields of an event beyond those that every event has. */
export type BatchEventDetails = z.output<typeof details>;
export type BatchEvent = z.output<typeof BatchEvent>;
