import type { Writable } from 'node:stream';
import { WriteStream } from 'node:tty';
import { styleText } from 'node:util';
import type { Batch, Pipeline } from '@flywheel/api';
import { groupDigits, pluralize, shorten, truncate } from '@flywheel/protocol';
import { formatDuration } from '../../progress.ts';
import type { Verification } from './verify.ts';

const SHOWN_SIGNATURES = 4;
const INDENT = '  ';
/** Fits a line of a terminal together with the command around it. */
const MAX_SHOWN_PAYLOAD = 60;

export interface DemoReport {
  readonly batch: Batch;
  readonly pipelines: readonly Pipeline[];
  readonly verification: Verification;
  readonly durationMs: number;
}

/** Describes the result: figures, signatures, duration, and what to try next. */
export function describeDemo(report: DemoReport, stream: Writable): string {
  const { verification, durationMs } = report;
  const dim = (text: string) => styleText('dim', text, { stream });
  const headline = verification.ok
    ? styleText(['green', 'bold'], '● Executed and verified on chain', { stream })
    : styleText(['red', 'bold'], '✗ Verification failed', { stream });
  const rows = figures(report);
  const nameWidth = Math.max(...rows.map(([name]) => name.length));
  const valueWidth = Math.max(...rows.map(([, value]) => value.length));
  return [
    '',
    `${INDENT}${headline}  ${dim(`in ${formatDuration(durationMs)}`)}`,
    '',
    ...rows.map(([name, value, aside]) =>
      `${INDENT}${INDENT}${dim(name.padEnd(nameWidth))}  ${value.padStart(valueWidth)}  ${dim(cut(aside, 2 * INDENT.length + nameWidth + valueWidth + 4, stream))}`.trimEnd(),
    ),
    ...(verification.ok ? ['', ...nextSteps(report).map((line) => `${INDENT}${line}`)] : []),
    '',
  ].join('\n');
}

type Figure = readonly [name: string, value: string, aside: string];

function figures({ batch, pipelines, verification }: DemoReport): readonly Figure[] {
  const { supply, recipients, proofs, messages, vault, burned, airdropped } = verification;
  const actions = pipelines.flatMap((pipeline) => pipeline.actions);
  const countOf = (name: string) => actions.filter(({ action }) => action === name).length;
  const signatures = batch.executeResult?.successfulExecutions.flatMap(({ txHashes }) => txHashes) ?? [];
  const proven = proofs.filter(({ ok }) => ok).length;
  const found = messages.filter(({ ok }) => ok).length;
  const created = recipients.filter(({ isNew }) => isNew).length;
  return [
    ['pipelines', String(pipelines.length), typeMix(pipelines)],
    [
      'burned',
      groupDigits(burned),
      `tokens in ${pluralize(countOf('BURN'), 'burn')}; supply ${groupDigits(supply.before)} → ${groupDigits(supply.after)}`,
    ],
    [
      'airdropped',
      groupDigits(airdropped),
      `tokens in ${pluralize(countOf('AIRDROP'), 'airdrop')} to ${pluralize(recipients.length, 'wallet')}, ${created} of them new`,
    ],
    ['vault', groupDigits(vault.after), `tokens left of ${groupDigits(vault.before)}`],
    ['proofs', `${proven} of ${proofs.length}`, 'on chain, signed by the vault, recomputed from type and payload'],
    ['memos', `${found} of ${messages.length}`, 'on chain, signed by the vault'],
    ['transactions', String(signatures.length), shownSignatures(signatures)],
  ];
}

function typeMix(pipelines: DemoReport['pipelines']): string {
  const amounts = new Map<string, number>();
  for (const { type } of pipelines) amounts.set(type, (amounts.get(type) ?? 0) + 1);
  return [...amounts].map(([type, amount]) => `${amount} ${type}`).join(', ');
}

function shownSignatures(signatures: readonly string[]): string {
  const shown = signatures.slice(0, SHOWN_SIGNATURES).map(shorten).join(' ');
  return signatures.length > SHOWN_SIGNATURES ? `${shown} …` : shown;
}

function nextSteps({ pipelines, verification }: DemoReport): string[] {
  const commands: [string, string][] = [
    ['npm start', 'run the service; its data is in .flywheel/'],
    ['npx flywheel register --help', 'create your own project and API key'],
  ];
  const example = pipelines.find(({ payload }) => payload.length <= MAX_SHOWN_PAYLOAD && !/['%\\]/.test(payload));
  const proof = verification.proofs.find(({ pipeline }) => example !== undefined && pipelines[pipeline] === example);
  if (example && proof) {
    const hash = proof.memo.split(':').at(-1) ?? '';
    commands.push([
      `printf '${example.type}\\0${example.payload}' | sha256sum`,
      `check a proof by hand: ${shorten(hash)}`,
    ]);
  }
  // Shell comments: every line can be pasted, and fits 80 columns.
  return ['Try next', ...commands.flatMap(([command, comment]) => [`${INDENT}# ${comment}`, `${INDENT}${command}`])];
}

/** Cuts a text that would wrap on the terminal. */
function cut(text: string, usedColumns: number, stream: Writable): string {
  const free =
    (stream instanceof WriteStream && stream.columns > 0 ? stream.columns : Number.POSITIVE_INFINITY) - usedColumns;
  return truncate(text, free);
}
