import { FileUp } from 'lucide-react';
import { type DragEvent, useId, useState } from 'react';
import { classes } from '../../../ui/classes.ts';

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
