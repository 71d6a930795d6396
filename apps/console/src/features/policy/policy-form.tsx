import type { CompanyPolicy, PolicyTrial, ProjectOverview, ProjectPolicy } from '@flywheel/api';
import {
  address,
  type CompanyPolicy as BaseUnitPolicy,
  describePolicy,
  describePolicyChange,
  pluralize,
  readPolicy,
  writePolicy,
} from '@flywheel/protocol';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { changePolicy, tryPolicy } from '../../lib/api/policies.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorNotice, Notice } from '../../ui/feedback.tsx';
import { TextArea, TextField } from '../../ui/fields.tsx';
import { MessageText, TimeText } from '../../ui/text.tsx';
import { DecisionForm } from '../company/decision.tsx';
import { RuleList } from './rule-list.tsx';
import { fromDraft, type RuleField, type RulesDraft, toDraft } from './rules-draft.ts';

interface PolicyFormProps {
  readonly project: ProjectOverview;
  readonly policy: ProjectPolicy;
  readonly onDone: () => void;
}

const AMOUNTS = [
  { field: 'personPerBatch', label: 'An operator approves: batch above', hint: 'Tokens of one batch' },
  { field: 'personPerRecipient', label: 'An operator approves: recipient above', hint: 'Tokens for one recipient' },
  { field: 'personPerDay', label: 'An operator approves: day above', hint: 'Tokens of a UTC day' },
  { field: 'twoOperatorsPerBatch', label: 'Two operators approve: batch above', hint: 'Withdrawals too' },
  { field: 'capPerRecipient', label: 'Most for one recipient a day', hint: 'More is refused' },
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
    const { place, problem } = read.issue;
    const isOfField = place.startsWith('hours') ? place.endsWith(`.${field}`) : place.startsWith(field);
    return isOfField ? `${place} ${problem}` : null;
  };
  const trial = useMutation({
    mutationFn: (fields: CompanyPolicy) => tryPolicy(project.id, fields),
  });
  const change = (part: Partial<RulesDraft>) => {
    setDraft((before) => ({ ...before, ...part }));
    trial.reset();
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
          label="New token accounts a day"
          hint="The vault pays their rent"
          inputMode="numeric"
          value={draft.newTokenAccounts}
          onChange={({ target }) => change({ newTokenAccounts: target.value.replace(/\D/g, '').slice(0, 6) })}
        />
        <TextField
          label="Signs from, UTC"
          placeholder="08:00"
          hint="Outside of these hours a batch waits"
          value={draft.from}
          error={errorOf('from')}
          onChange={({ target }) => change({ from: target.value.trim() })}
        />
        <TextField
          label="Signs to, UTC"
          placeholder="18:00"
          value={draft.to}
          error={errorOf('to')}
          onChange={({ target }) => change({ to: target.value.trim() })}
        />
        <TextArea
          label="Most for a proof type a day"
          hint="A type and an amount on each line: WATCH_AD 1000"
          className="sm:col-span-2"
          value={draft.capsPerType}
          error={errorOf('capsPerType')}
          onChange={({ target }) => change({ capsPerType: target.value })}
        />
        <TextArea
          label="Only these recipients"
          hint="Addresses as a list or CSV; empty allows all"
          value={draft.allowed}
          error={errorOf('allowed')}
          onChange={({ target }) => change({ allowed: target.value })}
        />
        <TextArea
          label="Never these recipients"
          hint="Addresses as a list or CSV"
          value={draft.denied}
          error={errorOf('denied')}
          onChange={({ target }) => change({ denied: target.value })}
        />
      </div>
      {trial.error && <ErrorNotice error={trial.error} />}
      {trial.data && <TrialReport trial={trial.data} />}
      <div className="flex flex-wrap gap-3">
        <Button tone="primary" disabled={next === null} onClick={() => setSigning(true)}>
          Review and sign
        </Button>
        <Button
          disabled={next === null}
          isBusy={trial.isPending}
          onClick={() => next && trial.mutate(writePolicy(next, token))}
        >
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
  return (
    <DecisionForm
      subject={{ type: 'policy', multisig, token, version, policy: next }}
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
      <p className="text-sm text-quiet">
        Stricter rules bind every batch that the company has not signed; looser ones, only batches that are created
        later.
      </p>
    </DecisionForm>
  );
}

function TrialReport({ trial }: { readonly trial: PolicyTrial }) {
  const { batches, untouched, refused, person, twoOperators, waits, byRule, examples, since } = trial;
  const title = `Of ${pluralize(batches, 'batch', 'batches')}, these rules would have met ${batches - untouched}`;
  return (
    <Notice tone="plain" title={title}>
      <p>
        Since <TimeText at={since} />: {refused} would be refused, {person} would need one operator, {twoOperators} two
        operators, and {waits} would wait.
      </p>
      <ul className="mt-2 flex flex-col gap-1">
        {byRule.map(({ sentence, batches: met }) => (
          <li key={sentence}>
            <span className="tabular font-medium">{met}</span> {sentence}
          </li>
        ))}
      </ul>
      {examples[0] && (
        <ul className="mt-2 flex flex-col gap-1 text-quiet">
          {examples.slice(0, MAX_EXAMPLES).map(({ batchId, dateCreated, rules }) => (
            <li key={batchId}>
              <TimeText at={dateCreated} /> {rules[0] && <MessageText text={rules[0].message} />}
            </li>
          ))}
        </ul>
      )}
    </Notice>
  );
}

const MAX_EXAMPLES = 5;
