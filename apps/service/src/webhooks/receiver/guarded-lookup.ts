import { promises as dns, type LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { isAllowedAddress, type ReceiverRules } from './allowed-address.ts';

export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>;

/**
 * Resolves a name to those of its addresses that may be connected to. The connection is made to what this answers: what
 * the name leads to a moment later does not matter.
 */
export function guardedLookup(rules: ReceiverRules, resolve: Resolve = resolverFor(rules)): LookupFunction {
  return (hostname, options, callback) => {
    find(hostname).then(
      ([first, ...more]) => {
        if (options.all) callback(null, [first, ...more]);
        else callback(null, first.address, first.family);
      },
      (error) => callback(error instanceof Error ? error : new Error(String(error)), []),
    );
  };

  async function find(hostname: string): Promise<[LookupAddress, ...LookupAddress[]]> {
    const found = await resolve(hostname);
    const [first, ...more] = found.filter(({ address }) => isAllowedAddress(address, rules));
    if (first) return [first, ...more];
    const seen = found.map(({ address }) => address).join(', ');
    throw new Error(
      seen === '' ? `${hostname} has no address.` : `${hostname} is ${seen}, which is no public address.`,
    );
  }
}

/** The system’s way runs on few threads, which connections to the database and the cluster wait for as well. */
const RESOLVER = { timeout: 2_000, tries: 2 } as const;

function resolverFor({ allowPrivate }: ReceiverRules): Resolve {
  // Names of a private network may be in a hosts file, which nothing else reads.
  return allowPrivate ? (hostname) => dns.lookup(hostname, { all: true }) : resolveInPublic;
}

async function resolveInPublic(hostname: string): Promise<LookupAddress[]> {
  const resolver = new dns.Resolver(RESOLVER);
  const [four, six] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  if (four.status === 'rejected' && six.status === 'rejected') throw four.reason;
  return [
    ...(four.status === 'fulfilled' ? four.value : []).map((address) => ({ address, family: 4 })),
    ...(six.status === 'fulfilled' ? six.value : []).map((address) => ({ address, family: 6 })),
  ];
}
