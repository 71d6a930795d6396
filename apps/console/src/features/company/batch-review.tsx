import { useQuery } from '@tanstack/react-query';
import { CircleAlert, Scale } from 'lucide-react';
import type { ReactNode } from 'react';
import { batchReviewQuery } from '../../lib/api/policies.ts';
import { ErrorNotice, Loading, SkeletonLines } from '../../ui/feedback.tsx';
import { MessageText } from '../../ui/text.tsx';

interface BatchReviewProps {
  readonly batchId: string;
  /** For a batch whose amounts are no burns and airdrops: says in sentences what it does. */
  readonly showsEffects: boolean;
}

/** Shows the rules that apply to a waiting batch, and what is unusual about it. */
export function BatchReview({ batchId, showsEffects }: BatchReviewProps) {
  const review = useQuery(batchReviewQuery(batchId));
  if (review.error) return <ErrorNotice error={review.error} onRetry={() => void review.refetch()} />;
  if (!review.data)
    return (
      <Loading>
        <SkeletonLines count={1} />
      </Loading>
    );
  const { rules, unusual, approvals } = review.data;
  const effects = showsEffects ? review.data.effects : [];
  const isFirst = approvals.required > 1;
  if (effects.length + rules.length + unusual.length === 0 && !isFirst) return null;
  return (
    <div className="flex flex-col gap-3">
      {effects.map((effect) => (
        <p key={effect} className="font-medium wrap-anywhere">
          <MessageText text={effect} />
        </p>
      ))}
      {isFirst && (
        <p className="font-medium">
          {approvals.given} of {approvals.required} operators have approved.
        </p>
      )}
      <Findings title="Rules that apply" icon={<Scale size={15} aria-hidden className="mt-0.5 shrink-0 text-quiet" />}>
        {rules.map(({ message }) => message)}
      </Findings>
      <Findings title="Unusual" icon={<CircleAlert size={15} aria-hidden className="mt-0.5 shrink-0 text-waiting" />}>
        {unusual.map(({ message }) => message)}
      </Findings>
    </div>
  );
}

interface FindingsProps {
  readonly title: string;
  readonly icon: ReactNode;
  readonly children: readonly string[];
}

function Findings({ title, icon, children: messages }: FindingsProps) {
  if (messages.length === 0) return null;
  return (
    <div>
      <h3 className="text-sm text-quiet">{title}</h3>
      <ul className="flex flex-col gap-1">
        {messages.map((message) => (
          <li key={message} className="flex items-start gap-2">
            {icon}
            <span className="min-w-0 break-words">
              <MessageText text={message} />
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}
