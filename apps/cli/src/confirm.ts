import { createInterface } from 'node:readline/promises';
import type { Context } from './context.ts';
import { CliError } from './errors.ts';
import { interruptedBy } from './interrupt.ts';
import { visibleLines } from './terminal-text.ts';

export interface Confirmation {
  /** Asked on a terminal. */
  readonly question: string;
  /** True if an option has confirmed exactly these facts already. */
  readonly isConfirmed: boolean;
  /** The option that confirms them without a terminal. */
  readonly option: string;
  /** Ends the question. */
  readonly signal?: AbortSignal;
}

/**
 * Shows what is about to be signed, and asks for a confirmation on a terminal.
 * @throws CliError `ERR_USAGE` if it is not confirmed: nothing is signed then.
 */
export function confirmSigning(context: Context, facts: readonly string[], confirmation: Confirmation): Promise<void> {
  return confirm(context, facts, { ...confirmation, refusal: 'Nothing was signed.', verb: 'sign' });
}

/**
 * Says the effect of a step that cannot be undone, and asks for a confirmation on a terminal; `--yes` confirms it too.
 * @throws CliError `ERR_USAGE` if it is not confirmed: nothing was changed then.
 */
export function confirmEffect(
  context: Context,
  effect: string,
  { question, yes = false }: { readonly question: string; readonly yes?: boolean | undefined },
): Promise<void> {
  const confirmation = { question, isConfirmed: yes, option: '--yes' };
  return confirm(context, [effect], { ...confirmation, refusal: 'Nothing was changed.', verb: 'do it' });
}

interface Words {
  /** Says that what was asked about has not happened. */
  readonly refusal: string;
  /** Names what a confirmation allows, after `To`. */
  readonly verb: string;
}

async function confirm(
  { output, stdin }: Context,
  facts: readonly string[],
  { question, isConfirmed, option, signal, refusal, verb }: Confirmation & Words,
): Promise<void> {
  for (const fact of facts) output.note(fact);
  if (isConfirmed) return;
  if (output.json || !('isTTY' in stdin) || !stdin.isTTY) {
    // With --json nothing else has shown it.
    const shown = output.json ? ` ${asOneSentence(facts)}` : '';
    throw new CliError('ERR_USAGE', `${refusal}${shown} To ${verb} without a terminal, pass ${option}.`);
  }
  const asked = { question: `${visibleLines(question)} Type yes: `, refusal, ...(signal && { signal }) };
  const answer = await ask({ output, stdin }, asked);
  if (answer.trim().toLowerCase() !== 'yes') throw new CliError('ERR_USAGE', refusal);
}

/** Joins facts, of which some are headings of the next ones. */
function asOneSentence(facts: readonly string[]): string {
  const joined = facts.map((fact) => fact.trim().replace(/\.$/, '')).join('; ');
  return `${joined.replaceAll(':; ', ': ')}.`;
}

/**
 * Asks on a terminal.
 * @throws CliError with the refusal after Ctrl-C, and after Ctrl-D or another end of the input; the signal’s reason.
 */
async function ask(
  { output, stdin }: Pick<Context, 'output' | 'stdin'>,
  { question, refusal, signal }: Pick<Confirmation & Words, 'question' | 'refusal' | 'signal'>,
): Promise<string> {
  const terminal = createInterface({ input: stdin, output: output.stderr });
  const end = new AbortController();
  terminal.once('SIGINT', () => end.abort(interruptedBy('SIGINT', refusal)));
  terminal.once('close', () => end.abort(new CliError('ERR_USAGE', refusal)));
  const ended = AbortSignal.any([end.signal, ...(signal ? [signal] : [])]);
  try {
    return await terminal.question(question, { signal: ended });
  } catch (error) {
    throw ended.aborted ? ended.reason : error;
  } finally {
    terminal.close();
  }
}
