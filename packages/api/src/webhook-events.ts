import * as z from 'zod';
import { BatchKind } from './console-schemas/batch.ts';
import { BatchStatus } from './schemas.ts';
import { isoDateTime } from './values.ts';

/** Events that a webhook can subscribe to. */
export const WebhookTopic = z
  .enum([
    'batch.finalized',
    'batch.awaiting_company_approval',
    'batch.executed',
    'batch.failed',
    'batch.expired',
    'vault.low',
  ])
  .meta({ id: 'WebhookTopic' });

/** `webhook.test` is sent on request, to any webhook. */
export const WebhookEventType = z.enum([...WebhookTopic.options, 'webhook.test']).meta({ id: 'WebhookEventType' });

export const WebhookBatch = z
  .object({
    projectId: z.guid(),
    batchId: z.guid(),
    batchIndex: z.string(),
    kind: BatchKind.describe('Withdrawals and rotations are created in the console; API keys cannot read them.'),
    status: BatchStatus.describe('Status after the event.'),
    pipelines: z.int().describe('Number of pipelines.'),
    executedPipelines: z
      .int()
      .optional()
      .describe('Present when the batch has ended: number of pipelines, from the first on, that were executed.'),
    error: z.object({ message: z.string() }).optional().describe('Why the batch failed.'),
  })
  .meta({ id: 'WebhookBatch' });

const balance = z.object({ available: z.string(), needed: z.string(), missing: z.string() });

export const WebhookVault = z
  .object({
    projectId: z.guid(),
    vaultAddress: z.string(),
    mintAddress: z.string(),
    tokens: balance.describe('Whole tokens, decimal: `available` in the vault, `needed` by all open batches together.'),
    lamports: balance.describe('Lamports, decimal: `available` in the vault, `needed` by all open batches together.'),
  })
  .meta({ id: 'WebhookVault' });

const envelope = { timestamp: isoDateTime.describe('Time of the event: ISO 8601, UTC.') };
const BATCH_TOPICS = WebhookTopic.exclude(['vault.low']);

/** Body of a delivery. The header `webhook-id` holds the id of the event. */
export const WebhookEvent = z
  .discriminatedUnion('type', [
    z.object({ type: BATCH_TOPICS, ...envelope, data: WebhookBatch }),
    z.object({ type: z.literal('vault.low'), ...envelope, data: WebhookVault }),
    z.object({
      type: z.literal('webhook.test'),
      ...envelope,
      data: z.object({ projectId: z.guid(), webhookId: z.guid() }),
    }),
  ])
  .meta({ id: 'WebhookEvent' });

export type WebhookTopic = z.output<typeof WebhookTopic>;
export type WebhookEventType = z.output<typeof WebhookEventType>;
export type WebhookBatch = z.output<typeof WebhookBatch>;
export type WebhookVault = z.output<typeof WebhookVault>;
export type WebhookEvent = z.output<typeof WebhookEvent>;
