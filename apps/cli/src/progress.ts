import { createLiveDisplay } from './live-display.ts';
import type { Output } from './output.ts';
import { createPlainDisplay } from './plain-display.ts';

export type StepState = 'waiting' | 'running' | 'done' | 'failed';

export interface Step {
  readonly label: string;
  readonly state: StepState;
  /** What it is about, or came to: `36 pipelines`. */
  readonly detail: string;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
}

/** Shows steps; told after every change. */
export interface Display {
  update(steps: readonly Step[], changed: number): void;
  /** Leaves the last picture standing and gives the terminal back. */
  close(steps: readonly Step[]): void;
}

export interface Progress<Id extends string> {
  /** Marks a step as running; again, to change its detail. */
  begin(id: Id, detail?: string): void;
  finish(id: Id, detail?: string): void;
  /** Closes the display; a step that still runs has failed. */
  close(): void;
}

const SILENT: Display = { update: () => undefined, close: () => undefined };

/**
 * Progress through known steps, on stderr: a live picture on a terminal, else a line per step; with `--json` only on
 * a terminal, so that stderr holds nothing but a failure.
 */
export function createProgress<Id extends string>(
  output: Output,
  labels: { readonly [I in Id]: string },
): Progress<Id> {
  // Keys of an object literal, whose type is exactly Id.
  const ids = Object.keys(labels) as Id[];
  const steps: Step[] = ids.map((id) => ({
    label: labels[id],
    state: 'waiting',
    detail: '',
    startedAtMs: 0,
    endedAtMs: 0,
  }));
  const display = chooseDisplay(output);

  function change(id: Id, next: (step: Step) => Partial<Step>): void {
    const position = ids.indexOf(id);
    const step = steps[position];
    if (!step) return;
    steps[position] = { ...step, ...next(step) };
    display.update(steps, position);
  }

  return {
    begin: (id, detail) =>
      change(id, (step) => ({
        state: 'running',
        detail: detail ?? step.detail,
        startedAtMs: step.state === 'running' ? step.startedAtMs : Date.now(),
      })),
    finish: (id, detail) =>
      change(id, (step) => ({ state: 'done', detail: detail ?? step.detail, endedAtMs: Date.now() })),
    close: () => {
      for (const [position, step] of steps.entries()) {
        if (step.state === 'running') {
          steps[position] = { ...step, state: 'failed', endedAtMs: Date.now() };
          display.update(steps, position);
        }
      }
      display.close(steps);
    },
  };
}

/** Seconds as people read them: `0.4 s`, `12.0 s`. */
export function formatDuration(durationMs: number): string {
  return `${(durationMs / 1_000).toFixed(1)} s`;
}

function chooseDisplay({ json, stderr, terminal }: Output): Display {
  if (terminal) return createLiveDisplay(terminal);
  return json ? SILENT : createPlainDisplay(stderr);
}
