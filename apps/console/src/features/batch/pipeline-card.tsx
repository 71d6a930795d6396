import type { Pipeline } from '@flywheel/api';
import {
  type DescribedInstruction,
  decimalOf,
  decodeInstruction,
  describeInstruction,
  proofMemo,
} from '@flywheel/protocol';
import type { Mismatch } from '@flywheel/sdk';
import { ChevronRight, CircleMinus } from 'lucide-react';
import { Fragment, useMemo } from 'react';
import { Meter } from '../../ui/charts.tsx';
import { cn } from '../../ui/cn.ts';
import { CopyButton } from '../../ui/copy.tsx';
import { STATUS_COLORS, type Status } from '../../ui/status.ts';
import { StatusBadge, StatusIcon } from '../../ui/status-badge.tsx';
import { AddressText, AmountText } from '../../ui/text.tsx';
import { type BatchAction, type PipelineRecord, type ShownPipeline, withdrawnUnit } from './batch-summary.ts';

interface PipelineCardProps {
  readonly position: number;
  readonly pipeline: ShownPipeline;
  readonly mismatches: readonly Mismatch[];
  readonly isOpen: boolean;
  readonly onToggle: () => void;
}

const STATES = {
  waiting: null,
  executed: { state: 'done', word: 'Executed' },
  failed: { state: 'failed', word: 'Failed' },
  skipped: { state: null, word: 'Not executed' },
} as const satisfies Record<PipelineRecord['state'], { readonly state: Status | null; readonly word: string } | null>;

/** Shows a pipeline: type, payload and actions; when open also its proof memo and instructions. */
export function PipelineCard({ position, pipeline, mismatches, isOpen, onToggle }: PipelineCardProps) {
  const { type, payload, actions, state, signature, bytes, maxBytes } = pipeline;
  const mark = state && STATES[state];
  return (
    <article className="flex flex-col gap-2">
      <header className="flex min-h-7 items-center gap-x-2 max-sm:flex-wrap">
        <button
          type="button"
          onClick={onToggle}
          aria-expanded={isOpen}
          className="flex min-h-11 min-w-0 flex-1 items-center gap-2 rounded-sm text-left md:min-h-7"
        >
          <ChevronRight size={15} aria-hidden className={cn('shrink-0 text-quiet', isOpen && 'rotate-90')} />
          <span className="tabular text-xs text-quiet">
            <span className="sr-only">Pipeline </span>
            {position}
          </span>
          <span className="min-w-0 font-mono text-sm font-medium wrap-anywhere">
            <TypeName type={type} />
          </span>
          {!isOpen && (
            <code
              className={cn(
                'min-w-0 flex-1 truncate font-mono text-xs text-quiet print:whitespace-normal print:wrap-anywhere',
                signature !== undefined && 'max-sm:not-print:hidden', // a phone would show one character of it
              )}
            >
              {payload}
            </code>
          )}
        </button>
        {bytes !== undefined && maxBytes !== undefined && state === undefined && (
          <span className="flex items-center gap-2 sm:w-32">
            {/* A phone has room for the name of the type or for the bar; the open card has it, too. */}
            <span className="flex-1 max-sm:sr-only">
              <Meter share={bytes / maxBytes} label={`Size of pipeline ${position}`} />
            </span>
            <span className="tabular w-16 text-right text-xs text-quiet">{bytes} B</span>
          </span>
        )}
        {signature && (
          <span className="max-sm:order-last max-sm:basis-full max-sm:pl-[23px]">
            <AddressText address={signature} kind="signature" isLinked />
          </span>
        )}
        {mark && (
          <span
            className={cn(
              'inline-flex shrink-0 items-center gap-1.5 text-sm',
              mark.state === null ? 'text-quiet' : STATUS_COLORS[mark.state],
            )}
          >
            {mark.state === null ? <CircleMinus size={15} aria-hidden /> : <StatusIcon status={mark.state} size={15} />}
            {/* Most pipelines of a batch are executed; a phone has no room for the word beside the transaction. */}
            <span className={cn(mark.state === 'done' && 'max-sm:sr-only')}>{mark.word}</span>
          </span>
        )}
      </header>
      <ul className="flex flex-col gap-1 pl-[23px]">
        {actions.map((action, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the actions of a pipeline never move.
          <li key={index} className="flex min-h-6 flex-wrap items-center gap-2 max-md:has-[button]:min-h-11">
            <ActionText action={action} isOpen={isOpen} />
          </li>
        ))}
      </ul>
      {mismatches.map(({ text }) => (
        <p
          key={text}
          className="rounded border border-failed/50 bg-failed-wash px-3 py-2 text-sm break-words text-failed"
        >
          {text}
        </p>
      ))}
      {isOpen && <PipelineDetails pipeline={pipeline} />}
    </article>
  );
}

/** A long type wraps after an underscore, not within a word. */
function TypeName({ type }: Pick<ShownPipeline, 'type'>) {
  return type.split(/(?<=_)/).map((word, position) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the words of a type stay in order.
    <Fragment key={position}>
      {position > 0 && <wbr />}
      {word}
    </Fragment>
  ));
}

function PipelineDetails({ pipeline }: { readonly pipeline: ShownPipeline }) {
  const { payload, memo, bytes, maxBytes } = pipeline;
  const instructions = pipeline.onChain ?? pipeline.instructions?.map(readInstruction);
  return (
    <div className="arriving ml-[23px] flex flex-col gap-4 border-l pl-4">
      <Section title="Payload">
        <code className="block font-mono text-xs break-all whitespace-pre-wrap">{payload}</code>
      </Section>
      {memo !== undefined && (
        <Section title="Proof memo">
          <ProofMemo pipeline={pipeline} memo={memo} />
        </Section>
      )}
      {instructions && (
        <Section title="Instructions, decoded from their bytes">
          <InstructionList instructions={instructions} />
        </Section>
      )}
      {bytes !== undefined && maxBytes !== undefined && (
        <Section title={`Size: ${bytes} of ${maxBytes} bytes`}>
          <Meter share={bytes / maxBytes} label="Size of the pipeline" />
        </Section>
      )}
    </div>
  );
}

