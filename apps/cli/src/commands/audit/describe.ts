import type { Writable } from 'node:stream';
import { styleText } from 'node:util';
import { groupDigits, pluralize, toDecimal, visibleText as visible } from '@flywheel/protocol';
import type { AssetTotals, AuditRecord, AuditReport } from '@flywheel/sdk';
import { auditAnswers, describeChange, type EventMatches, type ListedFindings } from '@flywheel/sdk/audit-findings';
import { layOutPairs, layOutTable } from '../../format.ts';

/** Lines of a list that are printed; the CSV has all of them. */
const MAX_LINES = 20;

interface Audited {
  readonly listed: ListedFindings;
  readonly events: EventMatches | null;
  readonly node: string;
  readonly stream: Writable;
}

export function describeAudit(report: AuditReport, { listed, events, node, stream }: Audited): string {
  const { vault, multisig, period, transactions, pipelines, counts } = report;
  const { total, withoutProof, byType } = pipelines;
  const decimals = new Map(report.assets.map((asset) => [asset.mint, asset.decimals]));
  const pairs = layOutPairs(
    [
      ['vault', vault],
      ['multisig', multisig ?? 'unknown: the vault has executed nothing'],
      ['period', `${period.from ?? 'the beginning'} to ${period.to ?? `slot ${period.headSlot}`}`],
      [
        'transactions',
        `${number(transactions.read)}, ${number(transactions.idle)} of them moved nothing, ${number(transactions.failed)} more failed`,
      ],
      ['pipelines', `${number(total)}${withoutProof > 0 ? `, ${number(withoutProof)} of them without a proof` : ''}`],
      ...byType.slice(0, MAX_LINES).map(({ type, count }) => ['', `${number(count)} ${visible(type)}`] as const),
      ['deposits', number(counts.deposits)],
    ],
    stream,
  );
  const line = (record: AuditRecord) => `  ${describeRecord(record, decimals)}`;
  return [
    ...pairs,
    ...assetTable(report.assets, stream),
    ...section('Withdrawals', listed.withdrawals.map(line), counts.withdrawals),
    ...section('Changes of the multisig', listed.rotations.map(line), counts.rotations),
    ...section('Instructions of Squads that Flywheel does not use', listed.foreign.map(line), counts.foreign),
    ...section('Outflows without a proof', listed.unexplained.map(line), counts.unexplained),
    ...section(
      'Gaps',
      report.gaps.map(
        ({ account, fromSlot, toSlot, reason }) => `  slots ${fromSlot} to ${toSlot} of ${account}: ${reason}`,
      ),
      report.gapCount,
    ),
    ...(events === null ? [] : eventLines(events)),
    ...auditAnswers(report).map(({ isGood, text }) => `${mark(isGood, stream)} ${text}`),
    `  Read from ${node}, up to slot ${period.headSlot}.`,
  ].join('\n');
}

function describeRecord(record: AuditRecord, decimals: ReadonlyMap<string | null, number>): string {
  const place = `${record.executedAt ?? `slot ${record.slot}`}  ${record.signature}`;
  switch (record.kind) {
    case 'pipeline':
      return `${place}  ${visible(record.type ?? 'without a proof')}`;
    case 'rotation':
      return `${place}  ${describeChange(record)}`;
    case 'foreign':
      return `${place}  ${record.discriminator}`;
    default: {
      const amount = groupDigits(toDecimal(record.amountBaseUnits, decimals.get(record.mint) ?? 0));
      const asset = record.mint === null ? 'SOL' : `of ${record.mint}`;
      return `${place}  ${amount} ${asset}${record.to === null ? '' : ` to ${record.to}`}`;
    }
  }
}

function assetTable(assets: readonly AssetTotals[], stream: Writable): string[] {
  const names = [
    'opening',
    'deposited',
    'burned',
    'airdropped',
    'withdrawn',
    'rent',
    'unexplained',
    'closing',
  ] as const;
  const rows = assets
    .slice(0, MAX_LINES)
    .map((asset) => [asset.mint ?? 'SOL', ...names.map((name) => groupDigits(toDecimal(asset[name], asset.decimals)))]);
  const { heading, lines } = layOutTable(['ASSET', ...names.map((name) => name.toUpperCase())], rows, stream);
  const more = assets.length - rows.length;
  return ['', heading, ...lines, ...(more > 0 ? [`… ${pluralize(more, 'more asset')}: see --json`] : []), ''];
}

function section(title: string, lines: readonly string[], count: number): string[] {
  if (count === 0) return [];
  const shown = lines.slice(0, MAX_LINES);
  const more = count - shown.length;
  return [
    `${title}: ${number(count)}`,
    ...shown,
    ...(more > 0 ? [`  … ${number(more)} more: see --csv or --json`] : []),
  ];
}

function eventLines({ events, proven, unproven, unprovenCount, unmatched, unmatchedCount }: EventMatches): string[] {
  return [
    `Events: ${number(proven)} of ${number(events)} are proven`,
    ...section(
      'Events without a proof',
      unproven.map(({ line, type }) => `  line ${line}: ${visible(type)}`),
      unprovenCount,
    ),
    ...section(
      'Proofs of no event',
      unmatched.map(({ signature, type, hash }) => `  ${signature}  ${visible(type)} ${hash}`),
      unmatchedCount,
    ),
  ];
}

function number(value: number): string {
  return groupDigits(String(value));
}

function mark(isGood: boolean, stream: Writable): string {
  return isGood ? styleText('green', '✓', { stream }) : styleText('red', '✗', { stream });
}
