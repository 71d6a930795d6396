import type { Commitment } from '../chain/rpc.ts';
import type { AccountState } from './account-history.ts';
import type { MultisigHistory } from './multisig-history.ts';
import type { Period } from './period.ts';
import type { Tally } from './report.ts';

/**
 * All that an audit needs to go on after an interruption. Its size depends on the number of the vault's accounts, not
 * of its transactions.
 */
export interface AuditState {
  readonly format: typeof STATE_FORMAT;
  readonly genesisHash: string;
  readonly vault: string;
  readonly commitment: Commitment;
  readonly period: Period;
  /** null if the vault has executed nothing. */
  readonly multisig: MultisigHistory | null;
  readonly accounts: AccountState[];
  readonly tally: Tally;
  /** The slot that was read last, and the transactions of it that were counted. */
  slot: number | null;
  counted: string[];
}

/** Changes with every change of the state's shape, so that no audit goes on from a state that it does not know. */
export const STATE_FORMAT = 'flywheel-audit-2';

/** Writes a state as JSON text; bigints and maps keep their kind. */
export function stringifyAuditState(state: AuditState): string {
  return JSON.stringify(state, (_key, value: unknown) => {
    if (typeof value === 'bigint') return { bigint: value.toString() };
    return value instanceof Map ? { map: [...value] } : value;
  });
}

/**
 * Reads what `stringifyAuditState` wrote. Nothing but the format is checked: keep a hash beside a text that others can change.
 * @throws Error if the text is not a state of this release.
 */
export function parseAuditState(text: string): AuditState {
  const state: unknown = JSON.parse(text, (_key, value: unknown) => {
    if (typeof value !== 'object' || value === null) return value;
    if ('bigint' in value && typeof value.bigint === 'string') return BigInt(value.bigint);
    return 'map' in value && Array.isArray(value.map) ? new Map(value.map) : value;
  });
  if (typeof state === 'object' && state !== null && 'format' in state && state.format === STATE_FORMAT) {
    return state as AuditState; // written by stringifyAuditState in this format
  }
  throw new Error('It is not the state of an audit by this release.');
}
