import type { BatchFilter } from '../../../lib/service/batches.ts';

/** What a chip shows, as it stands in the address of the screen. */
export type FilterName = 'all' | 'you' | 'company' | 'setup' | 'open' | 'executed' | 'failed';

export interface Filter {
  readonly name: FilterName;
  readonly word: string;
  readonly asks: BatchFilter;
}

/** Where no filter is chosen. */
export const EVERYTHING: Filter = { name: 'all', word: 'All', asks: {} };

/** In the order in which people look for them. */
export const FILTERS: readonly Filter[] = [
  EVERYTHING,
  { name: 'you', word: 'Waiting for you', asks: { waitsFor: 'wallet' } },
  { name: 'company', word: 'With the company', asks: { waitsFor: 'company' } },
  { name: 'setup', word: 'Setting up', asks: { status: 'AVAILABLE_TO_QUEUE' } },
  { name: 'open', word: 'Set up', asks: { status: 'FINALIZED' } },
  { name: 'executed', word: 'Executed', asks: { status: 'EXECUTED' } },
  { name: 'failed', word: 'Failed', asks: { status: 'FAILED' } },
];

/** The filter of that name; everything for any other text. */
export function findFilter(name: string | undefined): Filter {
  return FILTERS.find((filter) => filter.name === name) ?? EVERYTHING;
}
