import { FileUp } from 'lucide-react';
import { type DragEvent, useId, useState } from 'react';
import { classes } from '../../parts/classes.ts';
import { Button } from '../../parts/form/button.tsx';
import { Notice } from '../../parts/state/notice.tsx';
import { formatBaseUnits } from '../../text/amount.ts';
import { shorten } from '../../text/shorten.ts';
import type { ReadCsv } from './read-csv.ts';

export interface CsvFile {
  readonly name: string;
  readonly text: string;
  /** Lowercase hex SHA-256 of its bytes. */
  readonly hash: string;
}

/** Where a file of address and amount is dropped or chosen. */
export function CsvDrop({ onFile }: { readonly onFile: (file: CsvFile) => void }) {
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

export interface CsvVerdictProps {
  readonly file: CsvFile;
  readonly read: ReadCsv;
  readonly decimals: number;
  readonly onClear: () => void;
}

/** What a file says: its rows and total, every fault by its row, what was merged. */
export function CsvVerdict({ file, read, decimals, onClear }: CsvVerdictProps) {
  const { rows, faults, merged, totalBaseUnits } = read;
  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center justify-between gap-3 rounded-lg border bg-raised px-4 py-3">
        <div>
          <p className="font-medium">{file.name}</p>
          <p className="tabular text-sm text-quiet">
            {rows.length.toLocaleString('en')} recipients, {formatBaseUnits(totalBaseUnits, decimals)} tokens
          </p>
        </div>
        <Button size="small" onClick={onClear}>
          Another file
        </Button>
      </div>
      {faults.length > 0 && (
        <Notice
          tone="failed"
          title={`${faults.length} ${faults.length === 1 ? 'row is' : 'rows are'} wrong. Mend the file and drop it again.`}
        >
          <ul className="tabular mt-1 flex flex-col gap-0.5">
            {faults.slice(0, MAX_SHOWN).map(({ line, text }) => (
              <li key={line}>
                Row {line}: {text}
              </li>
            ))}
            {faults.length > MAX_SHOWN && <li>and {faults.length - MAX_SHOWN} more</li>}
          </ul>
        </Notice>
      )}
      {merged.length > 0 && (
        <Notice
          tone="waiting"
          title={`${merged.length} ${merged.length === 1 ? 'address is' : 'addresses are'} there more than once. Their amounts are added up.`}
        >
          <ul className="tabular mt-1 flex flex-col gap-0.5">
            {merged.slice(0, MAX_SHOWN).map(({ address, lines }) => (
              <li key={address}>
                {shorten(address)}: rows {lines.join(', ')}
              </li>
            ))}
            {merged.length > MAX_SHOWN && <li>and {merged.length - MAX_SHOWN} more</li>}
          </ul>
        </Notice>
      )}
    </div>
  );
}
