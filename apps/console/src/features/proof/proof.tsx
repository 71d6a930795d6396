import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { cn } from '../../ui/cn.ts';
import { QueryView, SkeletonLines } from '../../ui/feedback.tsx';
import { Page } from '../../ui/layout.tsx';
import { ProofAnswer } from './proof-answer.tsx';
import { ProofForm } from './proof-form.tsx';
import { type ProofQuestion, proofQuery } from './proof-query.ts';

/** Whether something a user did was burned or airdropped for, as the chain says; no wallet needed. */
export function Proof() {
  const search = useSearch({ from: '/proof' });
  const navigate = useNavigate();
  const question = questionOf(search);
  const answer = useQuery(proofQuery(question));
  const ask = (asked: ProofQuestion) => {
    // The question is the address, so that the answer can be passed on.
    if (JSON.stringify(asked) === JSON.stringify(question)) void answer.refetch();
    else void navigate({ to: '/proof', search: asked });
  };
  return (
    <Page
      title="Check a proof"
      lead="Every pipeline leaves a memo on chain: its type, and a hash of type and payload. Anyone can check one."
    >
      <div className="grid gap-6 lg:grid-cols-[380px_1fr] lg:items-start">
        {/* The verdict first: on a phone it stands above the question, on a wide page beside it. */}
        <div aria-live="polite" className={cn('min-w-0 lg:order-last', question === null && 'max-lg:order-last')}>
          {question === null ? (
            <HowItWorks />
          ) : (
            <QueryView query={answer} skeleton={<SkeletonLines count={2} className="h-40" />}>
              {({ check, ownHash }) => <ProofAnswer check={check} ownHash={ownHash} question={question} />}
            </QueryView>
          )}
        </div>
        <ProofForm key={JSON.stringify(question)} question={question} isBusy={answer.isFetching} onAsk={ask} />
      </div>
    </Page>
  );
}

interface ProofSearch {
  readonly type?: string;
  readonly payload?: string;
  readonly signature?: string;
}

function questionOf({ type, payload, signature }: ProofSearch): ProofQuestion | null {
  if (signature !== undefined && signature !== '') return { signature };
  return type === undefined || type === '' ? null : { type, payload: payload ?? '' };
}

function HowItWorks() {
  return (
    <ol className="flex flex-col divide-y rounded-lg border bg-raised px-4 text-quiet">
      {[
        'The payload stays as it was sent: one space more is another hash.',
        'The hash is SHA-256 of the type, a zero byte and the payload. This page reckons it too, in your browser.',
        'Proven means: a transaction that succeeded carries the memo, signed by the project’s vault.',
      ].map((sentence) => (
        <li key={sentence} className="py-3">
          {sentence}
        </li>
      ))}
    </ol>
  );
}
