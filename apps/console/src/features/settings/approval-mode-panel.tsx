import type { ApprovalMode, ProjectSettings } from '@flywheel/api';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { changeApprovalMode } from '../../lib/api/company.ts';
import { useSession } from '../../lib/api/session.ts';
import { ErrorNotice } from '../../ui/feedback.tsx';
import { Panel } from '../../ui/layout.tsx';
import { RadioGroup } from '../../ui/radio-group.tsx';

export interface ApprovalModePanelProps {
  readonly projectId: string;
  readonly settings: ProjectSettings;
}

/** Shows how the company approves batches; only a company operator can change it. */
export function ApprovalModePanel({ projectId, settings }: ApprovalModePanelProps) {
  const isOperator = useSession()?.isCompanyOperator === true;
  const { scopes, approvalMode } = settings;
  return (
    <Panel title="Approval">
      <div className="flex flex-col gap-4">
        <p>
          Every batch needs two approvals: the wallet’s and the company’s. API keys can request{' '}
          {scopes.map((scope) => (scope === 'burn' ? 'burns' : 'airdrops')).join(' and ')}, as chosen at registration.
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
    title: 'Automatic company approval',
    text: 'The company approves at once if all checks pass: limits, proofs, funds, simulation. Withdrawals always wait for an operator.',
  },
  manual: {
    title: 'Manual company approval',
    text: 'An operator reviews every batch after you have approved it.',
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
        label="Company approval"
        value={change.isPending ? change.variables : approvalMode}
        onChange={(mode) => change.mutate(mode)}
        options={[
          { value: 'automatic', ...MODES.automatic },
          { value: 'manual', ...MODES.manual },
        ]}
      />
      <p className="text-sm text-quiet">
        You can change this as a company operator. It applies to every later execution.
      </p>
      {change.error && <ErrorNotice error={change.error} />}
    </>
  );
}
