import type { ProjectOverview, Withdrawal } from '@flywheel/api';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { withdraw } from '../../lib/service/treasury.ts';
import { Button, ButtonLink } from '../../ui/form/button.tsx';
import { Notice } from '../../ui/state/notice.tsx';
import { Panel } from '../../ui/state/panel.tsx';
import { useMayChange } from '../project/use-may-change.ts';
import { WithdrawForm } from './withdraw-form.tsx';

/** Takes SOL or tokens out of the vault, as a batch that both sides approve; for the project’s own wallet only. */
export function WithdrawPanel({ project }: { readonly project: ProjectOverview }) {
  const mayChange = useMayChange(project.id);
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [key, setKey] = useState(newKey);
  const ask = useMutation({
    mutationFn: (request: Parameters<typeof withdraw>[2]) => withdraw(project.id, key, request),
    onSuccess: async ({ batchId, warnings }) => {
      void queries.invalidateQueries({ queryKey: ['project', project.id] });
      const params = { projectId: project.id, batchId };
      if (warnings.length === 0) await navigate({ to: '/p/$projectId/approve/$batchId', params });
    },
  });
  const again = () => {
    setKey(newKey());
    ask.reset();
  };
  if (!mayChange) return null;
  return (
    <Panel title="Withdraw">
      {ask.data ? (
        <WithWarnings projectId={project.id} withdrawal={ask.data} onAgain={again} />
      ) : (
        <WithdrawForm
          project={project}
          isBusy={ask.isPending}
          error={ask.error}
          onChange={() => ask.isError && again()}
          onSubmit={(request) => ask.mutate(request)}
        />
      )}
    </Panel>
  );
}

/** Another request is another withdrawal; the same one, sent again, is not. */
function newKey(): string {
  return crypto.randomUUID();
}

interface WithWarningsProps {
  readonly projectId: string;
  readonly withdrawal: Withdrawal;
  readonly onAgain: () => void;
}

function WithWarnings({ projectId, withdrawal: { batchId, warnings }, onAgain }: WithWarningsProps) {
  return (
    <div className="flex flex-col gap-4">
      <Notice tone="waiting" title="The withdrawal is being set up. Before you approve it">
        <ul className="mt-1 flex list-disc flex-col gap-1 pl-4">
          {warnings.map((warning) => (
            <li key={warning}>{warning}</li>
          ))}
        </ul>
      </Notice>
      <div className="flex flex-wrap gap-3">
        <ButtonLink to="/p/$projectId/approve/$batchId" params={{ projectId, batchId }} tone="primary">
          Look and approve
        </ButtonLink>
        <ButtonLink to="/p/$projectId/batches/$batchId" params={{ projectId, batchId }}>
          Open it to cancel
        </ButtonLink>
        <Button tone="quiet" onClick={onAgain}>
          Withdraw more
        </Button>
      </div>
    </div>
  );
}
