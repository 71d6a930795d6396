import { createHash } from 'node:crypto';
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import type { Context } from './context.ts';

/** The batch that was last begun from a file. */
export interface RunRecord {
  readonly file: string;
  /** Key of the first run of the file's content: another value means that the file has changed. */
  readonly content: string;
  readonly idempotencyKey: string;
  /** null until the service has answered init. */
  readonly batchId: string | null;
  /** Time of the write, ISO 8601. */
  readonly at: string;
}

export interface RunState {
  /** The record of the file; null if there is none that can be read. */
  read(): RunRecord | null;
  /** Replaces the record. A crash leaves the old one or the new one, never a part. */
  write(record: Omit<RunRecord, 'file'>): void;
}

/**
 * Opens the state of the runs of one file for one project, in `$XDG_STATE_HOME/flywheel`. It shows what was begun from
 * the file, so that a changed file is noticed; resuming works without it, because the idempotency keys depend on the
 * request alone.
 * @param project id of the project, or another text that stands for it.
 */
export function openRunState(context: Context, project: string, file: string): RunState {
  const path = resolve(file);
  const folder = join(stateDirectory(context), 'runs');
  const name = createHash('sha256').update(`${project}\n${path}`).digest('hex').slice(0, NAME_CHARACTERS);
  const target = join(folder, `${name}.json`);
  const unable = (error: unknown) =>
    context.output.note(
      `Note: the state of this run cannot be kept in ${folder} (${error instanceof Error ? error.message : error}). It can be resumed without it.`,
    );
  return {
    read: () => readRecord(target, unable),
    write: (record) => {
      try {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        writeWhole(target, `${JSON.stringify({ file: path, ...record }, null, 2)}\n`);
      } catch (error) {
        unable(error);
      }
    },
  };
}

/** 128 bits name a file of one person's computer. */
const NAME_CHARACTERS = 32;

/** XDG Base Directory Specification: a path that is not absolute is ignored. */
function stateDirectory({ environment }: Context): string {
  const { XDG_STATE_HOME: stateHome = '' } = environment;
  return join(isAbsolute(stateHome) ? stateHome : join(homedir(), '.local', 'state'), 'flywheel');
}

function readRecord(path: string, onError: (error: unknown) => void): RunRecord | null {
  try {
    return parseRecord(JSON.parse(readFileSync(path, 'utf8')));
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) onError(error);
    return null;
  }
}

function parseRecord(value: Partial<Record<keyof RunRecord, unknown>>): RunRecord {
  const { file, content, idempotencyKey, batchId, at } = value;
  const isText = (field: unknown): field is string => typeof field === 'string';
  if (
    isText(file) &&
    isText(content) &&
    isText(idempotencyKey) &&
    isText(at) &&
    (batchId === null || isText(batchId))
  ) {
    return { file, content, idempotencyKey, batchId, at };
  }
  throw new Error('it is not a record of a run');
}

function writeWhole(path: string, text: string): void {
  const draft = `${path}.${process.pid}`;
  const file = openSync(draft, 'w', 0o600);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(draft, path);
}
