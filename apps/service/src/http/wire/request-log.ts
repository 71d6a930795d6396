import type { Logger } from 'pino';

/**
 * The log of the HTTP folder: errors are described by their words and causes alone, never by what else hangs on them,
 * and secrets are cut out wherever they might come along.
 */
export function createRequestLog(log: Logger): Logger {
  return log.child(
    {},
    { serializers: { err: describeError }, redact: SECRET_NAMES.flatMap((name) => [name, `*.${name}`]) },
  );
}

/** Redaction names what it hides: a header, a body's field. */
const SECRET_NAMES = ['headers', 'body', 'apiKey', 'signedTx', 'sessionToken', 'cookie', 'authorization'];

interface DescribedError {
  readonly type: string;
  readonly code?: string;
  readonly message: string;
  readonly stack?: string;
  readonly cause?: DescribedError;
}

/** Long chains are loops or wrappers of wrappers. */
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

/** API keys by their shape; signed transactions and session tokens as long runs of base64. */
const SECRETS = /fwk_[0-9A-Za-z]{8,}|[A-Za-z0-9+/_-]{43,}={0,2}/g;

function withoutSecrets(text: string): string {
  // A path of a stack trace is a run of base64 by its letters: what has slashes and a dot behind it stays.
  return text.replace(SECRETS, (secret, offset: number) =>
    secret.startsWith('fwk_') || text[offset + secret.length] !== '.' ? `[${secret.length} characters]` : secret,
  );
}
