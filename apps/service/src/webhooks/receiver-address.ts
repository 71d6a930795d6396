import { promises as dns, type LookupAddress } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

/** Allowed addresses of receivers: all, or only public addresses of the internet. */
export interface ReceiverRules {
  readonly allowPrivate: boolean;
}

/** Length that every browser and server accepts. */
const MAX_URL_CHARACTERS = 2_048;

/**
 * Returns the issue with a receiver’s URL, as a sentence that continues its path; null if it is valid. A name may still
 * resolve to a forbidden address; that is checked when the connection is made.
 */
export function findUrlIssue(text: string, rules: ReceiverRules): string | null {
  if (text.length > MAX_URL_CHARACTERS) return `has ${text.length} characters; it may have ${MAX_URL_CHARACTERS}.`;
  if (!URL.canParse(text)) return 'is not a URL, e.g. https://example.com/flywheel.';
  const { protocol, username, password, hostname, hash } = new URL(text);
  const protocols = rules.allowPrivate ? ['https:', 'http:'] : ['https:'];
  if (!protocols.includes(protocol)) {
    return `begins with ${protocol}//; it must begin with ${protocols.map((each) => `${each}//`).join(' or ')}.`;
  }
  if (username !== '' || password !== '')
    return 'contains a user or password; remove them, because deliveries are signed.';
  if (hash !== '') return 'contains a fragment, which is never sent.';
  const address = literalOf(hostname);
  if (address !== null && !isAllowedAddress(address, rules)) {
    return `names ${address}, which is not a public address.`;
  }
  return null;
}

/** Extracts the IP address of a URL that needs no DNS; null for a name. */
export function literalOf(hostname: string): string | null {
  const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  return isIP(bare) === 0 ? null : bare;
}

export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>;

/**
 * Creates a lookup that resolves a name to its allowed addresses. The connection uses the addresses returned here, so a
 * later change of the name has no effect.
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
    const found = await resolve(hostname).catch(noneIfUnknown);
    const [first, ...more] = found.filter(({ address }) => isAllowedAddress(address, rules));
    if (first) return [first, ...more];
    // The tenant reads it. The same sentence for each cause shows nothing of the names in the service's network.
    throw new Error(`${hostname} leads to no ${rules.allowPrivate ? '' : 'public '}address.`);
  }
}

/** Returns no addresses for a name that does not exist or has none. @throws every other error. */
function noneIfUnknown(error: unknown): [] {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  if (code === dns.NOTFOUND || code === dns.NODATA) return [];
  throw error;
}

/** dns.lookup uses few threads, on which connections to the database and the cluster wait as well. */
const RESOLVER = { timeout: 2_000, tries: 2 } as const;

function resolverFor({ allowPrivate }: ReceiverRules): Resolve {
  // Names of a private network may be in a hosts file, which only dns.lookup reads.
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

/** Returns true if a connection to this IPv4 or IPv6 literal is allowed. */
function isAllowedAddress(address: string, { allowPrivate }: ReceiverRules): boolean {
  const family = isIP(address);
  if (family === 0) return false;
  if (allowPrivate) return true;
  return family === 4 ? !BLOCKED_V4.check(address, 'ipv4') : !BLOCKED_V6.check(address, 'ipv6');
}

/**
 * Blocked networks: those that are not globally reachable (IANA IPv4 and IPv6 Special-Purpose Address Registries),
 * multicast, and those that wrap an IPv4 address. Clouds' metadata services, 169.254.169.254 and fd00:ec2::254, are
 * link-local and unique-local; Azure's and Alibaba's have addresses of their own.
 */
const BLOCKED_NETWORKS_V4 = [
  '0.0.0.0/8', // this network, unspecified
  '10.0.0.0/8',
  '100.64.0.0/10', // carrier-grade NAT; Alibaba's metadata, 100.100.100.200
  '127.0.0.0/8',
  '168.63.129.16/32', // Azure's own
  '169.254.0.0/16', // link-local
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24', // documentation
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16',
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, broadcast
] as const;

const BLOCKED_NETWORKS_V6 = [
  '::/96', // unspecified, loopback, IPv4-compatible
  '::ffff:0:0/96', // IPv4-mapped
  '64:ff9b::/96', // NAT64
  '64:ff9b:1::/48',
  '100::/64', // discard
  '2001::/23', // protocol assignments, Teredo among them
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4
  '3fff::/20', // documentation
  '5f00::/16', // segment routing
  'fc00::/7', // unique local
  'fe80::/10', // link-local
  'fec0::/10', // site-local
  'ff00::/8', // multicast
] as const;

// Two lists, because a BlockList treats an IPv4 address as the IPv6 address that it is mapped to.
const BLOCKED_V4 = blockList(BLOCKED_NETWORKS_V4, 'ipv4');
const BLOCKED_V6 = blockList(BLOCKED_NETWORKS_V6, 'ipv6');

function blockList(networks: readonly string[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    list.addSubnet(address, Number(bits), family);
  }
  return list;
}
