import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Readable, Writable } from 'node:stream';
import { main } from '../src/main.ts';

export interface CommandResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** State directory of the commands that tests run, so that they do not write to the home directory. */
export const STATE_HOME = mkdtempSync(join(tmpdir(), 'flywheel-cli-state-'));
process.on('exit', () => rmSync(STATE_HOME, { recursive: true, force: true }));

/** Runs one command line in this process, with an environment of its own. */
export async function runCommand(
  words: readonly string[],
  env: Readonly<Record<string, string | undefined>> = {},
  stdin?: Readable,
): Promise<CommandResult> {
  const stdout = collect();
  const stderr = collect();
  const exitCode = await main(words, {
    stdout: stdout.stream,
    stderr: stderr.stream,
    ...(stdin && { stdin }),
    env: { XDG_STATE_HOME: STATE_HOME, ...env },
  });
  return { exitCode, stdout: stdout.text(), stderr: stderr.text() };
}

/** The one JSON document on stdout. */
export function parseDocument<Document>({ stdout, stderr, exitCode }: CommandResult): Document {
  if (exitCode !== 0) throw new Error(`The command failed with ${exitCode}: ${stderr}`);
  return JSON.parse(stdout);
}

function collect() {
  const chunks: string[] = [];
  const stream = new Writable({
    write: (chunk, _, done) => {
      chunks.push(String(chunk));
      done();
    },
  });
  return { stream, text: () => chunks.join('') };
}
