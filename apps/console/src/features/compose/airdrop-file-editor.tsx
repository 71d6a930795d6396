import type { Pipeline, ProjectOverview, ProofType } from '@flywheel/api';
import { pluralize, shorten } from '@flywheel/protocol';
import { type AirdropCsv, type RowIssue, readAirdropCsv } from '@flywheel/protocol/airdrop-csv';
import { useMutation } from '@tanstack/react-query';
import { useMemo } from 'react';
import { formatBaseUnits } from '../../lib/amounts.ts';
import { useIsPaused } from '../../lib/paused.ts';
import { Button } from '../../ui/button.tsx';
import { Loading, Notice, SkeletonLines } from '../../ui/feedback.tsx';
import { FileDrop } from '../../ui/file-drop.tsx';
import { MoreItems } from '../../ui/layout.tsx';
import { RadioGroup } from '../../ui/radio-group.tsx';
import { type AirdropFile, packAirdrop, readAirdropFile } from './airdrop-file.ts';
import { typeIssue } from './pipeline-draft.ts';
import { TypeField } from './pipeline-editor.tsx';

/** Treatment of repeated addresses. */
type Duplicates = 'merge' | 'refuse';

/** A chosen file and how to read it. */
export interface FileDraft {
  readonly type: string;
  readonly file: AirdropFile | null;
  readonly duplicates: Duplicates;
}

/** Pipelines of a file, and what keeps it from being packed. */
interface AirdropFileResult {
  /** Null while no file is chosen. */
  readonly read: AirdropCsv | null;
  /** Error of the proof type, as a sentence. */
  readonly typeError: string | null;
  /** Null while no file is chosen, anything has an error, or the proof type is being typed. */
  readonly pipelines: readonly Pipeline[] | null;
  /** True until the proof type has been typed, if the file can be packed then. */
  readonly isPacking: boolean;
}

/** The check of an address takes 0.2 ms; in a larger file the service’s preview must find a program’s address. */
const MAX_CURVE_CHECKS = 2_000;

/** Packing 20,000 rows takes half a second, which would hold each typed letter of a proof type back. */
const TYPING_PAUSE_MS = 400;

/** Reads a file and packs its rows into pipelines. */
export function useAirdropPipelines(
  { type, file, duplicates }: FileDraft,
  { decimals, mint }: ProjectOverview['token'],
): AirdropFileResult {
  const read = useMemo(
    () => file && readAirdropCsv(file.text, { decimals, duplicates, maxCurveChecks: MAX_CURVE_CHECKS }),
    [file, duplicates, decimals],
  );
  const typeError = typeIssue(type);
  const isTyped = useIsPaused(type, TYPING_PAUSE_MS);
  const rows =
    read !== null && read.issues.length === 0 && read.rows.length > 0 && typeError === null ? read.rows : null;
  const pipelines = useMemo(
    () => (file && rows && isTyped ? packAirdrop(rows, { type, file, mint }) : null),
    [file, rows, type, isTyped, mint],
  );
  return { read, typeError, pipelines, isPacking: rows !== null && !isTyped };
}

interface AirdropFileEditorProps {
  readonly draft: FileDraft;
  readonly onChange: (change: Partial<FileDraft>) => void;
  readonly result: AirdropFileResult;
  readonly proofTypes: readonly ProofType[];
  readonly decimals: number;
}

