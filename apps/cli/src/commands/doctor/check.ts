/** What the doctor says of one thing. */
export interface Finding {
  readonly topic: string;
  readonly state: 'ok' | 'warning' | 'failure';
  /** What was found, a sentence. */
  readonly text: string;
  /** What to do about it; null where nothing is to be done. */
  readonly remedy: string | null;
}

export function ok(topic: string, text: string): Finding {
  return { topic, state: 'ok', text, remedy: null };
}

/** It works, and something is worth a look. */
export function warning(topic: string, text: string, remedy: string): Finding {
  return { topic, state: 'warning', text, remedy };
}

/** It does not work. */
export function failure(topic: string, text: string, remedy: string): Finding {
  return { topic, state: 'failure', text, remedy };
}

/** The words of whatever was thrown, its causes’ as well: a pool’s or a fetch’s own say little. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  if (!(error instanceof Error)) return String(error);
  const own = error.message.replace(/[.\s]+$/, '');
  if (!(error.cause instanceof Error)) return own;
  return own === 'fetch failed' ? reasonOf(error.cause) : `${own}: ${reasonOf(error.cause)}`;
}
