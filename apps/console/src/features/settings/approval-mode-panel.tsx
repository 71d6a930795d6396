import type { ApprovalMode, ProjectSettings } from '@flywheel/api';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { changeApprovalMode } from '../../lib/api/company.ts';
import { useSession } from '../../lib/session.ts';
import { ErrorNotice } from '../../ui/feedback.tsx';
import { Panel } from '../../ui/layout.tsx';
import { RadioGroup } from '../../ui/radio-group.tsx';

export interface ApprovalModePanelProps {
  readonly projectId: string;
  readonly settings: ProjectSettings;
}

/** How the company casts its vote: everyone may see it, the company alone can change it. */
export function ApprovalModePanel({ projectId, settings }: ApprovalModePanelProps) {
  const isOperator = useSession()?.isCompanyOperator === true;
  const { scopes, approvalMode } = settings;
  return (
    <Panel title="Approval">
      <div className="flex flex-col gap-4">
        <p>
          Every batch takes two votes: the wallet’s and the company’s. Keys may ask for{' '}
          {scopes.map((scope) => (scope === 'burn' ? 'burns' : 'airdrops')).join(' and ')}; that was settled when the
          project was registered.
        </p>
        {isOperator ? (
          <ModeChoice projectId={projectId} approvalMode={approvalMode} />
        ) : (
          <div>
            <p className="font-medium">{MODES[approvalMode].title}</p>
            <p className="text-quiet">{MODES[approvalMode].text} Only the company can change this.</p>
          </div>
        )}
      </div>
    </Panel>
  );
}

const MODES = {
  automatic: {
    title: 'The company votes automatically',
    text: 'At once, when every rule has passed: limits, proofs, funds, simulation. Withdrawals wait for a person.',
  },
  manual: {
    title: 'A person of the company votes',
    text: 'An operator looks at every batch after you have approved it.',
  },
} as const;

interface ModeChoiceProps {
  readonly projectId: string;
  readonly approvalMode: ApprovalMode;
}

function ModeChoice({ projectId, approvalMode }: ModeChoiceProps) {
  const queries = useQueryClient();
  const change = useMutation({
    mutationFn: (mode: ApprovalMode) => changeApprovalMode(projectId, mode),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['project', projectId] }),
  });
  return (
    <>
      <RadioGroup<ApprovalMode>
        label="How the company votes"
        value={change.isPending ? change.variables : approvalMode}
        onChange={(mode) => change.mutate(mode)}
        options={[
          { value: 'automatic', ...MODES.automatic },
          { value: 'manual', ...MODES.manual },
        ]}
      />
      <p className="text-sm text-quiet">
        You can change it as an operator of the company; it holds from the next execute on.
      </p>
      {change.error && <ErrorNotice error={change.error} />}
    </>
  );
}
