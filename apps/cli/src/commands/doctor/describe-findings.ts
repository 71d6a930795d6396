import type { Writable } from 'node:stream';
import { styleText } from 'node:util';
import { count } from '../../words.ts';
import type { Finding } from './check.ts';

const MARKS: {
  readonly [S in Finding['state']]: { readonly mark: string; readonly color: 'green' | 'yellow' | 'red' };
} = {
  ok: { mark: '✓', color: 'green' },
  warning: { mark: '!', color: 'yellow' },
  failure: { mark: '✗', color: 'red' },
};

/** A line each, what to do under those that need it, and the sum of it. */
export function describeFindings(findings: readonly Finding[], stream: Writable): string {
  const width = Math.max(...findings.map(({ topic }) => topic.length));
  const lines = findings.flatMap(({ topic, state, text, remedy }) => {
    const { mark, color } = MARKS[state];
    return [
      `${styleText(color, mark, { stream })} ${topic.padEnd(width)}  ${text}`,
      ...(remedy === null ? [] : [styleText('dim', `  ${' '.repeat(width)}  → ${remedy}`, { stream })]),
    ];
  });
  return [...lines, summarize(findings)].join('\n');
}

/** `12 checks: 1 failed, 2 to look at.` */
function summarize(findings: readonly Finding[]): string {
  const countOf = (wanted: Finding['state']) => findings.filter(({ state }) => state === wanted).length;
  const parts = [
    ...(countOf('failure') > 0 ? [`${countOf('failure')} failed`] : []),
    ...(countOf('warning') > 0 ? [`${countOf('warning')} to look at`] : []),
  ];
  return `${count(findings.length, 'check')}: ${parts.length === 0 ? 'all is well' : parts.join(', ')}.`;
}