/** Chooses a CSV of addresses and amounts, and shows what it holds. */
export function AirdropFileEditor({ draft, onChange, result, proofTypes, decimals }: AirdropFileEditorProps) {
  const { type, file, duplicates } = draft;
  const { read, typeError, pipelines, isPacking } = result;
  const reading = useMutation({
    mutationFn: readAirdropFile,
    onSuccess: (chosen) => onChange({ file: chosen }),
  });
  return (
    <div className="flex flex-col gap-5">
      <TypeField type={type} proofTypes={proofTypes} onChange={(chosen) => onChange({ type: chosen })} />
      {type !== '' && typeError !== null && <p className="text-sm text-failed">{typeError}</p>}
      {file && read ? (
        <CsvReport
          file={file}
          read={read}
          decimals={decimals}
          duplicates={duplicates}
          onDuplicates={(chosen) => onChange({ duplicates: chosen })}
          onClear={() => onChange({ file: null })}
        />
      ) : (
        <>
          {reading.error && (
            <Notice tone="failed" title={`The file could not be read: ${reading.error.message} Choose it again.`} />
          )}
          {reading.isPending ? (
            <Loading>
              <SkeletonLines count={1} className="h-40" />
            </Loading>
          ) : (
            <FileDrop
              title="Drop a CSV file, or choose one"
              hint="Each row has a wallet address and an amount in tokens."
              accept=".csv,.txt,text/csv"
              onFile={(dropped) => reading.mutate(dropped)}
            />
          )}
        </>
      )}
      {(pipelines || isPacking) && (
        <p className="text-sm text-quiet">
          {pipelines ? `Packed into ${pluralize(pipelines.length, 'pipeline')}.` : 'Packing.'} Each payload names the
          file, its SHA-256 hash and its lines, so anyone can prove which transaction paid which line.
        </p>
      )}
    </div>
  );
}

/** A longer list is cut: the first lines show what to fix. */
const MAX_SHOWN = 20;

interface CsvReportProps {
  readonly file: AirdropFile;
  readonly read: AirdropCsv;
  readonly decimals: number;
  readonly duplicates: Duplicates;
  readonly onDuplicates: (duplicates: Duplicates) => void;
  readonly onClear: () => void;
}

/** Shows what a file holds: recipients, total, repeated addresses, and every issue with its line. */
function CsvReport({ file, read, decimals, duplicates, onDuplicates, onClear }: CsvReportProps) {
  const { rows, issues, repeated, totalBaseUnits } = read;
  return (
    <div className="flex flex-col gap-4">
      <div className="flex flex-wrap items-center justify-between gap-3 rounded-lg border bg-raised px-4 py-3">
        <div className="min-w-0">
          <p className="font-medium break-all">{file.name}</p>
          <p className="tabular text-sm text-quiet">
            {pluralize(rows.length, 'recipient')}, {formatBaseUnits(totalBaseUnits, decimals)} tokens
          </p>
        </div>
        <Button size="small" onClick={onClear}>
          Choose another file
        </Button>
      </div>
      {rows.length === 0 && issues.length === 0 && (
        <Notice tone="failed" title="The file has no rows. Each row needs a wallet address, a comma and an amount." />
      )}
      {issues.length > 0 && <RowIssues issues={issues} />}
      {repeated.length > 0 && (
        <section className="flex flex-col gap-2">
          <h3 className="font-medium">
            {repeated.length.toLocaleString('en')} {repeated.length === 1 ? 'address appears' : 'addresses appear'} more
            than once
          </h3>
          <RadioGroup
            label="Repeated addresses"
            value={duplicates}
            onChange={onDuplicates}
            options={[
              { value: 'merge', title: 'Add them up', text: 'One airdrop per address, for the sum of its lines.' },
              { value: 'refuse', title: 'Treat as an error', text: 'Each repeated line must be fixed in the file.' },
            ]}
          />
          {duplicates === 'merge' && (
            <ul className="tabular text-sm text-quiet">
              {repeated.slice(0, MAX_SHOWN).map(({ address, lines }) => (
                <li key={address}>
                  <span className="font-mono">{shorten(address)}</span>: lines {lines.join(', ')}
                </li>
              ))}
              <MoreItems count={repeated.length - MAX_SHOWN} />
            </ul>
          )}
        </section>
      )}
    </div>
  );
}

function RowIssues({ issues }: { readonly issues: readonly RowIssue[] }) {
  const count = issues.length.toLocaleString('en');
  return (
    <Notice
      tone="failed"
      title={`${count} ${issues.length === 1 ? 'line has an error' : 'lines have errors'}. Fix the file and choose it again.`}
    >
      <ul className="tabular mt-1 flex flex-col gap-0.5">
        {issues.slice(0, MAX_SHOWN).map(({ line, message }) => (
          <li key={`${line} ${message}`}>
            Line {line}: {message}
          </li>
        ))}
        <MoreItems count={issues.length - MAX_SHOWN} />
      </ul>
    </Notice>
  );
}
