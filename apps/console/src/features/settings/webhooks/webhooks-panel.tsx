import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { webhooksQuery } from '../../../lib/service/webhooks.ts';
import { Button } from '../../../ui/form/button.tsx';
import { Loaded } from '../../../ui/state/loaded.tsx';
import { Panel } from '../../../ui/state/panel.tsx';
import { Lines } from '../../../ui/state/skeleton.tsx';
import { CreateWebhookDialog } from './create-webhook-dialog.tsx';
import { WebhookItem } from './webhook-item.tsx';

export interface WebhooksPanelProps {
  readonly projectId: string;
  readonly mayChange: boolean;
}

/** Whom the project has told what becomes of its batches. */
export function WebhooksPanel({ projectId, mayChange }: WebhooksPanelProps) {
  const webhooks = useQuery(webhooksQuery(projectId));
  const [isCreating, setCreating] = useState(false);
  return (
    <Panel
      title="Webhooks"
      aside={
        mayChange && (
          <Button size="small" onClick={() => setCreating(true)}>
            Create a webhook
          </Button>
        )
      }
    >
      <Loaded query={webhooks} skeleton={<Lines count={1} className="h-24" />}>
        {({ webhooks: found }) =>
          found.length === 0 ? (
            <p className="text-quiet">
              None: nobody is told what becomes of batches. A webhook posts it to your server, signed, and again until
              it is taken. <HowTo />
            </p>
          ) : (
            <ul className="flex flex-col divide-y">
              {found.map((webhook) => (
                <li key={webhook.webhookId} className="py-4 first:pt-0 last:pb-0">
                  <WebhookItem {...{ projectId, webhook, mayChange }} />
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
      <CreateWebhookDialog projectId={projectId} isOpen={isCreating} onClose={() => setCreating(false)} />
    </Panel>
  );
}

function HowTo() {
  return (
    <a href="/docs/webhooks" className="text-accent underline underline-offset-2">
      How a server receives them
    </a>
  );
}
