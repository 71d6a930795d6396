import { API_KEY_IN_TEXT, API_KEY_SCHEME } from '@flywheel/api';
import type { Logger } from 'pino';

/**
 * Creates the log of the HTTP server. An error is logged as its message, stack and causes, without its other properties,
 * and anything that looks like a secret is removed.
 */
export function createRequestLog(log: Logger): Logger {
  return log.child(
    {},
    { serializers: { err: describeError }, redact: SECRET_NAMES.flatMap((name) => [name, `*.${name}`]) },
  );
}

/** Names of the headers and body fields to redact. */
const SECRET_NAMES = ['headers', 'body', 'apiKey', 'signedTx', 'sessionToken', 'cookie', 'authorization'];

interface DescribedError {
  readonly type: string;
  readonly code?: string;
  readonly message: string;
  readonly stack?: string;
  readonly cause?: DescribedError;
}

/** A longer chain of causes is a loop or a wrapper of wrappers. */
const MAX_CAUSES = 8;

function describeError(error: unknown, depth = 0): DescribedError {
  if (!(error instanceof Error)) return { type: typeof error, message: withoutSecrets(String(error)) };
  const { name, message, stack, cause } = error;
  return {
    type: name,
    ...('code' in error && { code: String(error.code) }),
    message: withoutSecrets(message),
    ...(stack !== undefined && { stack: withoutSecrets(stack) }),
    ...(cause !== undefined && depth < MAX_CAUSES && { cause: describeError(cause, depth + 1) }),
  };
}

/** API keys have a prefix; signed transactions and session tokens are long runs of base64. */
const SECRETS = new RegExp(`${API_KEY_IN_TEXT}|[A-Za-z0-9+/_-]{43,}={0,2}`, 'g');

function withoutSecrets(text: string): string {
  // A path in a stack trace also looks like base64; it is followed by a dot and stays.
  return text.replace(SECRETS, (secret, offset: number) =>
    secret.startsWith(API_KEY_SCHEME) || text[offset + secret.length] !== '.'
      ? `[${secret.length} characters]`
      : secret,
  );
}
