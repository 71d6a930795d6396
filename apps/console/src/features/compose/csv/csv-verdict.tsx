import { formatBaseUnits } from '../../../lib/text/amount.ts';
import { count } from '../../../lib/text/count.ts';
import { shorten } from '../../../lib/text/shorten.ts';
import { Button } from '../../../ui/form/button.tsx';
import { Choice } from '../../../ui/form/choice.tsx';
import { Notice } from '../../../ui/state/notice.tsx';
import type { CsvFile } from './csv-drop.tsx';
import type { Duplicates, ReadCsv, RowFault } from './read-csv.ts';

/** More than this is more than anyone reads at once. */
const MAX_SHOWN = 20;

export interface CsvVerdictProps {
  readonly file: CsvFile;
  readonly read: ReadCsv;
  readonly decimals: number;
  readonly duplicates: Duplicates;
  readonly onDuplicates: (duplicates: Duplicates) => void;
  readonly onClear: () => void;
}

/** What a file says: its rows and total, every fault by its row, what is there more than once. */
export function CsvVerdict({ file, read, decimals, duplicates, onDuplicates, onClear }: CsvVerdictProps) {
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
              <More count={repeated.length - MAX_SHOWN} />
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
        <More count={faults.length - MAX_SHOWN} />
      </ul>
    </Notice>
  );
}

function More({ count }: { readonly count: number }) {
  return count > 0 ? <li>and {count.toLocaleString('en')} more</li> : null;
}
