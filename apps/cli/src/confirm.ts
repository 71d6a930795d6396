import { createInterface } from 'node:readline/promises';
import type { Context } from './context.ts';
import { CliError } from './errors.ts';

export interface Confirmation {
  /** Asked on a terminal. */
  readonly question: string;
  /** True if an option has confirmed exactly these facts already. */
  readonly isConfirmed: boolean;
  /** The option that confirms them without a terminal. */
  readonly option: string;
}

/**
 * Shows what is about to be signed, and asks for a confirmation on a terminal.
 * @throws CliError `ERR_USAGE` if it is not confirmed: nothing is signed then.
 */
export async function confirmSigning(
  { output, stdin }: Context,
  facts: readonly string[],
  { question, isConfirmed, option }: Confirmation,
): Promise<void> {
  for (const fact of facts) output.note(fact);
  if (isConfirmed) return;
  if (output.json || !('isTTY' in stdin) || !stdin.isTTY) {
    // With --json nothing else has shown it.
    const shown = output.json ? ` ${facts.map((fact) => fact.trim()).join('; ')}.` : '';
    throw new CliError('ERR_USAGE', `Nothing was signed.${shown} To sign without a terminal, pass ${option}.`);
  }
  const terminal = createInterface({ input: stdin, output: output.stderr });
  try {
    const answer = await terminal.question(`${question} Type yes: `);
    if (answer.trim().toLowerCase() !== 'yes') throw new CliError('ERR_USAGE', 'Nothing was signed.');
  } finally {
    terminal.close();
  }
}
