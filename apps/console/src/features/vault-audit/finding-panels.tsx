import { groupDigits, visibleText } from '@flywheel/protocol';
import type { AuditGap, AuditRecord, AuditReport } from '@flywheel/sdk';
import { describeChange, type ListedFindings } from '@flywheel/sdk/audit-findings';
import type { ReactNode } from 'react';
import { formatBaseUnits } from '../../lib/amounts.ts';
import { LoadMore, Panel } from '../../ui/layout.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { AddressText, TimeText } from '../../ui/text.tsx';

export interface FindingPanelsProps {
  readonly report: AuditReport;
  readonly listed: ListedFindings;
}

/** Tables of what a person reads one by one, the worst first; empty ones are left out. */
export function FindingPanels({ report, listed }: FindingPanelsProps) {
  const { counts, gaps, gapCount, assets } = report;
  const decimals = new Map(assets.map((asset) => [asset.mint, asset.decimals]));
  const flows: readonly Column<AuditRecord>[] = [
    ...PLACE,
    {
      name: 'To',
      render: (record) => ('to' in record && record.to !== null ? <AddressText address={record.to} isLinked /> : '–'),
    },
    { name: 'Asset', render: (record) => ('mint' in record ? <Asset mint={record.mint} /> : '') },
    { name: 'Amount', isAmount: true, render: (record) => amountOf(record, decimals) },
  ];
  return (
    <>
      <FindingPanel
        title="Outflows without a proof"
        rows={listed.unexplained}
        count={counts.unexplained}
        columns={flows}
      />
      <FindingPanel title="Gaps in the history" rows={gaps} count={gapCount} columns={GAP} />
      <FindingPanel
        title="Instructions of Squads that Flywheel does not use"
        rows={listed.foreign}
        count={counts.foreign}
        columns={[
          ...PLACE,
          {
            name: 'Instruction',
            render: (record) => ('discriminator' in record ? <code>{record.discriminator}</code> : ''),
          },
        ]}
      />
      <FindingPanel
        title="Changes of the multisig"
        rows={listed.rotations}
        count={counts.rotations}
        columns={[
          ...PLACE,
          { name: 'Change', render: (record) => ('changes' in record ? visibleText(describeChange(record)) : '') },
        ]}
      />
      <FindingPanel title="Withdrawals" rows={listed.withdrawals} count={counts.withdrawals} columns={flows} />
    </>
  );
}

const PLACE: readonly Column<AuditRecord>[] = [
  {
    name: 'Time',
    render: ({ executedAt, slot }) =>
      executedAt === null ? `slot ${groupDigits(String(slot))}` : <TimeText at={executedAt} />,
  },
  { name: 'Transaction', render: ({ signature }) => <AddressText address={signature} kind="signature" isLinked /> },
];

const GAP: readonly Column<AuditGap>[] = [
  {
    name: 'Slots',
    render: ({ fromSlot, toSlot }) => `${groupDigits(String(fromSlot))} to ${groupDigits(String(toSlot))}`,
  },
  { name: 'Account', render: ({ account }) => <AddressText address={account} isLinked /> },
  { name: 'Reason', isPlain: true, render: ({ reason }) => <span className="break-words">{reason}</span> },
];

function amountOf(record: AuditRecord, decimals: ReadonlyMap<string | null, number>): string {
  return 'amountBaseUnits' in record ? formatBaseUnits(record.amountBaseUnits, decimals.get(record.mint) ?? 0) : '';
}

function Asset({ mint }: { readonly mint: string | null }): ReactNode {
  return mint === null ? 'SOL' : <AddressText address={mint} of="mint" isLinked />;
}

const MAX_SHOWN = 20;

export interface FindingPanelProps<Row> {
  readonly title: string;
  /** At most 1,000. */
  readonly rows: readonly Row[];
  /** Number of all of them. */
  readonly count: number;
  readonly columns: readonly Column<Row>[];
}

/** A table of findings, of which a long one opens in two steps; nothing if there are none. */
export function FindingPanel<Row>({ title, rows, count, columns }: FindingPanelProps<Row>) {
  if (count === 0) return null;
  // Two findings of one transaction may be equal.
  const positions = new Map(rows.map((row, position) => [row, String(position)]));
  const key = (row: Row) => positions.get(row) ?? '';
  const more = rows.slice(MAX_SHOWN);
  return (
    <Panel
      title={title}
      aside={<span className="tabular text-sm text-quiet">{groupDigits(String(count))}</span>}
      isFlush
    >
      <Table label={title} rows={rows.slice(0, MAX_SHOWN)} columns={columns} keyOf={key} />
      {more.length > 0 && (
        <div className="border-t px-4 py-3">
          <LoadMore label={`and ${groupDigits(String(more.length))} more`}>
            {() => <Table label={`${title}, continued`} rows={more} columns={columns} keyOf={key} />}
          </LoadMore>
        </div>
      )}
      {count > rows.length && (
        <p className="border-t px-4 py-3 text-sm text-quiet">
          This page lists {groupDigits(String(rows.length))} of them. The CSV has every finding.
        </p>
      )}
    </Panel>
  );
}
