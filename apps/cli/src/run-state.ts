import { mkdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { extname, isAbsolute, join, resolve } from 'node:path';
import type { Batch } from '@flywheel/api';
import { messageOf, pluralize, sha256Hex } from '@flywheel/protocol';
import { type FlywheelClient, isFlywheelError } from '@flywheel/sdk';
import type { Context } from './context.ts';
import { CliError } from './errors.ts';
import { OWNER_ONLY, writeWhole } from './files.ts';

/** The batch that was last begun from a file. */
export interface RunRecord {
  readonly file: string;
  /** Hash of what the file pays: another value means that the file has changed. */
  readonly content: string;
  readonly idempotencyKey: string;
  /** null until the service has answered init. */
  readonly batchId: string | null;
  /** Batches of the same content, this one included, whose runs may have pipelines left. */
  readonly unfinished: readonly string[];
  /** Time of the write, ISO 8601. */
  readonly at: string;
}

export interface RunState {
  /** The record of the file; null if there is none that can be read. */
  read(): RunRecord | null;
  /** Replaces the record. A crash leaves the old one or the new one, never a part. */
  write(record: Omit<RunRecord, 'file'>): void;
  /** Keeps the text that is paid, so that the file can be restored. */
  keep(text: string): void;
  /** The path to which `keep` writes it. */
  readonly keptFile: string;
}

/**
 * Opens the state of the runs of one file for one project, in `$XDG_STATE_HOME/flywheel`. It shows what was begun from
 * the file, so that a changed file is noticed, and holds a copy of what was sent, so that a lost file can be sent again;
 * resuming works without it, because the idempotency keys depend on the request alone.
 * @param project id of the project, or another text that stands for it.
 */
export function openRunState(context: Context, project: string, file: string): RunState {
  const path = resolve(file);
  const folder = join(stateDirectory(context), 'runs');
  const name = sha256Hex(`${project}\n${path}`).slice(0, NAME_CHARACTERS);
  const target = join(folder, `${name}.json`);
  const keptFile = join(folder, `${name}.sent${extname(path)}`);
  const unable = (error: unknown) =>
    context.output.note(
      `Note: the state of this run cannot be kept in ${folder} (${messageOf(error)}). It can be resumed without it.`,
    );
  const tryWrite = (destination: string, text: string) => {
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      writeWhole(destination, text, OWNER_ONLY);
    } catch (error) {
      unable(error);
    }
  };
  return {
    read: () => readRecord(target, unable),
    write: (record) => tryWrite(target, `${JSON.stringify({ file: path, ...record }, null, 2)}\n`),
    keep: (text) => tryWrite(keptFile, text),
    keptFile,
  };
}

/**
 * Prevents that a file is paid as it was and again as it is: a file that has changed is not sent while its batch is open,
 * or after the batch has executed a part of it.
 * @param content null if it is not known.
 * @throws CliError `ERR_FILE`
 */
export async function requireUnchanged(
  client: FlywheelClient,
  state: RunState,
  { file, content }: { readonly file: string; readonly content: string | null },
): Promise<void> {
  const record = state.read();
  if (record === null || record.content === content) return;
  for (const batchId of record.unfinished) {
    const batch = await client.getBatch(batchId).catch((error) => {
      if (isFlywheelError(error, 'ERR_BATCH_NOT_FOUND')) return null;
      throw error;
    });
    const issue = batch === null ? null : describeChangeIssue(file, batch);
    if (issue !== null) throw new CliError('ERR_FILE', `${issue} ${describeKept(state)}`);
  }
}

/** A sentence: where the file is as it was sent. */
export function describeKept({ keptFile }: Pick<RunState, 'keptFile'>): string {
  return `What was sent is in ${keptFile}.`;
}

/**
 * Describes how sending a file that has changed since a batch was created from it could pay twice. Null if it could not: the
 * batch has executed all of its pipelines, or none and never will.
 */
export function describeChangeIssue(file: string, { id, status, executeResult }: Batch): string | null {
  const executed = executeResult?.totalSuccessful ?? 0;
  if (status === 'EXECUTED' || (status === 'FAILED' && executed === 0)) return null;
  const changed = `${file} has changed since batch ${id} was created from it`;
  return status === 'FAILED'
    ? `${changed}, and that batch executed ${pluralize(executed, 'pipeline')} before it failed. Sending the file now could pay them again. Restore the file and add --rest, which sends only the pipelines that were not executed. If the changed file is another payment, save it under another name.`
    : `${changed}, and that batch is ${status}. Sending the file now would be another payment. Restore the file to resume the batch, or end it with flywheel cancel ${id}.`;
}

/** 128 bits name a file of one person's computer. */
const NAME_CHARACTERS = 32;

/**
 * The folder in which the command line keeps its state. XDG Base Directory Specification: a path that is not absolute
 * is ignored.
 */
export function stateDirectory({ environment }: Context): string {
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
  const { file, content, idempotencyKey, batchId, unfinished, at } = value;
  const isText = (field: unknown): field is string => typeof field === 'string';
  // Records of 0.2 name one batch only.
  const ids = unfinished ?? (batchId === null ? [] : [batchId]);
  if (
    isText(file) &&
    isText(content) &&
    isText(idempotencyKey) &&
    isText(at) &&
    (batchId === null || isText(batchId)) &&
    Array.isArray(ids) &&
    ids.every(isText)
  ) {
    return { file, content, idempotencyKey, batchId, unfinished: ids, at };
  }
  throw new Error('it is not a record of a run');
}
