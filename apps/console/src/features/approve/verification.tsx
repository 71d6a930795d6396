import { BATCH_OPERATIONS, type BatchDetail } from '@flywheel/api';
import { type Difference, type Look, lookBeforeSign } from '@flywheel/sdk';
import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { call } from '../../lib/service/call.ts';
import { useEnvironment } from '../../lib/service/environment.ts';
import { count } from '../../lib/text/count.ts';
import { Ring } from '../../ui/drawn/ring.tsx';
import { ErrorNotice, Notice } from '../../ui/state/notice.tsx';

interface VerificationNoticeProps {
  readonly query: UseQueryResult<VerifiedApproval>;
  readonly pipelineCount: number;
}

/** Whether what would be signed is what is shown; in red, with what differs, where it is not. */
export function VerificationNotice({ query, pipelineCount }: VerificationNoticeProps) {
  const environment = useEnvironment();
  if (query.error) return <ErrorNotice error={query.error} onRetry={() => void query.refetch()} />;
  if (!query.data) return <VerificationPending pipelineCount={pipelineCount} />;
  const objections = verificationIssues(query.data.look);
  if (objections.length > 0) return <VerificationIssues objections={objections} />;
  return (
    <Notice tone="done" title="What is on chain is what you see">
      {count(pipelineCount, 'message')} read from {hostOf(environment?.rpcUrl)} over this page’s own connection, and
      compared with the pipelines shown, byte by byte.
    </Notice>
  );
}

function VerificationPending({ pipelineCount }: { readonly pipelineCount: number }) {
  return (
    <div role="status" className="flex min-h-[86px] items-center gap-3 rounded border bg-sunken p-3">
      <Ring size={22} closed={0.7} isTurning className="text-accent" />
      <p>Reading {count(pipelineCount, 'message')} from the chain, to compare.</p>
    </div>
  );
}

/** More than this is more than anyone reads before not signing. */
const MAX_SHOWN = 12;

function VerificationIssues({ objections }: { readonly objections: readonly Difference[] }) {
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

interface VerifiedApproval {
  readonly look: Look;
  /** The very bytes that were looked at, and the only ones to sign: base64. */
  readonly proposalApproveTx: string;
}

interface VerificationInput {
  readonly projectId: string;
  readonly batch: BatchDetail;
  /** Who is to sign. */
  readonly wallet: string;
  readonly isMyTurn: boolean;
}

/** The approval to sign, and what this page finds in its bytes and on chain; asking again asks for both anew. */
export function useVerification({
  projectId,
  batch,
  wallet,
  isMyTurn,
}: VerificationInput): UseQueryResult<VerifiedApproval> {
  const rpcUrl = useEnvironment()?.rpcUrl ?? null;
  const batchId = batch.batch.id;
  const { multisig, batchIndex, vaultAddress, mintAddress } = batch.batch;
  const { pipelines } = batch;
  return useQuery({
    // Of what is shown now, and of nothing that was shown before or will be: the batch is read again while one looks.
    queryKey: ['look', batchId, wallet, rpcUrl, multisig, batchIndex, vaultAddress, mintAddress, numberOf(pipelines)],
    queryFn: async ({ signal }): Promise<VerifiedApproval> => {
      if (rpcUrl === null) throw new Error('The service has not said yet which cluster it is on.');
      const { proposalApproveTx } = await call(
        BATCH_OPERATIONS.getApproval,
        { params: { projectId, batchId } },
        { signal },
      );
      const shown = { multisig, batchIndex, vaultAddress, mintAddress, pipelines };
      return { look: await lookBeforeSign(rpcUrl, { wallet, batch: shown, proposalApproveTx }), proposalApproveTx };
    },
    enabled: isMyTurn && rpcUrl !== null,
    // An active proposal’s messages cannot change any more.
    staleTime: Number.POSITIVE_INFINITY,
    // Whoever opens the screen anew sees the chain as it is then.
    gcTime: 0,
  });
}

const numbers = new WeakMap<BatchDetail['pipelines'], number>();
let lastNumber = 0;

/** Pipelines that were read again and are the same stay the same array, and have the same number. */
function numberOf(pipelines: BatchDetail['pipelines']): number {
  const known = numbers.get(pipelines);
  if (known !== undefined) return known;
  lastNumber += 1;
  numbers.set(pipelines, lastNumber);
  return lastNumber;
}

/** Everything that stands against signing, a sentence each, the approval’s own faults first; empty when it is safe. */
export function verificationIssues({ approvalFaults, differences }: Look): readonly Difference[] {
  return [...approvalFaults.map((text) => ({ pipeline: null, text })), ...differences];
}
