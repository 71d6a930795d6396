import type { Writable } from 'node:stream';
import { styleText } from 'node:util';
import { pluralize } from '@flywheel/protocol';
import { RpcError } from '@flywheel/solana-rpc';

/**
 * The doctor's checks, in the order in which it prints them. The names are stable. docs/how-to/run-in-production.md has an
 * item for each, in this order.
 */
export const TOPICS = [
  'versions',
  'configuration',
  'operator',
  'company',
  'signers',
  'database',
  'pooler',
  'schema',
  'roles',
  'cluster',
  'genesis',
  'program',
  'version-1',
  'clock',
  'methods',
  'history',
  'limits',
  'commitment',
  'block-engine',
  'balance',
  'nonces',
  'registration',
  'address',
  'metrics',
  'worker',
  'jobs',
  'partitions',
  'rotation',
  'http',
] as const;

export type Topic = (typeof TOPICS)[number];

/** The result of one check of the doctor. A topic may have several. */
export interface Check {
  readonly topic: Topic;
  readonly state: 'ok' | 'warning' | 'failure';
  /** Result of the check, as a sentence. */
  readonly text: string;
  /** Remedy, as a sentence; null if none is needed. */
  readonly remedy: string | null;
}

export function ok(topic: Topic, text: string): Check {
  return { topic, state: 'ok', text, remedy: null };
}

/** It works, but needs attention. */
export function warning(topic: Topic, text: string, remedy: string): Check {
  return { topic, state: 'warning', text, remedy };
}

/** It does not work. */
export function failure(topic: Topic, text: string, remedy: string): Check {
  return { topic, state: 'failure', text, remedy };
}

/** Sorts checks by topic, as the page that explains them does. */
export function inOrder(checks: readonly Check[]): Check[] {
  return checks.toSorted((a, b) => TOPICS.indexOf(a.topic) - TOPICS.indexOf(b.topic));
}

/** The messages of an error and its causes: a connection pool’s or fetch’s own message says little. */
export function reasonOf(error: unknown): string {
  // Its message includes the cause.
  if (error instanceof RpcError) return error.message;
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  if (!(error instanceof Error)) return String(error);
  const own = error.message.replace(/[.\s]+$/, '');
  if (!(error.cause instanceof Error)) return own;
  const cause = reasonOf(error.cause);
  if (own === 'fetch failed') return cause;
  return own.endsWith(cause) ? own : `${own}: ${cause}`;
}

const MARKS: {
  readonly [S in Check['state']]: { readonly mark: string; readonly color: 'green' | 'yellow' | 'red' };
} = {
  ok: { mark: '✓', color: 'green' },
  warning: { mark: '!', color: 'yellow' },
  failure: { mark: '✗', color: 'red' },
};

/** A line per check, each remedy below its check, and a summary. */
export function describeChecks(checks: readonly Check[], stream: Writable): string {
  const width = Math.max(...checks.map(({ topic }) => topic.length));
  const lines = checks.flatMap(({ topic, state, text, remedy }) => {
    const { mark, color } = MARKS[state];
    return [
      `${styleText(color, mark, { stream })} ${topic.padEnd(width)}  ${text}`,
      ...(remedy === null ? [] : [styleText('dim', `  ${' '.repeat(width)}  → ${remedy}`, { stream })]),
    ];
  });
  return [...lines, summarize(checks)].join('\n');
}

/** `12 checks: 1 failed, 2 warnings.` */
function summarize(checks: readonly Check[]): string {
  const countOf = (state: Check['state']) => checks.filter((check) => check.state === state).length;
  const parts = [
    ...(countOf('failure') > 0 ? [`${countOf('failure')} failed`] : []),
    ...(countOf('warning') > 0 ? [pluralize(countOf('warning'), 'warning')] : []),
  ];
  return `${pluralize(checks.length, 'check')}: ${parts.length === 0 ? 'all passed' : parts.join(', ')}.`;
}
