import type { ProofCheck, ProvenPipeline } from '@flywheel/api';
import { readVaultProofs } from '@flywheel/sdk';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { CircleAlert, CircleCheck, CircleSlash } from 'lucide-react';
import { useEnvironment } from '../../lib/api/environment.ts';
import { cn } from '../../ui/cn.ts';
import { CopyButton } from '../../ui/copy.tsx';
import { Notice } from '../../ui/feedback.tsx';
import { DescriptionList, Panel } from '../../ui/layout.tsx';
import { StatusBadge } from '../../ui/status-badge.tsx';
import { AddressText, MessageText, TimeText } from '../../ui/text.tsx';
import { linkTo } from './proof-address.ts';
import type { MergedEvent, ProofQuestion } from './proof-query.ts';

export interface ProofResultProps {
  readonly check: ProofCheck;
  /** Computed in this browser; null for a question about a signature. */
  readonly ownHash: string | null;
  /** Null for an event that was paid alone. */
  readonly merged: MergedEvent | null;
  readonly question: ProofQuestion;
}

const VERDICTS = {
  proven: { word: 'Proven', Icon: CircleCheck, className: 'text-done', box: 'border-done/50 bg-done-wash' },
  recorded: {
    word: 'Recorded, not yet on chain',
    Icon: CircleAlert,
    className: 'text-waiting',
    box: 'border-waiting/50 bg-waiting-wash',
  },
  nothing: { word: 'No proof found', Icon: CircleSlash, className: 'text-quiet', box: 'bg-sunken' },
} as const;

/** For an answer about another hash than the question’s. */
const UNRELIABLE = {
  word: 'Do not rely on this answer',
  Icon: CircleAlert,
  className: 'text-failed',
  box: 'border-failed/50 bg-failed-wash',
} as const;

/** Shows the verdict first and the evidence below it. */
export function ProofResult({ check, ownHash, merged, question }: ProofResultProps) {
  const isSameHash = ownHash === null || check.hash === undefined || ownHash === check.hash;
  const { word, Icon, className, box } = isSameHash ? VERDICTS[check.verdict] : UNRELIABLE;
  return (
    <div className="flex flex-col gap-4">
      <section className={cn('flex flex-wrap items-start gap-4 rounded-lg border p-4', box)}>
        <Icon size={30} aria-hidden className={cn('shrink-0', className)} />
        <div className="min-w-0 flex-1 basis-60">
          <h2 className={cn('text-xl font-semibold', className)}>{word}</h2>
          <p className="break-words">
            {isSameHash ? (
              <MessageText text={check.message} />
            ) : (
              `The service answered for hash ${check.hash}. This page computed ${ownHash} from the same type and payload.`
            )}
          </p>
        </div>
        <CopyButton text={linkTo(question)} label="Copy link" />
      </section>
      {merged !== null && (
        <HashPanel
          title={`Your event, one of ${merged.count} that were paid together`}
          hash={merged.hash}
          confirmation="Computed by this page: the merged payload lists it"
        />
      )}
      {ownHash !== null && (
        <HashPanel
          title={merged === null ? 'The hash' : 'The hash of the merged payload'}
          hash={ownHash}
          confirmation={check.hash !== undefined && isSameHash ? 'Computed by this page too: it matches' : null}
        />
      )}
      {check.pipelines.map((pipeline) => (
        <Evidence
          key={`${pipeline.batchId} ${pipeline.pipeline}`}
          pipeline={pipeline}
          isOwnHash={ownHash === null ? null : pipeline.hash === ownHash}
        />
      ))}
    </div>
  );
}

interface HashPanelProps {
  readonly title: string;
  readonly hash: string;
  readonly confirmation: string | null;
}

function HashPanel({ title, hash, confirmation }: HashPanelProps) {
  return (
    <Panel title={title} aside={confirmation !== null && <StatusBadge status="done" label={confirmation} />}>
      <div className="flex flex-wrap items-center justify-between gap-3">
        <code className="min-w-0 text-sm break-all">{hash}</code>
        <CopyButton text={hash} />
      </div>
    </Panel>
  );
}

interface EvidenceProps {
  readonly pipeline: ProvenPipeline;
  /** Compares with the hash of the question; null for a question about a signature. */
  readonly isOwnHash: boolean | null;
}

function Evidence({ pipeline, isOwnHash }: EvidenceProps) {
  const { type, batchIndex, isOnChain, memo, hash, signature, slot, executedAt } = pipeline;
  const items = [
    { name: 'Type', value: <code>{type}</code> },
    {
      name: 'Memo',
      value: memo === undefined ? 'not on chain' : <code className="block max-w-full text-xs break-all">{memo}</code>,
    },
    ...(memo === undefined ? [{ name: 'Hash', value: <code className="text-xs break-all">{hash}</code> }] : []),
    ...(signature === undefined
      ? []
      : [{ name: 'Transaction', value: <AddressText address={signature} kind="signature" isLinked /> }]),
    ...(signature === undefined || memo === undefined
      ? []
      : [{ name: 'Checked by this page', value: <OnChainCheck pipeline={pipeline} /> }]),
    ...(slot === undefined ? [] : [{ name: 'Slot', value: slot }]),
    ...(executedAt === undefined ? [] : [{ name: 'Executed', value: <TimeText at={executedAt} /> }]),
    { name: 'Signed by the vault', value: <AddressText address={pipeline.vaultAddress} of="vault" isLinked /> },
    { name: 'Multisig', value: <AddressText address={pipeline.multisig} of="multisig" isLinked /> },
    { name: 'Token', value: <AddressText address={pipeline.mintAddress} of="mint" isLinked /> },
  ];
  return (
    <Panel
      title={`Pipeline ${pipeline.pipeline} of batch ${batchIndex}`}
      aside={
        isOnChain ? (
          <StatusBadge status="done" label="On chain" />
        ) : (
          <StatusBadge status="waiting" label="Not on chain yet" />
        )
      }
    >
      <div className="flex flex-col gap-3">
        {isOwnHash === false && (
          <Notice tone="failed" title="This pipeline has another hash than your type and payload" />
        )}
        <DescriptionList items={items} />
        <p className="text-sm text-quiet">
          A proof shows one pipeline.{' '}
          <Link
            to="/audit/$vault"
            params={{ vault: pipeline.vaultAddress }}
            className="text-accent underline underline-offset-2"
          >
            Audit the vault
          </Link>{' '}
          to see all that it did.
        </p>
      </div>
    </Panel>
  );
}

/** Reads the transaction from the cluster and looks for the memo, independently of the service. */
function OnChainCheck({ pipeline }: { readonly pipeline: ProvenPipeline }) {
  const rpcUrl = useEnvironment()?.rpcUrl;
  const { signature = '', memo = '', vaultAddress: vault } = pipeline;
  const check = useQuery({
    queryKey: ['memo', signature, memo, vault],
    queryFn: async () => {
      const found = await readVaultProofs(rpcUrl ?? '', { signature, vault, commitment: 'confirmed' });
      return found?.proofs.some(({ text }) => text === memo) ?? false;
    },
    enabled: rpcUrl !== undefined && signature !== '' && memo !== '',
  });
  if (check.data === true) return <StatusBadge status="done" label="Memo found, signed by the vault" />;
  if (check.data === false) return <StatusBadge status="failed" label="Memo not found in this transaction" />;
  return check.error ? 'The cluster did not answer this page' : <StatusBadge status="running" label="Checking" />;
}
