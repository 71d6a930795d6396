import type { Writable } from 'node:stream';
import { WriteStream } from 'node:tty';
import { styleText } from 'node:util';
import { isFlywheelError } from '@flywheel/sdk';
import { CliError, exitCodeOf, nextStepOf } from './errors.ts';

export interface Output {
  /** True with `--json`: stdout is exactly one JSON document. */
  readonly json: boolean;
  readonly stdout: Writable;
  readonly stderr: Writable;
  /** stderr, if it is a terminal that can move its cursor; otherwise null. */
  readonly terminal: WriteStream | null;
  /** Prints the result on stdout: the document with `--json`, otherwise the text. Once per command. */
  result(document: unknown, text: string): void;
  /** Prints a note on stderr; nothing with `--json`. */
  note(text: string): void;
  /** Prints an error on stderr. @returns the exit code. */
  fail(error: unknown): number;
}

export interface OutputOptions {
  readonly json: boolean;
  readonly stdout: Writable;
  readonly stderr: Writable | WriteStream;
  /** The TERM variable; a `dumb` terminal cannot move its cursor. */
  readonly terminalType?: string | undefined;
}

/** Creates the two streams of a command: the result on stdout, everything else on stderr. */
export function createOutput({ json, stdout, stderr, terminalType }: OutputOptions): Output {
  return {
    json,
    stdout,
    stderr,
    terminal: stderr instanceof WriteStream && stderr.isTTY && terminalType !== 'dumb' ? stderr : null,
    result: (document, text) => void stdout.write(json ? `${JSON.stringify(document)}\n` : `${text}\n`),
    note: (text) => {
      if (!json) stderr.write(`${text}\n`);
    },
    fail: (error) => {
      const report = describeError(error);
      stderr.write(json ? toJson(report) : toText(report, stderr));
      return exitCodeOf(error);
    },
  };
}

interface ErrorReport {
  readonly code: string;
  readonly message: string;
  readonly nextStep: string | null;
  readonly requestId: string | null;
  /** The stack of an unexpected error. */
  readonly stack: string | null;
}

function describeError(error: unknown): ErrorReport {
  if (error instanceof CliError) {
    return { code: error.code, message: error.message, nextStep: null, requestId: null, stack: null };
  }
  if (isFlywheelError(error)) {
    const { code, message, requestId } = error;
    return { code, message, nextStep: nextStepOf(error), requestId, stack: null };
  }
  const message = error instanceof Error ? error.message : String(error);
  const stack = error instanceof Error ? (error.stack ?? null) : null;
  return { code: 'ERR_INTERNAL', message, nextStep: null, requestId: null, stack };
}

function toJson({ code, message, nextStep }: ErrorReport): string {
  return `${JSON.stringify({ error: code, message: nextStep === null ? message : `${message.replace(/[^.!?]$/, '$&.')} ${nextStep}` })}\n`;
}

function toText({ code, message, nextStep, requestId, stack }: ErrorReport, stream: Writable): string {
  const lines = [`${styleText('red', `✗ ${code}`, { stream })}  ${message}`];
  if (nextStep !== null) lines.push(`  ${nextStep}`);
  if (requestId !== null) lines.push(styleText('dim', `  Request ${requestId}`, { stream }));
  if (stack !== null) lines.push(styleText('dim', stack, { stream }));
  return `${lines.join('\n')}\n`;
}
