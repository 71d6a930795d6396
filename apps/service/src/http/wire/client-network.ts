import { isIPv6 } from 'node:net';

/**
 * Names the network of a client by which it is counted: an IPv4 address itself, and the first 64 bits of an IPv6 address,
 * because one customer of a provider has at least so many addresses (RFC 6177).
 *
 * @example
 * networkOf('2001:db8:0:1::7'); // '2001:db8:0:1::/64'
 */
export function networkOf(ip: string): string {
  const [address = ip] = ip.split('%');
  if (!isIPv6(address)) return address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  const [head = '', tail] = address.split('::');
  const groupsOf = (part: string) => (part === '' ? [] : part.split(':'));
  const [first, last] = [groupsOf(head), groupsOf(tail ?? '')];
  const zeros = tail === undefined ? 0 : 8 - first.length - last.length;
  const groups = [...first, ...Array.from({ length: zeros }, () => '0'), ...last];
  const prefix = groups.slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16));
  return `${prefix.join(':')}::/64`;
}
