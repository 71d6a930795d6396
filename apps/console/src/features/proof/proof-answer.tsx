import type { ProofCheck, ProvenPipeline } from '@flywheel/api';
import { CircleAlert, CircleCheck, CircleSlash } from 'lucide-react';
import { cn } from '../../ui/cn.ts';
import { CopyButton } from '../../ui/copy.tsx';
import { Notice } from '../../ui/feedback.tsx';
import { DescriptionList, Panel } from '../../ui/layout.tsx';
import { StatusBadge } from '../../ui/status-badge.tsx';
import { AddressText, MessageText, TimeText } from '../../ui/text.tsx';
import { OwnLook } from './own-look.tsx';
import type { ProofQuestion } from './proof-query.ts';

export interface ProofAnswerProps {
  readonly check: ProofCheck;
  /** Reckoned in this browser; null when a signature was asked about. */
  readonly ownHash: string | null;
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

/** The service answered for something else than was asked. */
const UNRELIABLE = {
  word: 'Do not rely on this answer',
  Icon: CircleAlert,
  className: 'text-failed',
  box: 'border-failed/50 bg-failed-wash',
} as const;

/** The verdict first; under it the evidence. */
export function ProofAnswer({ check, ownHash, question }: ProofAnswerProps) {
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
              `The service’s hash is ${check.hash}; this page reckons ${ownHash} of the same type and payload.`
            )}
          </p>
        </div>
        <CopyButton text={linkTo(question)} label="Copy the link" />
      </section>
      {ownHash !== null && <OwnHash hash={ownHash} isConfirmed={check.hash !== undefined && isSameHash} />}
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

function linkTo(question: ProofQuestion): string {
  return `${location.origin}/proof?${new URLSearchParams({ ...question })}`;
}

function OwnHash({ hash, isConfirmed }: { readonly hash: string; readonly isConfirmed: boolean }) {
  return (
    <Panel
      title="The hash"
      aside={isConfirmed && <StatusBadge status="done" label="Reckoned here and there: the same" />}
    >
      <div className="flex flex-wrap items-center justify-between gap-3">
        <code className="min-w-0 text-sm break-all">{hash}</code>
        <CopyButton text={hash} />
      </div>
    </Panel>
  );
}

interface EvidenceProps {
  readonly pipeline: ProvenPipeline;
  /** Whether it is the hash of what was asked; null when a signature was asked about. */
  readonly isOwnHash: boolean | null;
}

function Evidence({ pipeline, isOwnHash }: EvidenceProps) {
  const { type, batchIndex, isOnChain, memo, hash, signature, slot, executedAt } = pipeline;
  const facts = [
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
      : [{ name: 'Looked up by this page', value: <OwnLook pipeline={pipeline} /> }]),
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
          <Notice tone="failed" title="This is another hash than that of your type and payload" />
        )}
        <DescriptionList items={facts} />
      </div>
    </Panel>
  );
}
