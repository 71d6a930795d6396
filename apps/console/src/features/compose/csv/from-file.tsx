import type { Pipeline, ProjectOverview, ProofType } from '@flywheel/api';
import { useEffect, useMemo } from 'react';
import { count } from '../../../lib/text/count.ts';
import { typeProblem } from '../by-hand/pipeline-draft.ts';
import { TypeField } from '../by-hand/type-field.tsx';
import { CsvDrop, type CsvFile } from './csv-drop.tsx';
import { CsvVerdict } from './csv-verdict.tsx';
import { packRows } from './pack-rows.ts';
import { type Duplicates, readCsv } from './read-csv.ts';

/** A file as it is being looked at. */
export interface FileDraft {
  readonly type: string;
  readonly file: CsvFile | null;
  readonly duplicates: Duplicates;
}

export interface FromFileProps {
  readonly draft: FileDraft;
  readonly onChange: (change: Partial<FileDraft>) => void;
  readonly proofTypes: readonly ProofType[];
  readonly token: ProjectOverview['token'];
  /** The pipelines that the file makes; null while there is none, or a fault in it. */
  readonly onPipelines: (pipelines: readonly Pipeline[] | null) => void;
}

/** An airdrop from a file of addresses and amounts. */
export function FromFile({ draft, onChange, proofTypes, token, onPipelines }: FromFileProps) {
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
        <CsvVerdict
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
