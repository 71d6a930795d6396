import type { Writable } from 'node:stream';
import { styleText } from 'node:util';
import type { KeySummary } from '@flywheel/api';
import { layOutTable } from '../../format.ts';

const HEADINGS = ['KEY', 'BEGINS WITH', 'NAME', 'SCOPES', 'STATE', 'LAST USED', 'ENDS'] as const;

/** A line for each key, those that no longer work dimmed. */
export function describeKeys(keys: readonly KeySummary[], stream: Writable): string {
  if (keys.length === 0) return 'The project has no keys. Make one with flywheel keys create.';
  const { heading, lines } = layOutTable(HEADINGS, keys.map(cellsOf), stream);
  const isOver = ({ state }: KeySummary) => state === 'revoked' || state === 'expired';
  return [
    heading,
    ...keys.map((key, i) => (isOver(key) ? styleText('dim', lines[i] ?? '', { stream }) : (lines[i] ?? ''))),
  ].join('\n');
}

function cellsOf({ keyId, prefix, name = '', scopes, state, lastUsedAt = 'never', ...key }: KeySummary): string[] {
  return [keyId, prefix, name, scopes.join(','), state, lastUsedAt, key.revokedAt ?? key.expiresAt ?? 'never'];
}
