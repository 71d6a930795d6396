import { groupDigits, shorten } from '@flywheel/protocol';
import { ExternalLink } from 'lucide-react';
import { Fragment, type ReactNode } from 'react';
import { explorerLink, useEnvironment } from '../lib/api/environment.ts';
import { base58Kind, unitBeside } from '../lib/format.ts';
import { cn } from './cn.ts';
import { COPY_WORDS, useCopied } from './copy.tsx';
import { Tooltip } from './tooltip.tsx';

export interface AddressTextProps {
  readonly address: string;
  /** Owner of the address or signature, for screen readers. */
  readonly of?: string;
  /** The explorer link of a `signature` opens its transaction. */
  readonly kind?: 'address' | 'signature';
  readonly isLinked?: boolean;
  /** Shows every character, where money depends on all of them: eight are quickly forged. */
  readonly isWhole?: boolean;
  readonly className?: string;
}

/** A shortened address, `7Fq2…9dKe`: the tooltip has the full one, a click copies it. */
export function AddressText({ address, of, kind = 'address', isLinked, isWhole, className }: AddressTextProps) {
  const [result, copy] = useCopied(address);
  const environment = useEnvironment();
  const link = isLinked ? explorerLink(environment, kind, address) : null;
  const name = of ?? kind;
  const shown = isWhole ? address : shorten(address);
  return (
    <span
      className={cn(
        'inline-flex items-center gap-1',
        !isWhole && 'whitespace-nowrap print:whitespace-normal',
        className,
      )}
    >
      <Tooltip text={result === null ? address : COPY_WORDS[result]}>
        <button
          type="button"
          onClick={copy}
          aria-label={`${result === null ? 'Copy' : COPY_WORDS[result]} ${name} ${shown}`}
          data-whole={isWhole ? undefined : address}
          className={cn(
            'tap tabular min-h-6 rounded-sm font-mono text-sm hover:text-accent',
            isWhole && 'text-left break-all',
          )}
        >
          {shown}
        </button>
      </Tooltip>
      {link && (
        <a
          href={link}
          target="_blank"
          rel="noreferrer"
          aria-label={`${name} in the explorer`}
          // The button is as large as a finger needs (WCAG 2.5.8), its icon has 13 pixels.
          className="tap -ml-1 grid print:hidden size-6 shrink-0 place-items-center text-quiet hover:text-accent"
        >
          <ExternalLink size={13} aria-hidden />
        </a>
      )}
    </span>
  );
}

export interface AmountTextProps {
  /** Decimal text. */
  readonly amount: string;
  readonly unit?: string;
}

/** An exact amount with digit separators and its unit. */
export function AmountText({ amount, unit }: AmountTextProps) {
  return (
    <span className="tabular">
      <Digits amount={amount} />
      {unit !== undefined && (
        <>
          {/* A space and no margin, which would indent a unit that has wrapped. */}{' '}
          <span className="inline-block text-[0.85em] font-normal text-quiet">{unitBeside(amount, unit)}</span>
        </>
      )}
    </span>
  );
}

/** Shorter amounts stay on one line. */
const MAX_UNBROKEN = 16;

/** Decimal text with digit separators. A long amount wraps after a separator, not within a group. */
export function Digits({ amount }: Pick<AmountTextProps, 'amount'>) {
  const digits = groupDigits(amount);
  if (digits.length <= MAX_UNBROKEN) return digits;
  return digits.split(/(?<=[,.])/).map((group, position) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the groups of an amount stay in order.
    <Fragment key={position}>
      {position > 0 && <wbr />}
      {group}
    </Fragment>
  ));
}

export interface TimeTextProps {
  /** ISO 8601. */
  readonly at: string;
  /** `clock` and `hour` omit the day. */
  readonly form?: 'full' | 'clock' | 'hour' | 'day';
}

/** Times name their zone: people of one project live in several. `clock` stands below a time that names it. */
const FORMATS = {
  full: { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', timeZoneName: 'short' },
  clock: { hour: '2-digit', minute: '2-digit', second: '2-digit' },
  hour: { hour: '2-digit', minute: '2-digit', timeZoneName: 'short' },
  day: { day: 'numeric', month: 'short', year: 'numeric' },
} as const satisfies Record<string, Intl.DateTimeFormatOptions>;

/** A local time with its zone, and with its year if that is not the present one; the tooltip has it in UTC. */
export function TimeText({ at, form = 'full' }: TimeTextProps) {
  return (
    <Tooltip text={`${at.slice(0, 19).replace('T', ' ')} UTC`}>
      <time dateTime={at} className="tabular whitespace-nowrap">
        {formatTime(new Date(at), form)}
      </time>
    </Tooltip>
  );
}

const formats = new Map<string, Intl.DateTimeFormat>();

function formatTime(time: Date, form: keyof typeof FORMATS): string {
  const hasYear = form === 'full' && time.getFullYear() !== new Date().getFullYear();
  const key = `${form} ${hasYear}`;
  // Making a format takes longer than using it, and a table has hundreds of times.
  const format =
    formats.get(key) ?? new Intl.DateTimeFormat(undefined, { ...FORMATS[form], ...(hasYear && { year: 'numeric' }) });
  formats.set(key, format);
  return format.format(time);
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/;
/** A time, or a word that is long enough to be an address or a signature. */
const WORD = /(\d{4}-\d\d-\d\dT[\d:.]+Z|\b[0-9A-Za-z]{32,88}\b)/;

/** A message of the service, with its times shown as local times and its addresses and signatures shortened. */
export function MessageText({ text }: { readonly text: string }) {
  return text.split(WORD).map((part, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a message stay in order.
    <Fragment key={index}>{renderPart(part)}</Fragment>
  ));
}

function renderPart(part: string): ReactNode {
  if (TIME.test(part)) return <TimeText at={part} />;
  const kind = base58Kind(part);
  if (kind === 'signature') return <AddressText address={part} kind="signature" isLinked />;
  return kind === 'address' ? <AddressText address={part} /> : part;
}
