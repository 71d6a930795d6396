import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BatchLog } from './protocol-log.ts';

const MODEL = fileURLToPath(new URL('../../../docs/model/landing.pml', import.meta.url));
const TOOLS = { spin: '-V', cc: '--version' } as const;

/** Says what is missing to check the model; null if nothing is. */
export function describeMissingTools(): string | null {
  const missing = Object.entries(TOOLS).filter(([tool, flag]) => isMissing(tool, flag));
  if (missing.length === 0) return null;
  return `${missing.map(([tool]) => tool).join(' and ')} missing. On Debian: apt-get install spin gcc libc6-dev.`;
}

function isMissing(tool: string, flag: string): boolean {
  return spawnSync(tool, [flag]).error !== undefined;
}

/**
 * How long the searches of a checker are. TCC compiles in a fiftieth of the time of `cc -O0`, and its code takes twice as long: it is used
 * for `short` ones, if it is installed. It runs no constructors, with which `log.pml` reads a log.
 */
export type Searches = 'short' | 'of logs' | 'long';

function compilerFor(searches: Searches): readonly [command: string, ...options: string[]] {
  if (searches === 'long') return ['cc', '-O2'];
  return searches === 'of logs' || isMissing('tcc', '-v') ? ['cc', '-O0'] : ['tcc'];
}

/** A checker: the model with its macros, compiled. */
export interface Checker {
  /** Searches with these options of the checker. @returns its output. */
  search(options: readonly string[], environment?: Readonly<Record<string, string>>): Promise<string>;
  /** A folder for files of the caller, deleted with the checker. */
  readonly folder: string;
  close(): Promise<void>;
}

/**
 * Compiles the model.
 * @param macros sizes, seeded errors, and `LOGGED`, e.g. `BATCHES=3 CRASHES=1`.
 * @param modes macros of the checker, e.g. `SAFETY`, and `COLLAPSE` for a smaller memory.
 */
export async function compileModel(macros: string, modes: readonly string[], searches: Searches): Promise<Checker> {
  const folder = await mkdtemp(join(tmpdir(), 'flywheel-model-'));
  const defines = (names: readonly string[]) => names.filter((name) => name !== '').map((name) => `-D${name}`);
  try {
    await run('spin', [...defines(macros.split(' ')), '-a', MODEL], folder);
    const [compiler, ...options] = compilerFor(searches);
    const flags = [...options, '-w', ...defines(['VECTORSZ=4096', ...modes])];
    await run(compiler, [...flags, '-o', 'pan', 'pan.c'], folder);
  } catch (error) {
    await rm(folder, { recursive: true });
    throw error;
  }
  return {
    folder,
    search: (options, environment = {}) => run(join(folder, 'pan'), options, folder, environment),
    close: () => rm(folder, { recursive: true }),
  };
}

/** A log of a few hundred steps takes some thousand states. One that is not accepted can take all that there are. */
const LOG_LIMITS = ['SAFETY', 'COLLAPSE', 'MEMLIM=2000'] as const;
const LOG_SIZE = 'LOGGED BATCHES=1 ROWS=24 DEPTH=12 WINDOW=16 CRASHES=1 TAKEOVERS=1 LOSSES=1 CANCELS=1';
const LOG_SECONDS = 60;

export interface CheckedLogs {
  /** The logs that no run of the model has, each with the first step that none has. */
  readonly rejected: readonly { readonly log: BatchLog; readonly step: number }[];
  /** Number of logs whose search found no run within its time and memory, and has not seen all. */
  readonly undecided: number;
}

/**
 * Searches for a run of the model with exactly the steps of each log.
 * @param hasFaults true if the cluster may have lied about transactions and abandoned blocks.
 */
export async function checkLogs(
  logs: readonly BatchLog[],
  { hasFaults }: { readonly hasFaults: boolean },
): Promise<CheckedLogs> {
  const checker = await compileModel(hasFaults ? `${LOG_SIZE} FORKS=1 LIES` : LOG_SIZE, LOG_LIMITS, 'of logs');
  const rejected = [];
  let undecided = 0;
  try {
    for (const [i, log] of logs.entries()) {
      const path = join(checker.folder, `${i}.log`);
      const lines = log.steps.map((step) => Array.from({ length: 6 }, (_, field) => step[field] ?? 0).join(' '));
      await writeFile(path, [log.pipelines, ...lines, ''].join('\n'));
      const output = await checker.search(['-n', '-E', '-m100000', `-Q${LOG_SECONDS / 60}`], { FLYWHEEL_LOG: path });
      if (/^pan:1: assertion violated 0/m.test(output)) continue;
      if (/Search not completed/.test(output)) {
        undecided += 1;
        continue;
      }
      const step = Math.max(0, ...[...output.matchAll(/^step (\d+)$/gm)].map(([, reached]) => Number(reached)));
      rejected.push({ log, step });
    }
  } finally {
    await checker.close();
  }
  return { rejected, undecided };
}

const MAX_OUTPUT_BYTES = 2 ** 26;

function run(
  command: string,
  args: readonly string[],
  folder: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, ...environment };
    execFile(command, args, { cwd: folder, maxBuffer: MAX_OUTPUT_BYTES, env }, (error, stdout, stderr) => {
      if (error) reject(new Error(`${command} ${args.join(' ')} failed:\n${stdout}${stderr}`, { cause: error }));
      else resolve(stdout);
    });
  });
}
