import { useQuery } from '@tanstack/react-query';
import { useLocation, useNavigate, useSearch } from '@tanstack/react-router';
import { cn } from '../../ui/cn.ts';
import { QueryView, SkeletonLines } from '../../ui/feedback.tsx';
import { Page } from '../../ui/layout.tsx';
import { addressOf, questionOf } from './proof-address.ts';
import { ProofForm } from './proof-form.tsx';
import { type ProofQuestion, proofQuery } from './proof-query.ts';
import { ProofResult } from './proof-result.tsx';

/** Checks on chain whether a pipeline was executed. Public: needs no wallet and no sign-in. */
export function Proof() {
  const search = useSearch({ from: '/proof' });
  const navigate = useNavigate();
  const hash = useLocation({ select: (location) => location.hash });
  const question = questionOf(search, hash);
  const answer = useQuery(proofQuery(question));
  const ask = (asked: ProofQuestion) => {
    // The question is part of the address, so that people can share the result.
    if (JSON.stringify(asked) === JSON.stringify(question)) void answer.refetch();
    else void navigate({ to: '/proof', ...addressOf(asked) });
  };
  return (
    <Page
      title="Check a proof"
      lead="Every pipeline writes a memo on chain: its type and a hash of its type and payload. Anyone can check it."
    >
      <div className="grid grid-cols-1 gap-6 lg:grid-cols-[380px_1fr] lg:items-start">
        {/* The result stands above the form on a phone and beside it on a desktop. */}
        <div aria-live="polite" className={cn('min-w-0 lg:order-last', question === null && 'max-lg:order-last')}>
          {question === null ? (
            <HowItWorks />
          ) : (
            <QueryView query={answer} skeleton={<SkeletonLines count={2} className="h-40" />}>
              {(answered) => <ProofResult {...answered} question={question} />}
            </QueryView>
          )}
        </div>
        <ProofForm key={JSON.stringify(question)} question={question} isBusy={answer.isFetching} onAsk={ask} />
      </div>
    </Page>
  );
}

function HowItWorks() {
  return (
    <ol className="flex flex-col divide-y rounded-lg border bg-raised px-4 text-quiet">
      {[
        'The payload must be exactly what was sent: one more space changes the hash.',
        'The hash is SHA-256 of the type, a zero byte and the payload. Your browser computes it too.',
        'Proven means that a successful transaction contains the memo, signed by the project’s vault.',
        'An event that was paid together with others also needs the merged payload, which the project publishes.',
      ].map((sentence) => (
        <li key={sentence} className="py-3">
          {sentence}
        </li>
      ))}
    </ol>
  );
}
