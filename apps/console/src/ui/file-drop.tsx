import { FileUp } from 'lucide-react';
import { type DragEvent, useId, useState } from 'react';
import { cn } from './cn.ts';

export interface FileDropProps {
  readonly title: string;
  /** Says what the file holds. */
  readonly hint: string;
  /** The `accept` attribute of the file input. */
  readonly accept: string;
  readonly onFile: (file: File) => void;
}

/** Area to drop or choose a file. */
export function FileDrop({ title, hint, accept, onFile }: FileDropProps) {
  const id = useId();
  const [isOver, setOver] = useState(false);
  const take = (file: File | undefined) => {
    if (file) onFile(file);
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    take(event.dataTransfer.files[0]);
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
      className={cn(
        'flex cursor-pointer flex-col items-center gap-2 rounded-lg border border-dashed px-6 py-10 text-center focus-within:border-accent',
        isOver ? 'border-accent bg-accent-wash' : 'bg-raised',
      )}
    >
      <FileUp size={24} aria-hidden className="text-quiet" />
      <span className="font-medium">{title}</span>
      <span className="text-sm text-quiet">{hint}</span>
      <input
        id={id}
        type="file"
        accept={accept}
        className="sr-only"
        onChange={({ target }) => take(target.files?.[0])}
      />
    </label>
  );
}
