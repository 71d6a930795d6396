import type { Writable } from 'node:stream';
import { WriteStream } from 'node:tty';
import { styleText } from 'node:util';
import { isFlywheelError } from '@flywheel/sdk';
import { CliError } from './errors.ts';
import { exitCodeOf } from './exit-code.ts';
import { nextStep } from './next-step.ts';

export interface Output {
  /** Whether exactly one JSON document is wanted on stdout. */
  readonly json: boolean;
  readonly stdout: Writable;
  readonly stderr: Writable;
  /** stderr, if it is a terminal that can move its cursor. */
  readonly terminal: WriteStream | null;
  /** What the command answers: the document with `--json`, else the text for people. Once per command. */
  result(document: unknown, text: string): void;
  /** An aside for people, on stderr; nothing with `--json`. */
  note(text: string): void;
  /** Says what went wrong on stderr. @returns the exit code. */
  fail(error: unknown): number;
}

export interface OutputOptions {
  readonly json: boolean;
  readonly stdout: Writable;
  readonly stderr: Writable | WriteStream;
  /** The terminal’s kind, TERM; a `dumb` one cannot move its cursor. */
  readonly terminalKind?: string | undefined;
}

/** The two streams of a command: answers on stdout, all else on stderr. */
export function createOutput({ json, stdout, stderr, terminalKind }: OutputOptions): Output {
  const terminal = stderr instanceof WriteStream && terminalKind !== 'dumb' ? stderr : null;
  return {
    json,
    stdout,
    stderr,
    terminal,
    result: (document, text) => void stdout.write(json ? `${JSON.stringify(document)}\n` : `${text}\n`),
    note: (text) => {
      // A bar may stand on the line; it is drawn again below.
      if (!json) stderr.write(`${terminal === null ? '' : CLEAR_LINE}${text}\n`);
    },
    fail: (error) => {
      const failure = describeFailure(error);
      stderr.write(json ? jsonFailure(failure) : humanFailure(failure, stderr));
      return exitCodeOf(error);
    },
  };
}

const CLEAR_LINE = '\r\u001B[2K';

interface Failure {
  readonly code: string;
  readonly message: string;
  readonly nextStep: string | null;
  readonly requestId: string | null;
  /** For a fault that is ours: where it arose. */
  readonly trace: string | null;
}

function describeFailure(error: unknown): Failure {
  if (error instanceof CliError) {
    return { code: error.code, message: error.message, nextStep: null, requestId: null, trace: null };
  }
  if (isFlywheelError(error)) {
    const { code, message, requestId } = error;
    return { code, message, nextStep: nextStep(error), requestId, trace: null };
  }
  const message = error instanceof Error ? error.message : String(error);
  const trace = error instanceof Error ? (error.stack ?? null) : null;
  return { code: 'ERR_INTERNAL', message, nextStep: null, requestId: null, trace };
}

function jsonFailure({ code, message, nextStep }: Failure): string {
  return `${JSON.stringify({ error: code, message: nextStep === null ? message : `${message} ${nextStep}` })}\n`;
}

function humanFailure({ code, message, nextStep, requestId, trace }: Failure, stream: Writable): string {
  const lines = [`${styleText('red', `✗ ${code}`, { stream })}  ${message}`];
  if (nextStep !== null) lines.push(`  ${nextStep}`);
  if (requestId !== null) lines.push(styleText('dim', `  Request ${requestId}`, { stream }));
  if (trace !== null) lines.push(styleText('dim', trace, { stream }));
  return `${lines.join('\n')}\n`;
}
