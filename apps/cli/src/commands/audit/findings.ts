import { createReadStream } from 'node:fs';
import { type FileHandle, mkdtemp, open, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageOf, sha256Hex } from '@flywheel/protocol';
import { writeCsv } from '@flywheel/protocol/airdrop-csv';
import { type AuditRecord, type AuditState, parseAuditState, stringifyAuditState } from '@flywheel/sdk';
import { FINDING_COLUMNS, findingCells } from '@flywheel/sdk/audit-findings';
import { CliError } from '../../errors.ts';
import { draftPath, OWNER_ONLY, writeWhole } from '../../files.ts';
import { splitLines } from '../../lines.ts';

/** The findings of an audit in a file, and where it stands: an interrupted audit goes on from there. */
export interface Findings {
  /** The state of the interrupted audit; null for a new one. */
  readonly state: AuditState | null;
  add(record: AuditRecord): void;
  /** Writes what was added, and from time to time the state. */
  checkpoint(state: AuditState): Promise<void>;
  /** Every finding, newest first. */
  read(): AsyncGenerator<AuditRecord>;
  /** Deletes both files, when the audit has ended and its result is printed. */
  remove(): Promise<void>;
  close(): Promise<void>;
}

/** An interruption costs at most the requests of this time. */
const STATE_INTERVAL_MS = 1_000;
/** Characters of findings that wait in memory. */
const MAX_WAITING = 65_536;

/**
 * Opens the files of an audit: the state, and its findings beside it; without a name, in a temporary directory.
 * @throws CliError `ERR_FILE` for a file that is not a whole state of this release.
 */
export async function openFindings(stateFile: string | null): Promise<Findings> {
  const directory = stateFile === null ? await makeDirectory() : null;
  const path = stateFile ?? join(directory ?? '', 'state');
  const listPath = `${path}.findings`;
  const saved = await readState(path);
  const list = await openList(listPath, saved?.bytes ?? null);
  let bytes = saved?.bytes ?? 0;
  let waiting = '';
  let writtenAt = Date.now();

  const flush = async () => {
    const text = Buffer.from(waiting);
    waiting = '';
    if (text.length > 0) await writing(listPath, () => list.write(text, 0, text.length, bytes));
    bytes += text.length;
  };

  return {
    state: saved?.state ?? null,
    add: (record) => {
      waiting += `${JSON.stringify(record, (_key, value) => (typeof value === 'bigint' ? value.toString() : value))}\n`;
    },
    checkpoint: async (state) => {
      if (waiting.length > MAX_WAITING) await flush();
      if (directory !== null || Date.now() - writtenAt < STATE_INTERVAL_MS) return;
      await flush();
      await writing(listPath, () => list.datasync());
      await writing(path, async () => writeState(path, { bytes, state }));
      writtenAt = Date.now();
    },
    read: async function* () {
      await flush();
      for await (const line of splitLines(createReadStream(listPath))) yield parseRecord(line.toString());
    },
    remove: async () => {
      await Promise.all([path, listPath].map((file) => rm(file, { force: true })));
    },
    close: async () => {
      await list.close();
      if (directory !== null) await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Writes the findings as CSV: one line for each, amounts in base units. A crash leaves the old file or the whole new one. */
export async function writeFindings(path: string, findings: Pick<Findings, 'read'>): Promise<void> {
  const draft = draftPath(path);
  const file = await writing(path, () => open(draft, 'w'));
  const write = (cells: readonly string[]) => writing(path, () => file.write(writeCsv([cells])));
  try {
    await write(FINDING_COLUMNS);
    for await (const record of findings.read()) await write(findingCells(record));
    await writing(path, async () => {
      await file.sync();
      await rename(draft, path);
    });
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

function makeDirectory(): Promise<string> {
  const path = tmpdir();
  return writing(path, () => mkdtemp(join(path, 'flywheel-audit-')));
}

/** Writes to a file, or beside it. @throws CliError `ERR_FILE` that names the file. */
async function writing<Result>(path: string, write: () => Promise<Result>): Promise<Result> {
  try {
    return await write();
  } catch (cause) {
    const message = `Cannot write ${path}: ${messageOf(cause)}. Make room there, or name another file.`;
    throw new CliError('ERR_FILE', message, { cause, exitCode: 1 });
  }
}

interface SavedState {
  /** Length of the findings that belong to the state. */
  readonly bytes: number;
  readonly state: AuditState;
}

/** The file's first line is the hash of the others, so that a damaged or edited state is noticed. */
function writeState(path: string, { bytes, state }: SavedState): void {
  const body = `${bytes}\n${stringifyAuditState(state)}\n`;
  writeWhole(path, `${sha256Hex(body)}\n${body}`, OWNER_ONLY);
}

async function readState(path: string): Promise<SavedState | null> {
  const text = await readFile(path, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'ENOENT') return null;
    throw new CliError('ERR_FILE', `Cannot read the state ${path}: ${cause.message}.`, { cause });
  });
  if (text === null) return null;
  const [hash = '', bytes = '', state = ''] = text.split('\n');
  try {
    if (sha256Hex(text.slice(hash.length + 1)) !== hash) throw new Error('Its hash is another one.');
    return { bytes: Number(bytes), state: parseAuditState(state) };
  } catch (cause) {
    const message = `${path} is not the state of an audit by this release, or is damaged. Name another file, or delete it to begin again.`;
    throw new CliError('ERR_FILE', message, { cause });
  }
}

/** Opens the list, without what was added after the state was written. */
async function openList(path: string, bytes: number | null): Promise<FileHandle> {
  const list = await open(path, bytes === null ? 'w+' : 'r+', 0o600).catch((cause: NodeJS.ErrnoException) => {
    const next = bytes === null ? '' : ' It belongs to the state beside it; delete that to begin again.';
    throw new CliError('ERR_FILE', `Cannot open ${path}: ${cause.message}.${next}`, { cause });
  });
  if (bytes === null) return list;
  const { size } = await list.stat();
  if (size >= bytes) {
    await list.truncate(bytes);
    return list;
  }
  await list.close();
  throw new CliError('ERR_FILE', `${path} has lost a part of its findings. Delete the state beside it to begin again.`);
}

function parseRecord(line: string): AuditRecord {
  return JSON.parse(line, (key, value) => (key === 'amountBaseUnits' ? BigInt(String(value)) : value)) as AuditRecord; // written above
}
