import type { Writable } from 'node:stream';
import { WriteStream } from 'node:tty';
import { styleText } from 'node:util';
import { messageOf } from '@flywheel/protocol';
import { type FlywheelError, isFlywheelError } from '@flywheel/sdk';
import { CliError, exitCodeOf, nameOptions, nextStepOf } from './errors.ts';
import { toVisibleJson, visibleLines, visibleStyledLines } from './terminal-text.ts';

export interface Output {
  /** True with `--json`: stdout is exactly one JSON document. */
  readonly json: boolean;
  readonly stdout: Writable;
  readonly stderr: Writable;
  /** stderr, if it is a terminal that has a width and can move its cursor; otherwise null. */
  readonly terminal: WriteStream | null;
  /** Prints the result on stdout: the document with `--json`, otherwise the text. Once per command. */
  result(document: unknown, text: string): void;
  /** Prints a note on stderr; nothing with `--json`. */
  note(text: string): void;
  /** Names the batch that the command works on, as far as it is known. Every error after it is printed with it. */
  nameBatch(names: BatchNames): void;
  /** Prints an error on stderr. @returns the exit code. */
  fail(error: unknown): number;
}

/** Names by which a person finds a batch again. */
export interface BatchNames {
  readonly idempotencyKey: string | null;
  readonly batchId: string | null;
}

export interface OutputOptions {
  readonly json: boolean;
  readonly stdout: Writable;
  readonly stderr: Writable | WriteStream;
  /** The TERM variable; a `dumb` terminal cannot move its cursor. */
  readonly terminalType?: string | undefined;
  /** How a person calls the command line; `flywheel` by default. */
  readonly program?: string;
}

/** Creates the two streams of a command: the result on stdout, everything else on stderr. */
export function createOutput({ json, stdout, stderr, terminalType, program }: OutputOptions): Output {
  let names: BatchNames = { idempotencyKey: null, batchId: null };
  return {
    json,
    stdout,
    stderr,
    terminal: stderr instanceof WriteStream && canMoveCursor(stderr, terminalType) ? stderr : null,
    result: (document, text) =>
      void stdout.write(`${json ? toVisibleJson(document) : visibleStyledLines(text)}
`),
    note: (text) => {
      if (!json) stderr.write(`${visibleStyledLines(text)}\n`);
    },
    nameBatch: (known) => {
      names = known;
    },
    fail: (error) => {
      const report = { ...withProgram(describeError(error), program), ...names };
      stderr.write(json ? toJson(report) : toText(report, stderr));
      return exitCodeOf(error);
    },
  };
}

/** ora divides by the width: on a terminal of width 0, as cron and `expect` open it, it would write without end. */
function canMoveCursor({ isTTY, columns }: WriteStream, terminalType: string | undefined): boolean {
  return isTTY && columns > 0 && terminalType !== 'dumb';
}

/** `Batch 0198…, idempotency key 5b1e…`; null if neither is known. */
function describeNames({ batchId, idempotencyKey }: BatchNames): string | null {
  const known = [
    ...(batchId === null ? [] : [`batch ${batchId}`]),
    ...(idempotencyKey === null ? [] : [`idempotency key ${idempotencyKey}`]),
  ].join(', ');
  return known === '' ? null : `${known.charAt(0).toUpperCase()}${known.slice(1)}`;
}

interface ErrorReport {
  readonly code: string;
  readonly message: string;
  readonly nextStep: string | null;
  readonly requestId: string | null;
  /** Issues of the request, with the place of each; empty if no place is known. */
  readonly problems: FlywheelError['problems'];
  /** The stack of an unexpected error. */
  readonly stack: string | null;
}

function describeError(error: unknown): ErrorReport {
  if (error instanceof CliError) {
    return { code: error.code, message: error.message, nextStep: null, requestId: null, problems: [], stack: null };
  }
  if (isFlywheelError(error)) {
    const { code, requestId, problems } = error;
    const message = code === 'ERR_INVALID_REQUEST' ? nameOptions(error.message) : error.message;
    return { code, message, nextStep: nextStepOf(error), requestId, problems, stack: null };
  }
  const message = messageOf(error);
  const stack = error instanceof Error ? (error.stack ?? null) : null;
  return { code: 'ERR_INTERNAL', message, nextStep: null, requestId: null, problems: [], stack };
}

/** Writes the commands of an error's next step as the person can type them. */
function withProgram({ message, nextStep, ...report }: ErrorReport, program = 'flywheel'): ErrorReport {
  const write = (text: string) => text.replaceAll(/(?<![\w/.-]|npx )flywheel (?=[a-z])/g, `${program} `);
  return { ...report, message: write(message), nextStep: nextStep === null ? null : write(nextStep) };
}

function toJson({ code, message, nextStep, problems, batchId, idempotencyKey }: ErrorReport & BatchNames): string {
  const document = {
    error: code,
    message: nextStep === null ? message : `${message.replace(/[^.!?]$/, '$&.')} ${nextStep}`,
    ...(problems.length > 0 && { problems }),
    ...(batchId !== null && { batchId }),
    ...(idempotencyKey !== null && { idempotencyKey }),
  };
  return `${toVisibleJson(document)}\n`;
}

function toText(report: ErrorReport & BatchNames, stream: Writable): string {
  const { code, message, nextStep, requestId, stack } = report;
  const lines = [`${styleText('red', `✗ ${visibleLines(code)}`, { stream })}  ${visibleLines(message)}`];
  if (nextStep !== null) lines.push(`  ${nextStep}`);
  const names = describeNames(report);
  if (names !== null) lines.push(`  ${visibleLines(names)}`);
  if (requestId !== null) lines.push(styleText('dim', `  Request ${visibleLines(requestId)}`, { stream }));
  if (stack !== null) lines.push(styleText('dim', visibleLines(stack), { stream }));
  return `${lines.join('\n')}\n`;
}
