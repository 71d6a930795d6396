import * as z from 'zod';
import { BatchKind } from './console-schemas/batch.ts';
import { BatchStatus } from './schemas.ts';

/** What an endpoint can ask to be told. */
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

/** `webhook.test` is sent when somebody asks for it, to any endpoint. */
export const WebhookEventType = z.enum([...WebhookTopic.options, 'webhook.test']).meta({ id: 'WebhookEventType' });

export const WebhookBatch = z
  .object({
    projectId: z.guid(),
    batchId: z.guid(),
    batchIndex: z.string(),
    kind: BatchKind.describe('Withdrawals and rotations are made in the console; API keys do not see them.'),
    status: BatchStatus.describe('After the event.'),
    pipelines: z.int().describe('How many it has.'),
    executedPipelines: z.int().optional().describe('When it has ended: its first so many stand on chain.'),
    error: z.object({ message: z.string() }).optional().describe('Why it failed.'),
  })
  .meta({ id: 'WebhookBatch' });

const balance = z.object({ available: z.string(), needed: z.string(), missing: z.string() });

export const WebhookVault = z
  .object({
    projectId: z.guid(),
    vaultAddress: z.string(),
    mintAddress: z.string(),
    tokens: balance.describe('Whole tokens, decimal: what the vault holds, and what the open batches take together.'),
    lamports: balance.describe('Lamports, decimal: likewise.'),
  })
  .meta({ id: 'WebhookVault' });

const envelope = { timestamp: z.iso.datetime().describe('When it happened: ISO 8601, UTC.') };
const BATCH_TOPICS = WebhookTopic.exclude(['vault.low']);

/** The body of a delivery. Its id is in the header `webhook-id`. */
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
