import type { Writable } from 'node:stream';
import type { WriteStream } from 'node:tty';
import { styleText } from 'node:util';
import type { Ora } from 'ora';
import type { Output } from './output.ts';
import { visibleLines, visibleStyledLines } from './terminal-text.ts';

/** One step of a job, as progress displays show it. */
export interface Step {
  readonly label: string;
  readonly state: 'pending' | 'running' | 'done' | 'failed';
  /** Extra information: `36 pipelines`. */
  readonly detail: string;
  /** null if it was not observed; a step with an unknown start has no duration. */
  readonly startedAtMs: number | null;
  readonly endedAtMs: number | null;
}

export interface Progress<Id extends string> {
  /** Marks a step as running; on a running step it changes the detail. */
  begin(id: Id, detail?: string): void;
  /** Shows what holds a running step up; without a terminal as a line of its own. */
  hold(id: Id, reason: string): void;
  finish(id: Id, detail?: string): void;
  /** Marks a step that an earlier run has completed: it has no duration. */
  skip(id: Id, detail: string): void;
  /** Prints a line above the steps that are still shown. */
  note(text: string): void;
  /** Ends the display; a step that is still running is shown as failed. */
  close(): void;
}

/**
 * Creates the progress of a job with known steps, on stderr: live on a terminal, otherwise a line per step. With `--json`
 * it is shown on a terminal only, so that stderr contains nothing but an error.
 */
export async function createProgress<Id extends string>(
  output: Output,
  labels: { readonly [I in Id]: string },
): Promise<Progress<Id>> {
  // The keys of an object literal whose type is exactly Id.
  const ids = Object.keys(labels) as Id[];
  const steps = ids.map((id) => pendingStep(labels[id]));
  const display = await openStepDisplay(output);

  function change(id: Id, changesOf: (step: Step) => Partial<Step>): void {
    const index = ids.indexOf(id);
    const step = steps[index];
    if (!step) return;
    steps[index] = { ...step, ...changesOf(step) };
    display.update(steps);
  }

  return {
    begin: (id, detail) =>
      change(id, (step) => ({
        state: 'running',
        detail: detail ?? step.detail,
        startedAtMs: step.state === 'running' ? step.startedAtMs : Date.now(),
      })),
    hold: (id, reason) => {
      change(id, () => ({ detail: reason }));
      display.hold(labels[id], reason);
    },
    finish: (id, detail) =>
      change(id, (step) => ({ state: 'done', detail: detail ?? step.detail, endedAtMs: Date.now() })),
    skip: (id, detail) => change(id, () => ({ state: 'done', detail, startedAtMs: null, endedAtMs: null })),
    note: (text) => display.note(text),
    close: () => {
      for (const [index, step] of steps.entries()) {
        if (step.state === 'running') steps[index] = { ...step, state: 'failed', endedAtMs: Date.now() };
      }
      display.update(steps);
      display.close();
    },
  };
}

export function pendingStep(label: string): Step {
  return { label, state: 'pending', detail: '', startedAtMs: null, endedAtMs: null };
}

/** Shows the steps of a job; each step that has ended becomes a line of its own. */
export interface StepDisplay {
  update(steps: readonly Step[]): void;
  /** Shows what holds up the running step, if `update` does not show details of running steps. */
  hold(label: string, reason: string): void;
  /** Prints a line above the steps that are still shown. */
  note(text: string): void;
  close(): void;
}

export async function openStepDisplay({ json, stderr, terminal }: Output): Promise<StepDisplay> {
  if (terminal) return openLiveSteps(terminal, await openSpinner(terminal));
  return json ? SILENT_STEPS : openPlainSteps(stderr);
}

const SILENT_STEPS: StepDisplay = {
  update: () => undefined,
  hold: () => undefined,
  note: () => undefined,
  close: () => undefined,
};

/** Ended steps stay as lines; below them ora redraws the running step and the pending ones. */
function openLiveSteps(stream: WriteStream, spinner: Ora): StepDisplay {
  const printed = new Set<string>();
  return {
    update: (steps) => {
      const labelWidth = Math.max(...steps.map(({ label }) => label.length));
      for (const step of steps) {
        const { label, state } = step;
        if (state === 'pending' || state === 'running' || printed.has(label)) continue;
        printed.add(label);
        const text = label.padEnd(labelWidth);
        spinner.stopAndPersist({ symbol: markOf(state, stream), text, suffixText: columnsOf(step, stream) });
      }
      const running = steps.find(({ state }) => state === 'running');
      if (!running) {
        spinner.stop();
        return;
      }
      const pending = steps.filter(({ state }) => state === 'pending');
      const lines = pending.map(({ label }) => `\n${styleText('dim', `○ ${label}`, { stream })}`).join('');
      spinner.text = running.label.padEnd(labelWidth);
      // A function, so that each frame shows the time that has passed.
      spinner.suffixText = () => `${columnsOf({ ...running, endedAtMs: Date.now() }, stream)}${lines}`;
      spinner.start();
    },
    hold: () => undefined,
    note: (text) => writeAbove(spinner, stream, text),
    close: () => void spinner.stop(),
  };
}

