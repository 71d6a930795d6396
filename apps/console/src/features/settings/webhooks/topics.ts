import type { WebhookTopic } from '@flywheel/api';

/** What a webhook can be told, in words. */
export const TOPIC_WORDS: { readonly [Topic in WebhookTopic]: string } = {
  'batch.finalized': 'A batch waits for your approval',
  'batch.awaiting_company_approval': 'A batch waits for the company’s',
  'batch.executed': 'A batch is executed',
  'batch.failed': 'A batch has failed, or was cancelled or rejected',
  'batch.expired': 'A batch has expired',
  'vault.low': 'The vault holds less than open batches take',
};
