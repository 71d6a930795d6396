import type { KeySummary } from '@flywheel/api';

/** What a key is called: its name, else how it begins. */
export function keyName({ name, prefix }: Pick<KeySummary, 'name' | 'prefix'>): string {
  return name ?? prefix;
}
