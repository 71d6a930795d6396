import type { Address } from '@solana/kit';
import { isAddress } from './addresses.ts';
import { isSignedBy } from './signatures.ts';

/** The two keys of a service that a registration names, and that wallets keep. */
export const KEY_ROLES = ['company', 'operator'] as const;

export type KeyRole = (typeof KEY_ROLES)[number];

/** A statement of a key about the key that replaces it. */
export interface KeySuccession {
  readonly role: KeyRole;
  /** Address of the key that signs. */
  readonly from: Address;
  readonly to: Address;
  /** Genesis hash: a succession on one cluster says nothing about another. */
  readonly genesisHash: string;
}

/**
 * Writes the text that a key signs to name its successor. Equal successions give equal text, so a signature is valid for one
 * cluster, one role and one pair of keys, and for good. No transaction has these bytes: their first one, `F`, would be
 * a header that asks for 70 signatures.
 */
export function writeSuccessionText({ role, from, to, genesisHash }: KeySuccession): string {
  return [
    'Flywheel: this key names its successor.',
    '',
    'From now on, projects are registered with the successor in place of this key.',
    'Signing this costs nothing and moves nothing.',
    '',
    `Role: ${role}`,
    `Key: ${from}`,
    `Successor: ${to}`,
    `Cluster: ${genesisHash}`,
  ].join('\n');
}

/**
 * Verifies that a key has signed its succession, as the raw bytes of the text.
 * @param signature base58.
 * @returns null if it has, otherwise the reason, a sentence.
 */
export async function findSuccessionIssue(succession: KeySuccession, signature: string): Promise<string | null> {
  const { role, from, to } = succession;
  for (const address of [from, to]) {
    if (!isAddress(address)) return `A succession names ${JSON.stringify(address)}, which is not an address.`;
  }
  if (from === to) return `The succession of ${from} names itself.`;
  const isSigned = await isSignedBy(from, writeSuccessionText(succession), signature);
  return isSigned ? null : `${from} has not signed that ${to} succeeds it as the ${role} of this cluster.`;
}

/** A succession as a service publishes it: a claim, until its signature is verified. */
export interface PublishedSuccession {
  readonly role: string;
  readonly from: string;
  readonly to: string;
  /** Base58. */
  readonly signature: string;
}

/** A key that may succeed known ones, and the successions that a service publishes. */
export interface SuccessionSearch extends Pick<KeySuccession, 'role' | 'genesisHash'> {
  /** The keys that the reader trusts. */
  readonly known: readonly string[];
  readonly to: string;
  readonly published: readonly PublishedSuccession[];
}

export interface SuccessionResult {
  /** The known keys that `to` succeeds, directly or through further keys. It takes their place. */
  readonly predecessors: readonly string[];
  /** Why each of the others does not lead to `to`, a sentence each. */
  readonly issues: readonly string[];
}

/**
 * Follows signed successions from known keys to another one. Signatures that are not valid count for nothing. A key that
 * has signed two successors leads to none: one of the signatures may be a thief's.
 */
export async function followSuccessions({ known, ...search }: SuccessionSearch): Promise<SuccessionResult> {
  const results = await Promise.all(known.map(async (from) => ({ from, issue: await findPathIssue(from, search) })));
  return {
    predecessors: results.filter(({ issue }) => issue === null).map(({ from }) => from),
    issues: results.flatMap(({ issue }) => issue ?? []),
  };
}

async function findPathIssue(
  known: string,
  { role, to, genesisHash, published }: Omit<SuccessionSearch, 'known'>,
): Promise<string | null> {
  const passed = new Set([known]);
  for (let key = known; ; ) {
    const claims = published.filter((claim) => claim.role === role && claim.from === key);
    const checked = await Promise.all(
      claims.map(async ({ to: successor, signature }) => {
        const succession = { role, from: key as Address, to: successor as Address, genesisHash };
        return { successor, issue: await findSuccessionIssue(succession, signature) };
      }),
    );
    const successors = new Set(checked.filter(({ issue }) => issue === null).map(({ successor }) => successor));
    if (successors.size > 1) return `${key} has signed ${successors.size} successors: ${[...successors].join(', ')}.`;
    const [next] = successors;
    if (next === undefined) return checked[0]?.issue ?? `${key} has named no successor.`;
    if (next === to) return null;
    if (passed.has(next)) return `The successors of ${known} lead back to ${next}, and not to ${to}.`;
    passed.add(next);
    key = next;
  }
}
