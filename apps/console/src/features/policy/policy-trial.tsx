import type { CompanyPolicy, PolicyTrial } from '@flywheel/api';
import { pluralize, shorten } from '@flywheel/protocol';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { policyTrialQuery } from '../../lib/api/policies.ts';
import { Notice, QueryView, SkeletonLines } from '../../ui/feedback.tsx';
import { MessageText, TimeText } from '../../ui/text.tsx';

export interface PolicyTrialViewProps {
  readonly projectId: string;
  readonly policy: CompanyPolicy;
}

/** Tries rules on the batches of the last 30 days, and shows what they would have done. */
export function PolicyTrialView({ projectId, policy }: PolicyTrialViewProps) {
  const trial = useQuery(policyTrialQuery(projectId, policy));
  return (
    <QueryView query={trial} skeleton={<SkeletonLines count={1} className="h-24" />}>
      {(shown) => <TrialReport projectId={projectId} trial={shown} />}
    </QueryView>
  );
}

function TrialReport({ projectId, trial }: { readonly projectId: string; readonly trial: PolicyTrial }) {
  const { batches, untouched, refused, person, twoOperators, waits, byRule, examples, since } = trial;
  const affected = batches - untouched;
  if (batches === 0) {
    return <Notice tone="plain" title="No batches of the last 30 days: nothing to try these rules on." />;
  }
  return (
    <Notice
      tone="plain"
      title={`Of ${pluralize(batches, 'batch', 'batches')}, these rules would have applied to ${affected}`}
    >
      <p>
        Since <TimeText at={since} />: {refused} would be refused, {person} would need one operator, {twoOperators} two
        operators, and {waits} would wait.
      </p>
      <ul className="mt-2 flex flex-col gap-1">
        {byRule.map(({ sentence, batches: ofRule }) => (
          <li key={sentence}>
            <span className="tabular font-medium">{pluralize(ofRule, 'batch', 'batches')}:</span> {sentence}
          </li>
        ))}
      </ul>
      {examples.length > 0 && (
        <details className="mt-2" open={examples.length <= MAX_OPEN}>
          <summary className="cursor-pointer text-quiet">
            Batches they apply to (
            {examples.length === affected ? affected : `newest ${examples.length} of ${affected}`})
          </summary>
          <ul className="mt-1 flex flex-col gap-1">
            {examples.map(({ batchId, batchIndex, dateCreated, rules }) => (
              <li key={batchId}>
                {/* In another tab: the rules that are not saved would be lost. */}
                <Link
                  to="/p/$projectId/batches/$batchId"
                  params={{ projectId, batchId }}
                  target="_blank"
                  className="text-accent underline"
                >
                  Batch {batchIndex ?? shorten(batchId)}
                </Link>
                , <TimeText at={dateCreated} />: {rules[0] && <MessageText text={rules[0].message} />}
              </li>
            ))}
          </ul>
        </details>
      )}
    </Notice>
  );
}

/** A longer list is opened by a click. */
const MAX_OPEN = 5;
