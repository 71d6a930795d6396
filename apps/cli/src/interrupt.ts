import { CliError } from './errors.ts';

/**
 * One Ctrl-C can arrive twice: from the terminal, and at once from the launcher that started this process. A person’s second
 * one takes longer.
 */
const REPEAT_MS = 300;
/** 128 plus the number of the signal, as shells report it. */
const SIGNAL_EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const;

/**
 * Runs work that Ctrl-C and SIGTERM abort, so that it can clean up; a second Ctrl-C exits at once.
 * @param nextStep is added to the message after an interrupt.
 * @throws CliError `ERR_INTERRUPTED` if the work ended because of a signal.
 */
export async function interruptible<Result>(
  work: (signal: AbortSignal) => Promise<Result>,
  nextStep = '',
): Promise<Result> {
  const abort = new AbortController();
  let firstAtMs = 0;
  const interrupt = (signal: keyof typeof SIGNAL_EXIT_CODES) => {
    if (!abort.signal.aborted) {
      firstAtMs = Date.now();
      abort.abort(interruptedBy(signal, nextStep));
    } else if (Date.now() - firstAtMs > REPEAT_MS) {
      process.exit(SIGNAL_EXIT_CODES[signal]);
    }
  };
  process.on('SIGINT', interrupt);
  process.on('SIGTERM', interrupt);
  try {
    return await work(abort.signal);
  } finally {
    process.off('SIGINT', interrupt);
    process.off('SIGTERM', interrupt);
  }
}

/** Creates the error of a command that a signal has ended. @param nextStep is added to its message. */
export function interruptedBy(signal: keyof typeof SIGNAL_EXIT_CODES, nextStep: string): CliError {
  const message = `Interrupted by ${signal}.${nextStep === '' ? '' : ` ${nextStep}`}`;
  return new CliError('ERR_INTERRUPTED', message, { exitCode: SIGNAL_EXIT_CODES[signal] });
}
