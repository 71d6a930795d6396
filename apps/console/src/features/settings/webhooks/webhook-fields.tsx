import { WebhookTopic } from '@flywheel/api';
import { TextField } from '../../../ui/form/field.tsx';
import { Tick } from '../../../ui/form/tick.tsx';
import { TOPIC_WORDS } from './topics.ts';

/** Where events go, and which. */
export interface WebhookDraft {
  readonly url: string;
  readonly events: readonly WebhookTopic[];
}

export interface WebhookFieldsProps {
  readonly draft: WebhookDraft;
  readonly onChange: (draft: WebhookDraft) => void;
}

export function WebhookFields({ draft, onChange }: WebhookFieldsProps) {
  const { url, events } = draft;
  const toggle = (topic: WebhookTopic) => (isChosen: boolean) =>
    onChange({ url, events: isChosen ? [...events, topic] : events.filter((chosen) => chosen !== topic) });
  return (
    <>
      <TextField
        label="Send to"
        type="url"
        inputMode="url"
        placeholder="https://shop.example/flywheel"
        hint="Your server’s address. Events are posted to it, each signed."
        value={url}
        onChange={({ target }) => onChange({ url: target.value.trim(), events })}
        required
      />
      <fieldset className="flex flex-col gap-2">
        <legend className="mb-1 text-sm font-medium">When</legend>
        {WebhookTopic.options.map((topic) => (
          <Tick key={topic} checked={events.includes(topic)} onChange={toggle(topic)}>
            {TOPIC_WORDS[topic]} <code className="text-xs whitespace-nowrap text-quiet">{topic}</code>
          </Tick>
        ))}
      </fieldset>
    </>
  );
}
