import { BlockList, isIP } from 'node:net';

/** Allowed addresses of receivers: all, or only public addresses of the internet. */
export interface ReceiverRules {
  readonly allowPrivate: boolean;
}

/** Returns true if a connection to this IPv4 or IPv6 literal is allowed. */
export function isAllowedAddress(address: string, { allowPrivate }: ReceiverRules): boolean {
  const family = isIP(address);
  if (family === 0) return false;
  if (allowPrivate) return true;
  return family === 4 ? !INSIDE_V4.check(address, 'ipv4') : !INSIDE_V6.check(address, 'ipv6');
}

/**
 * Blocked networks: those that are not globally reachable (IANA IPv4 and IPv6 Special-Purpose Address Registries),
 * multicast, and those that wrap an IPv4 address. Clouds' metadata services, 169.254.169.254 and fd00:ec2::254, are link-local and unique-local;
 * Azure's and Alibaba's have addresses of their own.
 */
const FORBIDDEN_V4 = [
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

const FORBIDDEN_V6 = [
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

// Apart, since a BlockList takes an IPv4 address for the IPv6 address that it is mapped to.
const INSIDE_V4 = blockList(FORBIDDEN_V4, 'ipv4');
const INSIDE_V6 = blockList(FORBIDDEN_V6, 'ipv6');

function blockList(networks: readonly string[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    list.addSubnet(address, Number(bits), family);
  }
  return list;
}
