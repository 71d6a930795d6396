import type { Writable } from 'node:stream';
import { programName } from './context.ts';
import { CliError } from './errors.ts';
import { createOutput } from './output.ts';

/**
 * Keeps a command going when its output cannot be written: a payment must not end midway because `2>&1 | head -1` has read
 * enough. What cannot be written is lost; if it is the result, for another reason than a closed pipe, an error on stderr and
 * the exit code say so.
 */
export function outliveStreams(words: readonly string[], io: FailingStreams = process): void {
  const { stdout, stderr, env } = io;
  stderr.on('error', () => undefined);
  let isReported = false;
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    // The reader of a pipe has closed it, like head -1: it has what it wants.
    if (error.code === 'EPIPE' || isReported) return;
    isReported = true;
    const message = `Cannot write to stdout: ${error.message}. ${nextStepOf(words)}`;
    const program = programName({ environment: env });
    const output = createOutput({ json: words.includes('--json'), stdout, stderr, program });
    io.exitCode ||= output.fail(new CliError('ERR_FILE', message, { cause: error, exitCode: 1 }));
  });
}

/** The process, or a test’s streams. */
interface FailingStreams {
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly env: Readonly<Record<string, string | undefined>>;
  exitCode?: NodeJS.Process['exitCode'];
}

/** Results that are shown only once, by the words of their commands. */
const SHOWN_ONCE: readonly (readonly [command: string, nextStep: string])[] = [
  ['register', 'The project is registered, but its API key is lost: create a new one with flywheel keys create.'],
  [
    'keys create',
    'The API key is lost: revoke it with flywheel keys revoke, and create a new one with flywheel keys create.',
  ],
  ['keys rotate', 'The new API key is lost: create another one with flywheel keys create.'],
  ['webhooks create', 'The secret is lost: get a new one with flywheel webhooks rotate.'],
  ['webhooks rotate', 'The secret is lost: get a new one with flywheel webhooks rotate.'],
];

function nextStepOf(words: readonly string[]): string {
  const [first, second] = words.filter((word) => !word.startsWith('-'));
  const known = SHOWN_ONCE.find(([command]) => command === first || command === `${first} ${second}`);
  return known?.[1] ?? 'What the command has done stays done; only its result is lost.';
}
