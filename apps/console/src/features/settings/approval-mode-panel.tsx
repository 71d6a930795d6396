import type { ApprovalMode, CompanyTerms, ProjectOverview, ProjectSettings } from '@flywheel/api';
import { address, describeTerms, groupDigits, toBaseUnitTerms } from '@flywheel/protocol';
import { useState } from 'react';
import { limitIssue } from '../../lib/amounts.ts';
import { changeTerms } from '../../lib/api/company.ts';
import { useSession } from '../../lib/api/session.ts';
import { TERMS_NAMES } from '../../lib/format.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/fields.tsx';
import { Panel } from '../../ui/layout.tsx';
import { RadioGroup } from '../../ui/radio-group.tsx';
import { AmountText } from '../../ui/text.tsx';
import { DecisionForm } from '../company/decision.tsx';
import { SignedToken, useHasTrueDecimals } from '../company/signed-token.tsx';

export interface ApprovalModePanelProps {
  readonly project: ProjectOverview;
  readonly settings: ProjectSettings;
}

/** Shows what the company approves without a person; only a company operator can change it. */
export function ApprovalModePanel({ project, settings }: ApprovalModePanelProps) {
  const isOperator = useSession()?.isCompanyOperator === true;
  const { scopes, companyTerms } = settings;
  const { approvalMode, burnLimit, airdropLimit } = companyTerms;
  return (
    <Panel title="Approval">
      <div className="flex flex-col gap-4">
        <p>
          Every batch needs two approvals: the wallet’s and the company’s. API keys can request{' '}
          {scopes.map((scope) => (scope === 'burn' ? 'burns' : 'airdrops')).join(' and ')}, as chosen at registration.
        </p>
        {isOperator ? (
          // A new form after each change starts from the new terms.
          <TermsEditor key={JSON.stringify(companyTerms)} project={project} terms={companyTerms} />
        ) : (
          <div>
            <p className="font-medium">{MODES[approvalMode].title}</p>
            <p className="text-quiet">
              {MODES[approvalMode].text}{' '}
              {approvalMode === 'automatic' && (
                <>
                  Without one of its operators, the company approves up to <AmountText amount={burnLimit} /> tokens
                  burned and <AmountText amount={airdropLimit} /> tokens airdropped per UTC day.{' '}
                </>
              )}
              Only the company can change this.
            </p>
          </div>
        )}
      </div>
    </Panel>
  );
}

const MODES = {
  automatic: {
    title: 'Automatic company approval',
    text: 'The company approves at once if all checks pass: limits, proofs, funds, simulation. Withdrawals always wait for an operator of the company.',
  },
  manual: {
    title: 'Manual company approval',
    text: 'An operator of the company reviews every batch after you have approved it.',
  },
} as const;

interface TermsProps {
  readonly project: ProjectOverview;
  /** The present terms. */
  readonly terms: CompanyTerms;
}

function TermsEditor({ project, terms }: TermsProps) {
  const [to, setTo] = useState(terms);
  const [isSigning, setSigning] = useState(false);
  const change = (part: Partial<CompanyTerms>) => setTo((before) => ({ ...before, ...part }));
  const { decimals } = project.token;
  const [burnIssue, airdropIssue] = [limitIssue(to.burnLimit, decimals), limitIssue(to.airdropLimit, decimals)];
  const isChanged = JSON.stringify(to) !== JSON.stringify(terms);
  return (
    <>
      <RadioGroup<ApprovalMode>
        label="Company approval"
        value={to.approvalMode}
        onChange={(approvalMode) => change({ approvalMode })}
        options={[
          { value: 'automatic', ...MODES.automatic },
          { value: 'manual', ...MODES.manual },
        ]}
      />
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField
          label={TERMS_NAMES.burnLimit}
          inputMode="decimal"
          value={to.burnLimit}
          onChange={({ target }) => change({ burnLimit: target.value.trim() })}
          error={burnIssue}
          hint={`The project’s own limit is ${groupDigits(project.limits.burn.cap)} tokens.`}
        />
        <TextField
          label={TERMS_NAMES.airdropLimit}
          inputMode="decimal"
          value={to.airdropLimit}
          onChange={({ target }) => change({ airdropLimit: target.value.trim() })}
          error={airdropIssue}
          hint={`The project’s own limit is ${groupDigits(project.limits.airdrop.cap)} tokens.`}
        />
      </div>
      <div>
        <Button onClick={() => setSigning(true)} disabled={!isChanged || burnIssue !== null || airdropIssue !== null}>
          Review and sign
        </Button>
      </div>
      <Dialog title="Change what the company approves?" isOpen={isSigning} onClose={() => setSigning(false)}>
        <TermsForm project={project} terms={terms} to={to} onClose={() => setSigning(false)} />
      </Dialog>
    </>
  );
}

interface TermsFormProps extends TermsProps {
  readonly to: CompanyTerms;
  readonly onClose: () => void;
}

function TermsForm({ project, terms, to, onClose }: TermsFormProps) {
  const { decimals, mint } = project.token;
  const [from, next] = [toBaseUnitTerms(terms, decimals), toBaseUnitTerms(to, decimals)];
  const token = { mint: address(mint), decimals };
  const subject = { type: 'terms', multisig: address(project.multisig.address), token, from, to: next } as const;
  const hasTrueDecimals = useHasTrueDecimals(project.token);
  return (
    <DecisionForm
      subject={hasTrueDecimals ? subject : null}
      verb="Sign and change"
      send={(signature) => changeTerms(project.id, { ...signature, from: terms, to })}
      onDecided={onClose}
      onClose={onClose}
    >
      <ul className="flex flex-col gap-1 font-medium">
        {describeTerms(subject).map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
      <SignedToken project={project} />
      <p className="text-sm text-quiet">
        It applies to every later execution. Batches that wait for an operator of the company still wait.
      </p>
    </DecisionForm>
  );
}
