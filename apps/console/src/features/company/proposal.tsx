import { BATCH_OPERATIONS, type WaitingBatch } from '@flywheel/api';
import {
  address,
  type BatchContent,
  type BatchDecision,
  contentHash,
  describeInstruction,
  summarizeContent,
} from '@flywheel/protocol';
import { readProposalContent } from '@flywheel/sdk';

import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { call } from '../../lib/api/call.ts';
import { requireRpcUrl, useEnvironment } from '../../lib/api/environment.ts';
import { ErrorNotice, Loading, Notice, SkeletonLines } from '../../ui/feedback.tsx';
import { DescriptionList, LoadMore } from '../../ui/layout.tsx';
import { AddressText } from '../../ui/text.tsx';

type Proposal = Awaited<ReturnType<typeof readProposal>>;

/** Reads from the chain what a waiting batch does, on this page’s own connection. */
export function useProposal(batch: WaitingBatch): UseQueryResult<Proposal> {
  const environment = useEnvironment();
  return useQuery({
    queryKey: ['proposal-content', batch.id, environment?.rpcUrl],
    queryFn: ({ signal }) => readProposal(requireRpcUrl(environment), batch, signal),
    enabled: environment !== undefined,
    // Opening the dialog again reads the chain again.
    gcTime: 0,
  });
}

async function readProposal(
  rpcUrl: string,
  { id: batchId, projectId, batchIndex, kind }: WaitingBatch,
  signal: AbortSignal,
) {
  const { batch } = await call(BATCH_OPERATIONS.getBatchProgress, { params: { projectId, batchId } }, { signal });
  const { multisig } = batch;
  const proposal = { multisig, batchIndex, isRotation: kind === 'rotation' };
  const read = await readProposalContent(rpcUrl, proposal, { signal });
  return { ...read, multisig, batchIndex, hash: contentHash(read.content) };
}

/** The subject of a decision about a proposal. */
export function toSubject({ multisig, batchIndex, content }: Proposal, reason: string | null): BatchDecision {
  const decision = reason === null ? 'approve' : 'reject';
  return { type: 'batch', decision, reason, multisig: address(multisig), batchIndex: BigInt(batchIndex), content };
}

/** Shows what a batch does, decoded from its bytes on chain, before the wallet is asked. */
export function ProposalFacts({ proposal }: { readonly proposal: UseQueryResult<Proposal> }) {
  if (proposal.error) return <ErrorNotice error={proposal.error} onRetry={() => void proposal.refetch()} />;
  if (!proposal.data)
    return (
      <Loading>
        <SkeletonLines count={4} />
      </Loading>
    );
  const { content, issues, multisig, hash } = proposal.data;
  const { effects, pipelines, recipients } = summarizeContent(content);
  return (
    <>
      {issues.map((issue) => (
        <Notice key={issue} tone="failed" title={issue} />
      ))}
      <ul className="flex flex-col gap-1 font-medium break-words">
        {effects.map((effect) => (
          <li key={effect}>{effect}</li>
        ))}
        {effects.length === 0 && <li>Moves nothing</li>}
      </ul>
      <InstructionList content={content} />
      <DescriptionList
        items={[
          { name: 'Recipients', value: recipients },
          { name: 'Pipelines', value: pipelines },
          { name: 'Multisig', value: <AddressText address={multisig} of="multisig" isWhole /> },
          { name: 'Content', value: <span className="font-mono text-xs break-all">{hash}</span> },
        ]}
      />
      <p className="text-sm text-quiet">
        This page read these facts from the chain. Your wallet signs them as a text, which the service’s worker writes
        itself and compares.
      </p>
    </>
  );
}

/** Lists every instruction with whole addresses: those of one pipeline, as a withdrawal is, at once. */
function InstructionList({ content }: { readonly content: BatchContent }) {
  if (!('pipelines' in content)) return null;
  const list = () => (
    <ol className="flex flex-col gap-1 text-sm">
      {content.pipelines.flat().map((instruction, position) => {
        const { program, text } = describeInstruction(instruction);
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: what is on chain never moves.
          <li key={position} className="wrap-anywhere">
            {program} {text}
          </li>
        );
      })}
    </ol>
  );
  const { length } = content.pipelines;
  return length === 1 ? list() : <LoadMore label={`Instructions of ${length} pipelines`}>{list}</LoadMore>;
}
