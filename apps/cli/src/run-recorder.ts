import type { Batch, InitWarning } from '@flywheel/api';
import { pluralize } from '@flywheel/protocol';
import type { BatchProgress } from '@flywheel/sdk';
import { CliError } from './errors.ts';
import { nextRunOption } from './options.ts';
import type { Output } from './output.ts';
import type { RunState } from './run-state.ts';

export interface RunRecorder {
  /** Listens to the batches of a run. */
  readonly onProgress: (event: BatchProgress) => void;
  /** Time at which the last of the batches ended; null if a batch was created, resumed or failed by this command. */
  readonly endedBefore: () => string | null;
}

export interface RecordedRun {
  readonly state: RunState;
  /** The payments and their hash; null if the request cannot be parsed. */
  readonly sent: { readonly text: string; readonly content: string } | null;
  /** Prints a line beside the progress of the command. */
  readonly note: (text: string) => void;
}

/**
 * Makes a run easy to find again: it prints key and batch id of each batch as soon as they are known, adds them to every
 * error, keeps them in the state, and prints the service's warnings before the wallet signs.
 */
export function recordRun(output: Output, { state, sent, note }: RecordedRun): RunRecorder {
  let names = { idempotencyKey: '', batchId: null as string | null };
  let isKept = false;
  let hadEnded = true;
  let endedAt = '';
  const name = (known: typeof names) => {
    names = known;
    output.nameBatch(names);
    if (sent === null) return;
    if (!isKept) state.keep(sent.text);
    isKept = true;
    state.write({ content: sent.content, ...names, at: new Date().toISOString() });
  };
  return {
    onProgress: (event) => {
      if (event.stage === 'begun') {
        const { idempotencyKey } = event;
        const record = state.read();
        // A command that is killed before init is answered must not forget the batch of the command before it.
        name({ idempotencyKey, batchId: record?.idempotencyKey === idempotencyKey ? record.batchId : null });
        note(`Idempotency key ${names.idempotencyKey}`);
      } else if (event.stage === 'compiled') {
        name({ ...names, batchId: event.init.batch.id });
        note(`Batch ${names.batchId}`);
        for (const line of describeWarnings(event.init.warnings ?? [])) note(line);
      } else if (event.stage === 'ended') {
        hadEnded &&= event.hadEnded;
        if (event.batch.dateUpdated > endedAt) endedAt = event.batch.dateUpdated;
      }
    },
    endedBefore: () => (hadEnded ? endedAt : null),
  };
}

/** A batch that repeats an earlier one has a warning per pipeline. */
const MAX_SHOWN_WARNINGS = 3;

function describeWarnings(warnings: readonly InitWarning[]): string[] {
  const shown = warnings.slice(0, MAX_SHOWN_WARNINGS).map(({ message }) => `Note: ${message}`);
  const more = warnings.length - shown.length;
  return more > 0 ? [...shown, `Note: ${pluralize(more, 'more warning')}; flywheel init prints all of them.`] : shown;
}

/**
 * Creates the error of a line whose payment an earlier command has made.
 * @param run null with an idempotency key of the caller.
 * @param content what is paid, in the plural.
 */
export function alreadyPaid(date: Batch['dateUpdated'], run: number | null, content: 'pipelines' | 'rows'): CliError {
  const which = run === null || run === 1 ? '' : ` (run ${run})`;
  const next = run === null ? '' : ` ${nextRunOption(run)} pays the same ${content} once more.`;
  return new CliError('ERR_ALREADY_PAID', `Paid on ${date}${which}; nothing was sent.${next}`);
}
