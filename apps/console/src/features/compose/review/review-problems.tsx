import { count } from '../../../lib/text/count.ts';
import { Prose } from '../../../ui/show/prose.tsx';
import { Notice } from '../../../ui/state/notice.tsx';
import type { ReviewSums } from './sum-previews.ts';

/** More than this is more than anyone reads at once. */
const MAX_SHOWN = 20;

export interface ReviewProblemsProps {
  readonly sums: ReviewSums;
  /** Where in a file a pipeline’s action stands; null where there is no file, or no such place. */
  readonly rowOf: (batch: number, place: string) => number | null;
}

/** What stands against the batches, each with its place; what is worth a look. */
export function ReviewProblems({ sums: { problems, warnings, isRefused }, rowOf }: ReviewProblemsProps) {
  const more = problems.length - MAX_SHOWN;
  return (
    <>
      {problems.length > 0 && (
        <Notice
          tone={isRefused ? 'failed' : 'waiting'}
          title={
            isRefused
              ? `${count(problems.length, 'problem')} to mend first`
              : 'It can be created now, and executed once this is mended'
          }
        >
          <ul className="mt-1 flex flex-col gap-1">
            {problems.slice(0, MAX_SHOWN).map(({ batch, code, place, message }) => {
              const row = place === undefined ? null : rowOf(batch, place);
              return (
                <li key={`${batch} ${place} ${code} ${message}`} className="break-words">
                  {row !== null && <span className="font-medium">Row {row}. </span>}
                  <Prose text={message} /> <span className="font-mono text-xs text-quiet">{code}</span>
                </li>
              );
            })}
            {more > 0 && <li>and {more.toLocaleString('en')} more</li>}
          </ul>
        </Notice>
      )}
      {warnings.length > 0 && (
        <Notice tone="waiting" title={`${count(warnings.length, 'thing')} worth a look`}>
          <ul className="mt-1 flex flex-col gap-1">
            {warnings.slice(0, MAX_SHOWN).map(({ batch, pipeline, message }) => (
              <li key={`${batch} ${pipeline} ${message}`} className="break-words">
                Pipeline {pipeline}: {message}
              </li>
            ))}
            {warnings.length > MAX_SHOWN && <li>and {(warnings.length - MAX_SHOWN).toLocaleString('en')} more</li>}
          </ul>
        </Notice>
      )}
    </>
  );
}
