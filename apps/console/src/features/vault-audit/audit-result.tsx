import { groupDigits, pluralize, visibleText } from '@flywheel/protocol';
import { writeCsv } from '@flywheel/protocol/airdrop-csv';
import type { AuditBound, AuditReport } from '@flywheel/sdk';
import {
  type AuditVerdict,
  auditAnswers,
  auditDocument,
  auditVerdict,
  describeMissing,
  type EventMatches,
  FINDING_COLUMNS,
  findingCells,
} from '@flywheel/sdk/audit-findings';
import { useMutation } from '@tanstack/react-query';
import { CircleAlert, CircleCheck, CircleDashed, Download } from 'lucide-react';
import { useState } from 'react';
import { saveFile } from '../../lib/save-file.ts';
import { Button } from '../../ui/button.tsx';
import { cn } from '../../ui/cn.ts';
import { ErrorNotice } from '../../ui/feedback.tsx';
import { DescriptionList, LoadMore, Panel, Stat, Stats } from '../../ui/layout.tsx';
import { StatusIcon } from '../../ui/status-badge.tsx';
import { TimeText } from '../../ui/text.tsx';
import { AssetPanels } from './asset-panels.tsx';
import { EventsPanel } from './events-panel.tsx';
import { FindingPanels } from './finding-panels.tsx';
import { type EndedAudit, readFindings, type SavedAudit } from './saved-audits.ts';

export interface AuditResultProps {
  readonly audit: SavedAudit;
  readonly ended: EndedAudit;
  readonly onDelete: () => void;
}

/** Shows the verdict first, then totals, findings, and the comparison with events. */
export function AuditResult({ audit, ended, onDelete }: AuditResultProps) {
  const [events, setEvents] = useState<EventMatches | null>(null);
  const { report, listed } = ended;
  const { transactions, pipelines, counts } = report;
  const { read, idle, failed } = transactions;
  return (
    <div className="flex flex-col gap-6">
      <Verdict audit={audit} ended={ended} events={events} onDelete={onDelete} />
      <Stats>
        <Stat name="Pipelines" value={groupDigits(String(pipelines.total))} note={describeProofs(pipelines)} />
        <Stat
          name="Transactions"
          value={groupDigits(String(read))}
          note={`${groupDigits(String(idle))} moved nothing, ${groupDigits(String(failed))} more failed`}
        />
        <Stat name="Deposits" value={groupDigits(String(counts.deposits))} note="whatever came in, from anyone" />
        <Stat
          name="Withdrawals"
          value={groupDigits(String(counts.withdrawals))}
          note={pluralize(counts.rotations, 'change of the multisig', 'changes of the multisig')}
        />
      </Stats>
      <AssetPanels assets={report.assets} />
      {pipelines.byType.length > 0 && <ProofsByType byType={pipelines.byType} />}
      <FindingPanels report={report} listed={listed} />
      <EventsPanel audit={audit} matches={events} onMatches={setEvents} />
    </div>
  );
}

function describeProofs({ total, withoutProof }: AuditReport['pipelines']): string {
  if (total === 0) return 'none was executed';
  return withoutProof === 0 ? 'each with its proof' : `${groupDigits(String(withoutProof))} without a proof`;
}

const VERDICTS = {
  unexplained: {
    ...{ word: 'Unexplained outflow', Icon: CircleAlert, className: 'text-failed' },
    box: 'border-failed/50 bg-failed-wash',
  },
  incomplete: {
    ...{ word: 'Incomplete history', Icon: CircleDashed, className: 'text-waiting' },
    box: 'border-waiting/50 bg-waiting-wash',
  },
  unproven: {
    ...{ word: 'Events without a proof', Icon: CircleAlert, className: 'text-failed' },
    box: 'border-failed/50 bg-failed-wash',
  },
  explained: {
    ...{ word: 'Explained', Icon: CircleCheck, className: 'text-done' },
    box: 'border-done/50 bg-done-wash',
  },
} as const satisfies Record<AuditVerdict, unknown>;