function Section({ title, children }: { readonly title: string; readonly children: React.ReactNode }) {
  return (
    <section className="flex min-w-0 flex-col gap-1">
      <h4 className="text-xs text-quiet">{title}</h4>
      {children}
    </section>
  );
}

interface ActionTextProps {
  readonly action: BatchAction;
  /** The open card shows every character: it is what a wallet signs, and a phone has no tooltips. */
  readonly isOpen: boolean;
}

/** Describes an action, with a dot in the colour of its kind. */
function ActionText({ action, isOpen }: ActionTextProps) {
  switch (action.action) {
    case 'BURN':
      return (
        <>
          <Kind className="bg-ember" word="Burn" />
          <Amount amount={decimalOf(action.amount)} unit="tokens" />
        </>
      );
    case 'AIRDROP':
      return (
        <>
          <Kind className="bg-tide" word="Airdrop" />
          {!isOpen && <AddressText address={action.toAddress} of="recipient" isLinked />}
          <Amount amount={decimalOf(action.amount)} unit="tokens" />
          {isOpen && <WholeAddress word="To" address={action.toAddress} of="recipient" />}
        </>
      );
    case 'MEMO':
      return (
        <>
          <Kind className="bg-slate" word="Memo" />
          {isOpen ? (
            <span className="basis-full pl-4 wrap-anywhere whitespace-pre-wrap">{action.message}</span>
          ) : (
            <span className="min-w-0 truncate text-right print:whitespace-normal">{action.message}</span>
          )}
        </>
      );
    case 'WITHDRAW':
      return (
        <>
          <Kind className="bg-ink" word="Withdraw" />
          <Amount amount={action.amount} unit={withdrawnUnit(action.asset, 'tokens')} />
          <WholeAddress word="To" address={action.toAddress} of="recipient" />
        </>
      );
    case 'ROTATE':
      return (
        <>
          <Kind className="bg-ink" word={ROTATION_WORDS[action.approver]} />
          <WholeAddress word="From" address={action.from} of="current member" />
          <WholeAddress word="To" address={action.to} of="new member" />
        </>
      );
    default:
      return action satisfies never;
  }
}

function WholeAddress({ word, ...of }: { readonly word: string; readonly address: string; readonly of: string }) {
  return (
    <span className="flex basis-full items-baseline gap-2 pl-4">
      <span className="w-9 shrink-0 text-xs text-quiet">{word}</span>
      <AddressText {...of} isLinked isWhole />
    </span>
  );
}

const ROTATION_WORDS = {
  wallet: 'Replace the wallet',
  company: 'Replace the company’s approver',
  operator: 'Replace the operator',
} as const;

function Kind({ className, word }: { readonly className: string; readonly word: string }) {
  return (
    <span className="inline-flex flex-1 items-center gap-2">
      <span aria-hidden className={cn('size-2 shrink-0 rounded-full', className)} />
      {word}
    </span>
  );
}

function Amount({ amount, unit }: { readonly amount: string; readonly unit: string }) {
  return (
    <span className="ml-auto min-w-24 text-right font-medium">
      <AmountText amount={amount} unit={unit} />
    </span>
  );
}

interface ProofMemoProps {
  readonly pipeline: Pick<Pipeline, 'type' | 'payload'>;
  /** Answered by the service; the page computes its own and compares. */
  readonly memo: string;
}

/** Shows a pipeline’s proof memo and verifies its hash on this page. */
function ProofMemo({ pipeline: { type, payload }, memo }: ProofMemoProps) {
  const expected = useMemo(() => proofMemo({ type, payload }), [type, payload]);
  return (
    <div className="flex flex-col gap-1.5">
      <div className="flex min-h-8 flex-wrap items-center justify-between gap-2">
        <HashResult isSame={expected === memo} />
        <CopyButton text={memo} label="Copy memo" />
      </div>
      <code className="rounded border bg-sunken px-2 py-1.5 font-mono text-xs break-all">{memo}</code>
      {expected !== null && expected !== memo && (
        <p className="text-sm break-all text-failed">Expected for this type and payload: {expected}</p>
      )}
    </div>
  );
}

function HashResult({ isSame }: { readonly isSame: boolean }) {
  return isSame ? (
    <StatusBadge status="done" label="Hash verified on this page" />
  ) : (
    <StatusBadge status="failed" label="Hash does not match" />
  );
}

function readInstruction(base64: string): DescribedInstruction {
  const { programAddress, accounts, data } = decodeInstruction(base64);
  return { programAddress, accounts: accounts.map(({ address }) => address), data };
}

/** Lists a pipeline’s instructions, decoded on this page from their bytes. */
function InstructionList({ instructions }: { readonly instructions: readonly DescribedInstruction[] }) {
  return (
    <ol className="flex flex-col gap-1.5">
      {instructions.map((instruction, position) => {
        const { program, text } = describeInstruction(instruction);
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: the instructions of a pipeline never move.
          <li key={position} className="flex gap-3 text-sm">
            <span className="tabular w-4 shrink-0 text-right text-xs leading-5 text-quiet">{position + 1}</span>
            <span className="min-w-0 wrap-anywhere">
              <span className="font-medium">{program}</span> <span className="text-quiet">{text}</span>
            </span>
          </li>
        );
      })}
    </ol>
  );
}
