import { CliError } from './errors.ts';

/** Ctrl-C may arrive twice at once: from the terminal and from the process that started us. */
const REPEAT_MS = 1_000;
/** A shell’s convention: 128 plus the number of the signal. */
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const;

/**
 * Runs work that Ctrl-C and SIGTERM abort in order, so that it can put away what it started; pressed again, the
 * process ends at once.
 * @param nextStep is said when it was stopped.
 * @throws CliError `ERR_INTERRUPTED` when the work ended because of it.
 */
export async function interruptible<Result>(
  work: (signal: AbortSignal) => Promise<Result>,
  nextStep = '',
): Promise<Result> {
  const abort = new AbortController();
  let firstAtMs = 0;
  const interrupt = (signal: 'SIGINT' | 'SIGTERM') => {
    if (!abort.signal.aborted) {
      firstAtMs = Date.now();
      abort.abort(
        new CliError('ERR_INTERRUPTED', `Stopped by ${signal}.${nextStep === '' ? '' : ` ${nextStep}`}`, {
          exitCode: EXIT_CODES[signal],
        }),
      );
    } else if (Date.now() - firstAtMs > REPEAT_MS) {
      process.exit(EXIT_CODES[signal]);
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
