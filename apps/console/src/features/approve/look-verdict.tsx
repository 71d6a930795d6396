import type { Difference } from '@flywheel/sdk';
import type { UseQueryResult } from '@tanstack/react-query';
import { useEnvironment } from '../../lib/service/environment.ts';
import { count } from '../../lib/text/count.ts';
import { Ring } from '../../ui/drawn/ring.tsx';
import { ErrorNotice, Notice } from '../../ui/state/notice.tsx';
import { objectionsTo } from './objections.ts';
import type { LookedAt } from './use-look.ts';

export interface LookVerdictProps {
  readonly query: UseQueryResult<LookedAt>;
  readonly pipelineCount: number;
}

/** Whether what would be signed is what is shown; in red, with what differs, where it is not. */
export function LookVerdict({ query, pipelineCount }: LookVerdictProps) {
  const environment = useEnvironment();
  if (query.error) return <ErrorNotice error={query.error} onRetry={() => void query.refetch()} />;
  if (!query.data) return <Looking pipelineCount={pipelineCount} />;
  const objections = objectionsTo(query.data.look);
  if (objections.length > 0) return <Objections objections={objections} />;
  return (
    <Notice tone="done" title="What is on chain is what you see">
      {count(pipelineCount, 'message')} read from {hostOf(environment?.rpcUrl)} over this page’s own connection, and
      compared with the pipelines shown, byte by byte.
    </Notice>
  );
}

function Looking({ pipelineCount }: { readonly pipelineCount: number }) {
  return (
    <div role="status" className="flex min-h-[86px] items-center gap-3 rounded border bg-sunken p-3">
      <Ring size={22} closed={0.7} isTurning className="text-accent" />
      <p>Reading {count(pipelineCount, 'message')} from the chain, to compare.</p>
    </div>
  );
}

/** More than this is more than anyone reads before not signing. */
const MAX_SHOWN = 12;

function Objections({ objections }: { readonly objections: readonly Difference[] }) {
  const more = objections.length - MAX_SHOWN;
  return (
    <Notice
      tone="failed"
      title={`Do not sign this: ${objections.length} ${objections.length === 1 ? 'thing differs' : 'things differ'}`}
    >
      <ul className="mt-1 flex list-disc flex-col gap-1 pl-4">
        {objections.slice(0, MAX_SHOWN).map(({ pipeline, text }) => (
          <li key={`${pipeline} ${text}`} className="break-words">
            {pipeline !== null && <span className="font-medium">Pipeline {pipeline}. </span>}
            {text}
          </li>
        ))}
      </ul>
      {more > 0 && <p className="mt-1">and {more.toLocaleString('en')} more, each marked in its pipeline.</p>}
      <p className="mt-2">
        Either the service shows another batch than the one it set up, or somebody changed one of the two. Tell the
        company, by another way than this page.
      </p>
    </Notice>
  );
}

function hostOf(url: string | undefined): string {
  return url === undefined ? 'the cluster' : new URL(url).host;
}