/** Writes a line where the spinner is; its next frame is drawn below. */
function writeAbove(spinner: Ora, stream: WriteStream, text: string): void {
  if (spinner.isSpinning) spinner.clear();
  stream.write(`${visibleStyledLines(text)}\n`);
}

/** The columns after the label: `  1.2 s  4 transactions`. */
function columnsOf({ detail, startedAtMs, endedAtMs }: Step, stream: Writable): string {
  const duration = startedAtMs === null || endedAtMs === null ? '' : formatDuration(endedAtMs - startedAtMs);
  return styleText('dim', `${duration.padStart(DURATION_WIDTH)}${detail === '' ? '' : `  ${visibleLines(detail)}`}`, {
    stream,
  });
}

/** Room for `999.9 s` and a space before it. */
const DURATION_WIDTH = 8;

/** One line for each step that has ended, for logs and pipes. */
function openPlainSteps(stream: Writable): StepDisplay {
  const printed = new Set<string>();
  return {
    update: (steps) => {
      for (const { label, state, detail, startedAtMs, endedAtMs } of steps) {
        if (printed.has(label) || state === 'pending' || state === 'running') continue;
        printed.add(label);
        const duration = startedAtMs === null || endedAtMs === null ? '' : formatDuration(endedAtMs - startedAtMs);
        const words = [markOf(state, stream), label, detail && `· ${visibleLines(detail)}`];
        stream.write(`${[...words, duration && styleText('dim', duration, { stream })].filter(Boolean).join(' ')}\n`);
      }
    },
    hold: (label, reason) => void stream.write(`… ${label} · ${visibleLines(reason)}\n`),
    note: (text) => void stream.write(`${visibleStyledLines(text)}\n`),
    close: () => undefined,
  };
}

function markOf(state: 'done' | 'failed', stream: Writable): string {
  return state === 'done' ? styleText('green', '✓', { stream }) : styleText('red', '✗', { stream });
}

/** `0.4 s`, `12.0 s`. */
export function formatDuration(durationMs: number): string {
  return `${(durationMs / 1_000).toFixed(1)} s`;
}

export interface ProgressBar {
  /** @param fraction from 0 to 1. */
  show(fraction: number, text: string): void;
  /** Prints a line above the bar. */
  note(text: string): void;
  /** Ends the display; the last state stays visible. */
  close(): void;
}

/** Creates a progress bar on stderr: live on a terminal, otherwise a line whenever its text changes. */
export async function createProgressBar({ json, stderr, terminal }: Output): Promise<ProgressBar> {
  if (terminal) return openLiveBar(terminal, await openSpinner(terminal));
  let printed = '';
  return {
    show: (_, text) => {
      if (!json && text !== printed) stderr.write(`${visibleLines(text)}\n`);
      printed = text;
    },
    note: (text) => {
      if (!json) stderr.write(`${visibleStyledLines(text)}\n`);
    },
    close: () => undefined,
  };
}

function openLiveBar(stream: WriteStream, spinner: Ora): ProgressBar {
  return {
    show: (fraction, text) => {
      const filled = Math.round(Math.min(Math.max(fraction, 0), 1) * BAR_CELLS);
      const cells = styleText('cyan', '█'.repeat(filled), { stream }) + '░'.repeat(BAR_CELLS - filled);
      spinner.text = `${cells} ${`${Math.floor(fraction * 100)}%`.padStart(4)}  ${visibleLines(text)}`;
      spinner.start();
    },
    note: (text) => writeAbove(spinner, stream, text),
    close: () => {
      if (spinner.isSpinning) spinner.stopAndPersist({ symbol: ' ' });
    },
  };
}

const BAR_CELLS = 28;

/**
 * ora colours by what stdout is, so colours are set here by what the stream is; it leaves stdin and Ctrl-C alone. It is
 * imported here, because that takes a third of a command's start.
 */
async function openSpinner(stream: WriteStream): Promise<Ora> {
  const { default: ora } = await import('ora');
  const frames = [...'⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏'].map((frame) => styleText('cyan', frame, { stream }));
  return ora({ stream, isEnabled: true, discardStdin: false, color: false, spinner: { interval: 80, frames } });
}
