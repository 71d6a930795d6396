import { readFile, writeFile } from 'node:fs/promises';
import { parseJson } from '@flywheel/solana-rpc';
import { stringifyJson } from '../../src/json.ts';
import type { Answers } from './script.ts';

/** One answer a line, so that a change of one is one line of a diff. */
const FILE = new URL('answers.jsonl', import.meta.url);

/** Reads the validator's answers. */
export async function readAnswers(): Promise<Answers> {
  const lines = (await readFile(FILE, 'utf8')).trimEnd().split('\n');
  // Written below.
  return Object.fromEntries(lines.map((line) => parseJson(line) as [string, unknown]));
}

export async function writeAnswers(answers: Answers): Promise<void> {
  await writeFile(FILE, `${Object.entries(answers).map(stringifyJson).join('\n')}\n`);
}