function Verdict({ audit, ended, events, onDelete }: AuditResultProps & { readonly events: EventMatches | null }) {
  const { report, listed } = ended;
  const { word, Icon, className, box } = VERDICTS[auditVerdict(report, events)];
  const { from, to, headSlot } = report.period;
  const [complete, explained] = auditAnswers(report);
  const node = new URL(audit.node).host;
  const saving = useMutation({ mutationFn: () => saveCsv(audit) });
  return (
    <section className={cn('flex flex-wrap items-start gap-4 rounded-lg border p-4', box)}>
      <Icon size={30} aria-hidden className={cn('shrink-0', className)} />
      <div className="flex min-w-0 flex-1 basis-72 flex-col gap-1">
        <h2 className={cn('text-xl font-semibold', className)}>{word}</h2>
        <ul className="flex flex-col gap-0.5">
          <Answer isGood={complete.isGood} text={complete.isGood ? complete.text : describeMissing(report)} />
          <Answer isGood={explained.isGood} text={explained.text} />
          {events !== null && (
            <Answer
              isGood={events.unprovenCount === 0}
              text={`${groupDigits(String(events.proven))} of ${pluralize(events.events, 'event')} are proven.`}
            />
          )}
        </ul>
        <p className="text-sm break-words text-quiet">
          From {from === null ? 'the beginning' : describeBound(from)} to {describeBound(to ?? headSlot)}. Read from{' '}
          <strong className="font-medium text-ink">{node}</strong> up to {describeBound(headSlot)},{' '}
          <TimeText at={audit.savedAt} />. The node is trusted to show transactions as they were.
        </p>
      </div>
      <div className="flex flex-wrap gap-2">
        <Button tone="quiet" onClick={onDelete}>
          Delete
        </Button>
        <Button isBusy={saving.isPending} onClick={() => saving.mutate()}>
          <Download size={15} aria-hidden /> CSV
        </Button>
        <Button onClick={() => saveJson({ report, listed, events, node })}>
          <Download size={15} aria-hidden /> JSON
        </Button>
      </div>
      {saving.error && (
        <div className="basis-full">
          <ErrorNotice error={saving.error} onRetry={() => saving.mutate()} />
        </div>
      )}
    </section>
  );
}

/** Offers every finding as CSV, as `flywheel audit --csv` writes it. */
async function saveCsv(audit: SavedAudit): Promise<void> {
  const lines = [writeCsv([FINDING_COLUMNS])];
  for await (const record of readFindings(audit)) lines.push(writeCsv([findingCells(record)]));
  saveFile(`audit-${audit.vault}.csv`, lines, 'text/csv');
}

/** Offers the result as JSON, as `flywheel audit --json` prints it. */
function saveJson({
  report,
  ...found
}: EndedAudit & { readonly events: EventMatches | null; readonly node: string }): void {
  const text = `${JSON.stringify(auditDocument(report, found))}\n`;
  saveFile(`audit-${report.vault}.json`, [text], 'application/json');
}

function describeBound(bound: AuditBound): string {
  return typeof bound === 'number' ? `slot ${groupDigits(String(bound))}` : bound;
}

function Answer({ isGood, text }: { readonly isGood: boolean; readonly text: string }) {
  return (
    <li className="flex items-start gap-1.5">
      <span className="mt-0.5">
        <StatusIcon status={isGood ? 'done' : 'failed'} />
      </span>
      <span className="min-w-0 break-words">{text}</span>
    </li>
  );
}

const MAX_SHOWN = 20;

interface ProofsByTypeProps {
  readonly byType: EndedAudit['report']['pipelines']['byType'];
}

function ProofsByType({ byType }: ProofsByTypeProps) {
  const items = byType.map(({ type, count }) => ({
    name: visibleText(type),
    value: groupDigits(String(count)),
  }));
  const more = items.slice(MAX_SHOWN);
  return (
    <Panel title="Proofs by type">
      <div className="flex flex-col gap-2">
        <DescriptionList items={items.slice(0, MAX_SHOWN)} />
        {more.length > 0 && (
          <LoadMore label={`and ${pluralize(more.length, 'more type')}`}>
            {() => <DescriptionList items={more} />}
          </LoadMore>
        )}
      </div>
    </Panel>
  );
}
