import type { Pipeline, ProjectOverview, ProofType } from '@flywheel/api';
import { FileUp } from 'lucide-react';
import { type DragEvent, useEffect, useId, useMemo, useState } from 'react';
import { formatBaseUnits } from '../../lib/text/amount.ts';
import { count } from '../../lib/text/count.ts';
import { shorten } from '../../lib/text/shorten.ts';
import { classes } from '../../ui/classes.ts';
import { Button } from '../../ui/form/button.tsx';
import { Choice } from '../../ui/form/choice.tsx';
import { Notice } from '../../ui/state/notice.tsx';
import { type Duplicates, packRows, type ReadCsv, type RowFault, readCsv } from './airdrop-file.ts';
import { typeProblem } from './pipeline-draft.ts';
import { TypeField } from './pipeline-editor.tsx';

/** A file as it is being looked at. */
export interface FileDraft {
  readonly type: string;
  readonly file: CsvFile | null;
  readonly duplicates: Duplicates;
}

interface AirdropFileEditorProps {
  readonly draft: FileDraft;
  readonly onChange: (change: Partial<FileDraft>) => void;
  readonly proofTypes: readonly ProofType[];
  readonly token: ProjectOverview['token'];
  /** The pipelines that the file makes; null while there is none, or a fault in it. */
  readonly onPipelines: (pipelines: readonly Pipeline[] | null) => void;
}

/** An airdrop from a file of addresses and amounts. */
export function AirdropFileEditor({ draft, onChange, proofTypes, token, onPipelines }: AirdropFileEditorProps) {
  const { type, file, duplicates } = draft;
  const read = useMemo(
    () => file && readCsv(file.text, { decimals: token.decimals, duplicates }),
    [file, duplicates, token.decimals],
  );
  const problem = typeProblem(type);
  const pipelines = useMemo(() => {
    if (!file || !read || read.faults.length > 0 || read.rows.length === 0 || problem !== null) return null;
    const source = { file: file.name, sha256: file.hash };
    return packRows(read.rows, { type, decimals: token.decimals, source, token: { mint: token.mint } });
  }, [file, read, type, problem, token.decimals, token.mint]);
  useEffect(() => onPipelines(pipelines), [onPipelines, pipelines]);
  return (
    <div className="flex flex-col gap-5">
      <TypeField type={type} proofTypes={proofTypes} onChange={(chosen) => onChange({ type: chosen })} />
      {type !== '' && problem !== null && <p className="text-sm text-failed">{problem}</p>}
      {file && read ? (
        <CsvReport
          file={file}
          read={read}
          decimals={token.decimals}
          duplicates={duplicates}
          onDuplicates={(chosen) => onChange({ duplicates: chosen })}
          onClear={() => onChange({ file: null })}
        />
      ) : (
        <CsvDrop onFile={(dropped) => onChange({ file: dropped })} />
      )}
      {pipelines && read && (
        <p className="text-sm text-quiet">
          Packed into {count(pipelines.length, 'pipeline')}. Each one’s payload names the file, its SHA-256 and the
          rows, so that anyone can prove which row was paid by which transaction.
        </p>
      )}
    </div>
  );
}

interface CsvFile {
  readonly name: string;
  readonly text: string;
  /** Lowercase hex SHA-256 of its bytes. */
  readonly hash: string;
}

/** Where a file of address and amount is dropped or chosen. */
function CsvDrop({ onFile }: { readonly onFile: (file: CsvFile) => void }) {
  const id = useId();
  const [isOver, setOver] = useState(false);
  const take = async (file: File | undefined) => {
    if (file) onFile(await readFile(file));
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    void take(event.dataTransfer.files[0]);
  };
  return (
    <label
      htmlFor={id}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
      className={classes(
        'flex cursor-pointer flex-col items-center gap-2 rounded-lg border border-dashed px-6 py-10 text-center focus-within:border-accent',
        isOver ? 'border-accent bg-accent-wash' : 'bg-raised',
      )}
    >
      <FileUp size={24} aria-hidden className="text-quiet" />
      <span className="font-medium">Drop a CSV file, or choose one</span>
      <span className="text-sm text-quiet">A row is a wallet address and an amount of whole tokens.</span>
      <input
        id={id}
        type="file"
        accept=".csv,.txt,text/csv"
        className="sr-only"
        onChange={({ target }) => void take(target.files?.[0])}
      />
    </label>
  );
}

