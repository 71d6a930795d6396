import type { CompanyPolicy, ProjectOverview, ProjectPolicy } from '@flywheel/api';
import {
  address,
  type CompanyPolicy as BaseUnitPolicy,
  describePolicy,
  describePolicyChange,
  readPolicy,
  writePolicy,
} from '@flywheel/protocol';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { changePolicy, policyTrialQuery } from '../../lib/api/policies.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { TextArea, TextField } from '../../ui/fields.tsx';
import { DecisionForm } from '../company/decision.tsx';
import { SignedToken, useHasTrueDecimals } from '../company/signed-token.tsx';
import { PolicyTrialView } from './policy-trial.tsx';
import { RuleList } from './rule-list.tsx';
import { describeIssue, fromDraft, type RuleField, type RulesDraft, toDraft } from './rules-draft.ts';

interface PolicyFormProps {
  readonly project: ProjectOverview;
  readonly policy: ProjectPolicy;
  readonly onDone: () => void;
}

const AMOUNTS = [
  { field: 'personPerBatch', label: 'An operator approves batches above', hint: 'Tokens of one batch' },
  {
    field: 'personPerRecipient',
    label: 'An operator approves if a recipient gets more than',
    hint: 'Tokens for one recipient',
  },
  { field: 'personPerDay', label: 'An operator approves if the day has more than', hint: 'Tokens of a UTC day' },
  { field: 'twoOperatorsPerBatch', label: 'Two operators approve batches above', hint: 'Withdrawals too' },
  { field: 'capPerRecipient', label: 'Maximum per recipient and day', hint: 'More is refused' },
] as const satisfies readonly { readonly field: RuleField; readonly label: string; readonly hint: string }[];

/** Edits the rules, tries them on the last 30 days, and has the operator’s wallet sign them. */
export function PolicyForm({ project, policy, onDone }: PolicyFormProps) {
  const [draft, setDraft] = useState(() => toDraft(policy.policy));
  const [isSigning, setSigning] = useState(false);
  const { token } = project;
  const read = readPolicy(fromDraft(draft), token);
  const next = 'policy' in read ? read.policy : null;
  const errorOf = (field: RuleField) => {
    if (!('issue' in read)) return null;
    const { place } = read.issue;
    const isOfField = place.startsWith('hours') ? place.endsWith(`.${field}`) : place.startsWith(field);
    return isOfField ? describeIssue(read.issue) : null;
  };
  const [tried, setTried] = useState<CompanyPolicy | null>(null);
  const change = (part: Partial<RulesDraft>) => {
    setDraft((before) => ({ ...before, ...part }));
    setTried(null);
  };
  return (
    <div className="flex flex-col gap-6">
      <p className="text-sm text-quiet">
        An empty field is no rule. Amounts are burned and airdropped tokens together.
      </p>
      <div className="grid gap-4 sm:grid-cols-2">
        {AMOUNTS.map(({ field, label, hint }) => (
          <TextField
            key={field}
            label={label}
            hint={hint}
            inputMode="decimal"
            value={draft[field]}
            error={errorOf(field)}
            onChange={({ target }) => change({ [field]: target.value.trim() })}
          />
        ))}
        <TextField
          label="Maximum new token accounts per day"
          hint="The vault pays their rent"
          inputMode="numeric"
          value={draft.newTokenAccounts}
          onChange={({ target }) => change({ newTokenAccounts: target.value.replace(/\D/g, '').slice(0, 6) })}
        />
        <TextField
          label="The company signs from (UTC)"
          placeholder="08:00"
          hint="Outside of these hours a batch waits"
          value={draft.from}
          error={errorOf('from')}
          onChange={({ target }) => change({ from: target.value.trim() })}
        />
        <TextField
          label="The company signs until (UTC)"
          placeholder="18:00"
          value={draft.to}
          error={errorOf('to')}
          onChange={({ target }) => change({ to: target.value.trim() })}
        />
        <TextArea
          label="Maximum per proof type and day"
          hint="A type and an amount on each line: WATCH_AD 1000"
          className="sm:col-span-2"
          value={draft.capsPerType}
          error={errorOf('capsPerType')}
          onChange={({ target }) => change({ capsPerType: target.value })}
        />
        <TextArea
          label="Allowed recipients"
          hint="Addresses as a list or CSV; empty allows all"
          value={draft.allowed}
          error={errorOf('allowed')}
          onChange={({ target }) => change({ allowed: target.value })}
        />
        <TextArea
          label="Denied recipients"
          hint="Addresses as a list or CSV"
          value={draft.denied}
          error={errorOf('denied')}
          onChange={({ target }) => change({ denied: target.value })}
        />
      </div>
      {tried && <PolicyTrialView projectId={project.id} policy={tried} />}
      <div className="flex flex-wrap gap-3">
        <Button tone="primary" disabled={next === null} onClick={() => setSigning(true)}>
          Review and sign
        </Button>
        <Button disabled={next === null} onClick={() => next && setTried(writePolicy(next, token))}>
          Try on the last 30 days
        </Button>
        <Button onClick={onDone}>Cancel</Button>
      </div>
      <Dialog title="Set these rules?" isOpen={isSigning && next !== null} onClose={() => setSigning(false)}>
        {next && <SignForm {...{ project, policy, next }} onDecided={onDone} onClose={() => setSigning(false)} />}
      </Dialog>
    </div>
  );
}

interface SignFormProps {
  readonly project: ProjectOverview;
  readonly policy: ProjectPolicy;
  readonly next: BaseUnitPolicy;
  readonly onDecided: () => void;
  readonly onClose: () => void;
}

function SignForm({ project, policy, next, onDecided, onClose }: SignFormProps) {
  const { mint, decimals } = project.token;
  const version = policy.version + 1;
  const token = { mint: address(mint), decimals };
  const multisig = address(project.multisig.address);
  const present = readPolicy(policy.policy, token);
  const changes = 'policy' in present ? describePolicyChange(present.policy, next, token) : [];
  const sentences = describePolicy(next, token).map(({ sentence }) => sentence);
  const fields = writePolicy(next, token);
  // Exactly these rules are signed, so exactly these are tried before.
  const { data: trial } = useQuery(policyTrialQuery(project.id, fields));
  const isReady = useHasTrueDecimals(project.token) && trial !== undefined;
  return (
    <DecisionForm
      subject={isReady ? { type: 'policy', multisig, token, version, policy: next } : null}
      verb="Sign and set"
      send={(signature) => changePolicy(project.id, { ...signature, version, policy: fields })}
      onDecided={onDecided}
      onClose={onClose}
    >
      <RuleList sentences={sentences} allowed={next.allowed} denied={next.denied} />
      <ul className="flex flex-col gap-1 text-sm text-quiet">
        {changes.length === 0 && <li>Nothing differs from version {policy.version}.</li>}
        {changes.map((each) => (
          <li key={each} className="break-words">
            {each}
          </li>
        ))}
      </ul>
      <PolicyTrialView projectId={project.id} policy={fields} />
      <SignedToken project={project} />
      <p className="text-sm text-quiet">
        Stricter rules bind every batch that the company has not signed; looser ones, only batches that are created
        later.
      </p>
    </DecisionForm>
  );
}
