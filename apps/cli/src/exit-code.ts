import { isFlywheelError } from '@flywheel/sdk';
import { CliError, type CliErrorCode } from './errors.ts';

/** What a script can tell apart without reading a word; printed by `flywheel --help`, and in docs/cli.md. */
export const EXIT_CODES = [
  [0, 'done'],
  [1, 'failed: the message says why'],
  [2, 'used wrongly: nothing was sent'],
  [3, 'the answer is no: the batch failed, the proof is none, doctor found ✗'],
  [4, 'no answer from the service or the cluster: safe to run again'],
  [130, 'stopped by Ctrl-C (143 by SIGTERM)'],
] as const;

/** The exit code of a failure. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CliError) return error.exitCode ?? CODES[error.code] ?? FAILED;
  const isUnanswered = isFlywheelError(error, 'ERR_UNREACHABLE') || isFlywheelError(error, 'ERR_TIMED_OUT');
  return isUnanswered ? UNANSWERED : FAILED;
}

const FAILED = 1;
const MISUSED = 2;
const NO = 3;
const UNANSWERED = 4;

const CODES: { readonly [Code in CliErrorCode]?: number } = {
  ERR_USAGE: MISUSED,
  ERR_FILE: MISUSED,
  ERR_BATCH_FAILED: NO,
  ERR_AIRDROP_REFUSED: NO,
  ERR_DEMO_FAILED: NO,
  ERR_NOT_PROVEN: NO,
  ERR_UNHEALTHY: NO,
};
