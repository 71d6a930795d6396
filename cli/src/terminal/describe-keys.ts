import type { Writable } from 'node:stream';
import { styleText } from 'node:util';
import type { KeySummary } from '@flywheel/api';

const HEADINGS = ['KEY', 'BEGINS WITH', 'NAME', 'SCOPES', 'STATE', 'LAST USED', 'ENDS'] as const;

/** A line for each key, those that no longer work dimmed. */
export function describeKeys(keys: readonly KeySummary[], stream: Writable): string {
  if (keys.length === 0) return 'The project has no keys. Make one with flywheel keys create.';
  const rows = keys.map(cellsOf);
  const widths = HEADINGS.map((heading, column) =>
    Math.max(heading.length, ...rows.map((cells) => cells[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return [
    styleText('dim', line(HEADINGS), { stream }),
    ...keys.map(({ state }, i) => {
      const text = line(rows[i] ?? []);
      return state === 'revoked' || state === 'expired' ? styleText('dim', text, { stream }) : text;
    }),
  ].join('\n');
}

function cellsOf({ keyId, prefix, name = '', scopes, state, lastUsedAt = 'never', ...key }: KeySummary): string[] {
  return [keyId, prefix, name, scopes.join(','), state, lastUsedAt, key.revokedAt ?? key.expiresAt ?? 'never'];
}
