import { BATCH_OPERATIONS, type WaitingBatch } from '@flywheel/api';
import { contentHash, summarizeContent } from '@flywheel/protocol';
import { readProposalContent } from '@flywheel/sdk';
import { address } from '@solana/kit';
import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { call } from '../../lib/api/call.ts';
import { useEnvironment, walletChain } from '../../lib/api/environment.ts';
import { useSession } from '../../lib/api/session.ts';
import { type DecisionEncoding, signDecision } from '../../lib/wallet/sign-decision.ts';
import { Checkbox } from '../../ui/checkbox.tsx';
import { ErrorNotice, Notice, SkeletonLines } from '../../ui/feedback.tsx';
import { DescriptionList } from '../../ui/layout.tsx';
import { AddressText } from '../../ui/text.tsx';

type Proposal = Awaited<ReturnType<typeof readProposal>>;

/** Reads from the chain what a waiting batch does, on this page’s own connection. */
export function useProposal(batch: WaitingBatch): UseQueryResult<Proposal> {
  const rpcUrl = useEnvironment()?.rpcUrl ?? null;
  return useQuery({
    queryKey: ['proposal-content', batch.id, rpcUrl],
    queryFn: () => readProposal(rpcUrl, batch),
    enabled: rpcUrl !== null,
    // Opening the dialog again reads the chain again.
    gcTime: 0,
  });
}

async function readProposal(rpcUrl: string | null, { id: batchId, projectId, batchIndex, kind }: WaitingBatch) {
  if (rpcUrl === null) throw new Error('The RPC URL of the cluster is not known yet.');
  const { batch } = await call(BATCH_OPERATIONS.getBatchProgress, { params: { projectId, batchId } });
  const { multisig } = batch;
  const read = await readProposalContent(rpcUrl, { multisig, batchIndex, isRotation: kind === 'rotation' });
  return { ...read, multisig, batchIndex, hash: await contentHash(read.content) };
}

/** Returns a function that asks the operator’s wallet to sign a decision about a proposal. */
export function useSignDecision() {
  const wallet = useSession()?.wallet;
  const environment = useEnvironment();
  return (proposal: Proposal, reason: string | null, encoding: DecisionEncoding) => {
    if (wallet === undefined) throw new Error('You are signed out. Sign in, then decide again.');
    const subject = {
      type: 'batch',
      decision: reason === null ? 'approve' : 'reject',
      reason,
      multisig: address(proposal.multisig),
      batchIndex: BigInt(proposal.batchIndex),
      content: proposal.content,
    } as const;
    return signDecision({
      subject,
      genesisHash: proposal.genesisHash,
      operator: wallet,
      encoding,
      chain: walletChain(environment),
    });
  };
}

/** Shows what a batch does, decoded from its bytes on chain, before the wallet is asked. */
export function ProposalFacts({ proposal }: { readonly proposal: UseQueryResult<Proposal> }) {
  if (proposal.error) return <ErrorNotice error={proposal.error} onRetry={() => void proposal.refetch()} />;
  if (!proposal.data) return <SkeletonLines count={4} />;
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
      <DescriptionList
        items={[
          { name: 'Recipients', value: recipients },
          { name: 'Pipelines', value: pipelines },
          { name: 'Multisig', value: <AddressText address={multisig} of="multisig" /> },
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

interface EncodingFieldProps {
  readonly encoding: DecisionEncoding;
  readonly onChange: (encoding: DecisionEncoding) => void;
}

/** Lets the operator sign with a hardware wallet that signs no messages. */
export function EncodingField({ encoding, onChange }: EncodingFieldProps) {
  return (
    <Checkbox checked={encoding === 'memo'} onChange={(isMemo) => onChange(isMemo ? 'memo' : 'message')}>
      My wallet signs transactions only: sign a memo transaction, which is never sent
    </Checkbox>
  );
}
