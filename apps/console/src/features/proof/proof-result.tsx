import type { ProofCheck, ProvenPipeline } from '@flywheel/api';
import { formatProofMemo } from '@flywheel/protocol';
import { Link } from '@tanstack/react-router';
import { CircleAlert, CircleCheck, CircleDashed, CircleSlash } from 'lucide-react';
import { cn } from '../../ui/cn.ts';
import { CopyButton } from '../../ui/copy.tsx';
import { Notice } from '../../ui/feedback.tsx';
import { DescriptionList, Panel } from '../../ui/layout.tsx';
import { StatusBadge } from '../../ui/status-badge.tsx';
import { AddressText, MessageText, TimeText } from '../../ui/text.tsx';
import { type OwnCheck, useOwnChecks } from './own-check.ts';
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

/** While this page reads the chain itself. */
const CHECKING = { word: 'Checking the chain', Icon: CircleDashed, className: 'text-quiet', box: 'bg-sunken' } as const;

/** For a transaction that this page could not read. */
const UNCONFIRMED = {
  word: 'Not confirmed by this page',
  Icon: CircleAlert,
  className: 'text-waiting',
  box: 'border-waiting/50 bg-waiting-wash',
} as const;

/** For an answer about another hash than the question’s, and for one that the chain refutes. */
const UNRELIABLE = {
  word: 'Do not rely on this answer',
  Icon: CircleAlert,
  className: 'text-failed',
  box: 'border-failed/50 bg-failed-wash',
} as const;

/** Shows the verdict first and the evidence below it. */
export function ProofResult({ check, ownHash, merged, question }: ProofResultProps) {
  const isSameHash = ownHash === null || check.hash === undefined || ownHash === check.hash;
  const memo = 'type' in question && ownHash !== null ? formatProofMemo({ type: question.type, hash: ownHash }) : null;
  const own = useOwnChecks(check.pipelines, memo);
  const { word, Icon, className, box } = isSameHash ? verdictOf(check.verdict, own) : UNRELIABLE;
  return (
    <div className="flex flex-col gap-4">
      <section className={cn('flex flex-wrap items-start gap-4 rounded-lg border p-4', box)}>
        <Icon size={30} aria-hidden className={cn('shrink-0', className)} />
        <div className="min-w-0 flex-1 basis-60">
          <h2 className={cn('text-xl font-semibold', className)}>{word}</h2>
          <p className="break-words">
            {isSameHash ? (
              <VerdictText check={check} own={own} />
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
      {check.pipelines.map((pipeline, position) => (
        <Evidence
          key={`${pipeline.batchId} ${pipeline.pipeline}`}
          pipeline={pipeline}
          own={own[position] ?? null}
          isOwnHash={ownHash === null ? null : pipeline.hash === ownHash}
        />
      ))}
    </div>
  );
}

/** The headline: the service's verdict, if this page finds the same on chain. */
function verdictOf(verdict: ProofCheck['verdict'], own: readonly (OwnCheck | null)[]) {
  if (own.includes('missing')) return UNRELIABLE;
  if (verdict !== 'proven' || isConfirmed(own)) return VERDICTS[verdict];
  return own.includes('pending') ? CHECKING : UNCONFIRMED;
}

/** True if this page has found every memo that the service names, and there is one. */
function isConfirmed(own: readonly (OwnCheck | null)[]): boolean {
  const checked = own.filter((result) => result !== null);
  return checked.length > 0 && checked.every((result) => result === 'found');
}

function VerdictText({ check, own }: { readonly check: ProofCheck; readonly own: readonly (OwnCheck | null)[] }) {
  if (own.includes('missing')) {
    return 'The service names a transaction with the memo. This page has read the transaction, and the memo is not in it.';
  }
  if (check.verdict !== 'proven' || isConfirmed(own)) return <MessageText text={check.message} />;
  return (
    <>
      The service says: <MessageText text={check.message} />
    </>
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
  /** Null without a memo to look for. */
  readonly own: OwnCheck | null;
  /** Compares with the hash of the question; null for a question about a signature. */
  readonly isOwnHash: boolean | null;
}

function Evidence({ pipeline, own, isOwnHash }: EvidenceProps) {
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
    ...(own === null ? [] : [{ name: 'Checked by this page', value: <OnChainCheck own={own} /> }]),
    ...(slot === undefined ? [] : [{ name: 'Slot', value: slot }]),
    ...(executedAt === undefined ? [] : [{ name: 'Executed', value: <TimeText at={executedAt} /> }]),
    {
      name: own === 'found' ? 'Signed by the vault' : 'Vault',
      value: <AddressText address={pipeline.vaultAddress} of="vault" isLinked />,
    },
    { name: 'Multisig', value: <AddressText address={pipeline.multisig} of="multisig" isLinked /> },
    { name: 'Token', value: <AddressText address={pipeline.mintAddress} of="mint" isLinked /> },
  ];
  return (
    <Panel
      title={`Pipeline ${pipeline.pipeline} of batch ${batchIndex}`}
      aside={<ChainBadge isOnChain={isOnChain} own={own} />}
    >
      <div className="flex flex-col gap-3">
        {isOwnHash === false && (
          <Notice tone="failed" title="The hash of this pipeline differs from the hash of your type and payload" />
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

/** Says “On chain” only of a memo that this page has found; without that it is the word of the service. */
function ChainBadge({ isOnChain, own }: { readonly isOnChain: boolean; readonly own: OwnCheck | null }) {
  if (own === 'found') return <StatusBadge status="done" label="On chain" />;
  if (own === 'missing') return <StatusBadge status="failed" label="Not in this transaction" />;
  return <StatusBadge status="waiting" label={isOnChain ? 'The service says: on chain' : 'Not on chain yet'} />;
}

function OnChainCheck({ own }: { readonly own: OwnCheck }) {
  switch (own) {
    case 'pending':
      return <StatusBadge status="running" label="Checking" />;
    case 'found':
      return <StatusBadge status="done" label="Memo found, signed by the vault" />;
    case 'missing':
      return <StatusBadge status="failed" label="Memo not found in this transaction" />;
    case 'unknown':
      return 'The node of this page does not know this transaction. It may keep no old ones.';
    case 'unread':
      return 'The cluster did not answer this page';
    default:
      return own satisfies never;
  }
}
