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
  let unfinished: ReadonlySet<string> = new Set();
  let run: RunProgress = { batchIds: [], left: null };
  let isKept = false;
  let hadEnded = true;
  let endedAt = '';
  const write = () => {
    if (sent === null) return;
    if (!isKept) state.keep(sent.text);
    isKept = true;
    const { content } = sent;
    state.write({ content, ...names, unfinished: [...unfinished], at: new Date().toISOString() });
  };
  const name = (known: typeof names) => {
    names = known;
    output.nameBatch(names);
    write();
  };
  return {
    onProgress: (event) => {
      if (event.stage === 'begun') {
        const { idempotencyKey, position } = event;
        const record = state.read();
        if ((position?.rest ?? 0) === 0) run = { batchIds: [], left: null };
        // A command that is killed before init is answered must not forget the batches of the commands before it.
        if (record?.content === sent?.content) unfinished = new Set(record?.unfinished);
        name({ idempotencyKey, batchId: record?.idempotencyKey === idempotencyKey ? record.batchId : null });
        note(`Idempotency key ${names.idempotencyKey}`);
      } else if (event.stage === 'compiled') {
        const { id, pipelines } = event.init.batch;
        run = { batchIds: [...run.batchIds, id], left: run.left ?? pipelines.length };
        unfinished = new Set([...unfinished, id]);
        name({ ...names, batchId: id });
        note(`Batch ${id}`);
        for (const line of describeWarnings(event.init.warnings ?? [])) note(line);
      } else if (event.stage === 'ended') {
        const { id, dateUpdated, executeResult } = event.batch;
        const executed = executeResult?.totalSuccessful ?? 0;
        run = { ...run, left: (run.left ?? 0) - executed };
        const settled = new Set(run.left === 0 ? run.batchIds : executed === 0 ? [id] : []);
        unfinished = new Set([...unfinished].filter((each) => !settled.has(each)));
        write();
        hadEnded &&= event.hadEnded;
        if (dateUpdated > endedAt) endedAt = dateUpdated;
      }
    },
    endedBefore: () => (hadEnded ? endedAt : null),
  };
}

/** The batches of a run so far, and its pipelines that they have not executed; null before the first batch. */
interface RunProgress {
  readonly batchIds: readonly string[];
  readonly left: number | null;
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
