import { groupDigits, pluralize, visibleText } from '@flywheel/protocol';
import { type EventMatches, matchEvents, readAuditEvents } from '@flywheel/sdk/audit-findings';
import { useMutation } from '@tanstack/react-query';
import { Button } from '../../ui/button.tsx';
import { ErrorNotice, Loading, SkeletonLines } from '../../ui/feedback.tsx';
import { FileDrop } from '../../ui/file-drop.tsx';
import { Panel } from '../../ui/layout.tsx';
import { AddressText } from '../../ui/text.tsx';
import { FindingPanel } from './finding-panels.tsx';
import { readFindings, type SavedAudit } from './saved-audits.ts';

export interface EventsPanelProps {
  readonly audit: SavedAudit;
  /** null before a file is chosen. */
  readonly matches: EventMatches | null;
  readonly onMatches: (matches: EventMatches | null) => void;
}

/** Compares the proofs of an audit with a file of events, which does not leave the browser. */
export function EventsPanel({ audit, matches, onMatches }: EventsPanelProps) {
  const comparison = useMutation({ mutationFn: (file: File) => compare(file, audit), onSuccess: onMatches });
  return (
    <>
      <Panel
        title="Compare with events"
        aside={
          matches !== null && (
            <Button size="small" onClick={() => onMatches(null)}>
              Choose another file
            </Button>
          )
        }
      >
        <div className="flex flex-col gap-3">
          {comparison.error && <ErrorNotice error={comparison.error} />}
          {comparison.isPending && (
            <Loading>
              <SkeletonLines count={1} className="h-32" />
            </Loading>
          )}
          {!comparison.isPending && matches === null && (
            <FileDrop
              title="Drop the project’s events, or choose a file"
              hint='One a line: {"type": "…", "payload": "…"}. The file stays in this browser.'
              accept=".ndjson,.jsonl,.json,.txt"
              onFile={(file) => comparison.mutate(file)}
            />
          )}
          {matches !== null && (
            <p>
              {groupDigits(String(matches.proven))} of {pluralize(matches.events, 'event')} are proven in this period.{' '}
              {matches.unmatchedCount === 0
                ? 'Every proof matches an event.'
                : `${pluralize(matches.unmatchedCount, 'proof matches', 'proofs match')} no event.`}
            </p>
          )}
        </div>
      </Panel>
      {matches !== null && (
        <>
          <FindingPanel
            title="Events without a proof"
            rows={matches.unproven}
            count={matches.unprovenCount}
            columns={[
              { name: 'Line', render: ({ line }) => groupDigits(String(line)) },
              { name: 'Type', render: ({ type }) => visibleText(type) },
              { name: 'Hash', render: ({ hash }) => <code className="text-xs break-all">{hash}</code> },
            ]}
          />
          <FindingPanel
            title="Proofs of no event"
            rows={matches.unmatched}
            count={matches.unmatchedCount}
            columns={[
              {
                name: 'Transaction',
                render: ({ signature }) => <AddressText address={signature} kind="signature" isLinked />,
              },
              { name: 'Type', render: ({ type }) => visibleText(type) },
              { name: 'Hash', render: ({ hash }) => <code className="text-xs break-all">{hash}</code> },
            ]}
          />
        </>
      )}
    </>
  );
}

async function compare(file: File, audit: SavedAudit): Promise<EventMatches> {
  const read = await readAuditEvents(linesOf(file));
  if ('events' in read) return matchEvents(read.events, readFindings(audit));
  throw new Error(`Line ${read.invalidLine} of ${file.name} is not an event. Expected {"type": "…", "payload": "…"}.`);
}

async function* linesOf(file: File): AsyncGenerator<string> {
  let rest = '';
  // Replacing damaged bytes would compare another text, with another proof.
  const reader = file
    .stream()
    .pipeThrough(new TextDecoderStream('utf-8', { fatal: true }))
    .getReader();
  for (;;) {
    const { value, done } = await reader.read().catch((cause: unknown) => {
      throw new Error(`${file.name} cannot be read as UTF-8.`, { cause });
    });
    if (done) break;
    const lines = (rest + value).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  if (rest !== '') yield rest;
}