async function readFile(file: File): Promise<CsvFile> {
  const bytes = await file.arrayBuffer();
  const digest = await crypto.subtle.digest('SHA-256', bytes);
  const hash = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
  return { name: file.name, text: new TextDecoder().decode(bytes), hash };
}

/** More than this is more than anyone reads at once. */
const MAX_SHOWN = 20;

interface CsvReportProps {
  readonly file: CsvFile;
  readonly read: ReadCsv;
  readonly decimals: number;
  readonly duplicates: Duplicates;
  readonly onDuplicates: (duplicates: Duplicates) => void;
  readonly onClear: () => void;
}

/** What a file says: its rows and total, every fault by its row, what is there more than once. */
function CsvReport({ file, read, decimals, duplicates, onDuplicates, onClear }: CsvReportProps) {
  const { rows, faults, repeated, totalBaseUnits } = read;
  return (
    <div className="flex flex-col gap-4">
      <div className="flex flex-wrap items-center justify-between gap-3 rounded-lg border bg-raised px-4 py-3">
        <div className="min-w-0">
          <p className="font-medium break-all">{file.name}</p>
          <p className="tabular text-sm text-quiet">
            {count(rows.length, 'recipient')}, {formatBaseUnits(totalBaseUnits, decimals)} tokens
          </p>
        </div>
        <Button size="small" onClick={onClear}>
          Another file
        </Button>
      </div>
      {rows.length === 0 && faults.length === 0 && (
        <Notice tone="failed" title="The file has no rows. A row is a wallet address, a comma, an amount." />
      )}
      {repeated.length > 0 && (
        <section className="flex flex-col gap-2">
          <h3 className="font-medium">
            {repeated.length.toLocaleString('en')} {repeated.length === 1 ? 'address is' : 'addresses are'} there more
            than once
          </h3>
          <Choice
            label="Addresses that are there more than once"
            value={duplicates}
            onChange={onDuplicates}
            options={[
              { value: 'merge', title: 'Add them up', text: 'One airdrop an address, of all its rows together.' },
              { value: 'flag', title: 'Take them for a mistake', text: 'Every repetition is a row to mend.' },
            ]}
          />
          {duplicates === 'merge' && (
            <ul className="tabular text-sm text-quiet">
              {repeated.slice(0, MAX_SHOWN).map(({ address, lines }) => (
                <li key={address}>
                  <span className="font-mono">{shorten(address)}</span>: rows {lines.join(', ')}
                </li>
              ))}
              <MoreItems count={repeated.length - MAX_SHOWN} />
            </ul>
          )}
        </section>
      )}
      {faults.length > 0 && <Faults faults={faults} />}
    </div>
  );
}

function Faults({ faults }: { readonly faults: readonly RowFault[] }) {
  const count = faults.length.toLocaleString('en');
  return (
    <Notice
      tone="failed"
      title={`${count} ${faults.length === 1 ? 'row is' : 'rows are'} wrong. Mend the file and drop it again.`}
    >
      <ul className="tabular mt-1 flex flex-col gap-0.5">
        {faults.slice(0, MAX_SHOWN).map(({ line, text }) => (
          <li key={`${line} ${text}`}>
            Row {line}: {text}
          </li>
        ))}
        <MoreItems count={faults.length - MAX_SHOWN} />
      </ul>
    </Notice>
  );
}

function MoreItems({ count }: { readonly count: number }) {
  return count > 0 ? <li>and {count.toLocaleString('en')} more</li> : null;
}
