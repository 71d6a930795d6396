import { WebhookTopic } from '@flywheel/api';
import { InvalidArgumentError } from 'commander';

/** Parses `batch.executed,batch.failed`. */
export function parseWebhookTopics(text: string): WebhookTopic[] {
  return text.split(',').map((word) => {
    const topic = WebhookTopic.safeParse(word.trim());
    if (topic.success) return topic.data;
    throw new InvalidArgumentError(`An event is one of ${WebhookTopic.options.join(', ')}.`);
  });
}
