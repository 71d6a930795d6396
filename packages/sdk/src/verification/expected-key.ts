import { followSuccessions, type KeyRole, type PublishedSuccession } from '@flywheel/protocol';
import { readGenesisHash } from '../chain/rpc.ts';

/** An address, or several of which each is accepted. */
export type ExpectedAddress = string | readonly string[];

interface KeyToCheck {
  readonly role: KeyRole;
  /** The address that the transaction names. */
  readonly address: string;
  /** The addresses that the caller knows; undefined if it knows none. */
  readonly expected: ExpectedAddress | undefined;
  readonly published: readonly PublishedSuccession[];
}

interface CheckedKey {
  /** The expected addresses that this one succeeds, as their keys have signed. */
  readonly predecessors: readonly string[];
  /** Reasons against the address, a sentence each. */
  readonly issues: readonly string[];
}

const ROLES: Readonly<Record<KeyRole, string>> = { company: 'vote for the company', operator: 'be the operator' };

/**
 * Checks that a key is one that the caller knows, or one that it succeeds by its own signature.
 * @param rpcUrl says which cluster this is.
 */
export async function checkKey(
  rpcUrl: string,
  { role, address, expected, published }: KeyToCheck,
  signal?: AbortSignal,
): Promise<CheckedKey> {
  const known = expectedAddresses(expected);
  if (expected === undefined || known.includes(address)) return { predecessors: [], issues: [] };
  const genesisHash = await readGenesisHash(rpcUrl, { signal });
  const { predecessors, issues } = await followSuccessions({ role, known, to: address, genesisHash, published });
  if (predecessors.length > 0) return { predecessors, issues: [] };
  const reason = `${address} would ${ROLES[role]}, not ${known.join(' or ')}.`;
  return { predecessors, issues: [[reason, ...issues].join(' ')] };
}

export function expectedAddresses(expected: ExpectedAddress | undefined): readonly string[] {
  return [expected ?? []].flat();
}
