import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../parts/form/button.tsx';
import { Empty } from '../../parts/state/empty.tsx';
import { Loaded } from '../../parts/state/loaded.tsx';
import { Page } from '../../parts/state/page.tsx';
import { Lines } from '../../parts/state/skeleton.tsx';
import { keysQuery } from '../../service/keys.ts';
import { projectQuery } from '../../service/projects.ts';
import { CreateKeyDialog } from './create-key-dialog.tsx';
import { KeyRow } from './key-row.tsx';

/** The project’s API keys: made, rotated and revoked here; each shown in full once. */
export function Keys() {
  const { projectId } = useParams({ from: '/p/$projectId' });
  const keys = useQuery(keysQuery(projectId));
  const project = useQuery(projectQuery(projectId));
  const [isCreating, setCreating] = useState(false);
  return (
    <Page
      title="API keys"
      lead="A key asks for batches. It cannot approve one: that takes your wallet."
      action={
        <Button tone="primary" onClick={() => setCreating(true)}>
          <Plus size={16} aria-hidden /> Create a key
        </Button>
      }
    >
      <Loaded query={keys} skeleton={<Lines count={3} className="h-20" />}>
        {({ keys: found }) =>
          found.length === 0 ? (
            <Empty title="No key">
              <p>Without one nothing can ask for a batch, but you can compose batches here.</p>
              <Button onClick={() => setCreating(true)}>Create a key</Button>
            </Empty>
          ) : (
            <ul className="divide-y rounded-lg border bg-raised">
              {found.map((key) => (
                <li key={key.keyId}>
                  <KeyRow projectId={projectId} apiKey={key} />
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
      <CreateKeyDialog
        projectId={projectId}
        scopes={project.data?.scopes ?? []}
        isOpen={isCreating}
        onClose={() => setCreating(false)}
      />
    </Page>
  );
}
