import { isIP } from 'node:net';
import type { ApiError } from '@flywheel/api';
import { rateLimited } from '../wire/errors.ts';

/**
 * Limits by address that are checked before any query. They are counted in this process, because a count in the database
 * would itself be a query; each process has its own queries to protect.
 */
export interface AddressLimits {
  /**
   * Counts a request of an address.
   * @throws ApiError ERR_RATE_LIMITED
   */
  count(kind: 'any' | 'heavy', address: string): void;
  /**
   * Requires that an address may have a credential searched, named by its hash: not too many of its credentials were
   * unknown within the window, or this one has worked before. So strangers at an address cannot lock out the clients
   * that share it. While a credential is searched for the first time, other requests with it wait for the result.
   * @returns records whether the credential works; null if the search has failed or its project has left this shard,
   * which counts nothing. It must be called, because others wait for it.
   * @throws ApiError ERR_RATE_LIMITED
   */
  requireSearch(address: string, credential: string): Promise<(works: boolean | null) => void>;
}

export interface AddressLimitSettings {
  /** All operations. */
  readonly any: WindowLimit;
  /** Operations that make much work: `heavy` in the rate limits. */
  readonly heavy: WindowLimit;
  /** Searches for credentials that are unknown. */
  readonly unknownCredentials: WindowLimit;
}

interface WindowLimit {
  readonly requests: number;
  readonly seconds: number;
}

/** Bounds the memory for hashes of credentials. */
const MAX_KNOWN_CREDENTIALS = 20_000;

export function createAddressLimits(limits: AddressLimitSettings, clock: { now(): Date }): AddressLimits {
  const windows = {
    any: createWindow(limits.any, clock),
    heavy: createWindow(limits.heavy, clock),
    unknownCredentials: createWindow(limits.unknownCredentials, clock),
  };
  /** Those that have worked, the oldest first. */
  const known = new Set<string>();
  /** Those that are not known and are being searched, until the result is recorded. */
  const searched = new Map<string, PromiseWithResolvers<void>>();
  return {
    count(kind, address) {
      const window = windows[kind];
      window.add(address, 1);
      if (window.count(address) > limits[kind].requests) throw window.refusal();
    },
    async requireSearch(address, credential) {
      const window = windows.unknownCredentials;
      // So one that works is not counted, however many requests with it come at once after a start. They wait once: a search that
      // fails says nothing, and the others would fail one after another.
      const other = searched.get(credential);
      if (other) await other.promise;
      const isCounted = !known.has(credential);
      const search = isCounted ? Promise.withResolvers<void>() : null;
      if (search) {
        if (window.count(address) >= limits.unknownCredentials.requests) throw window.refusal();
        // Counted before the search, so that simultaneous requests are bounded too.
        window.add(address, 1);
        if (!searched.has(credential)) searched.set(credential, search);
      }
      return (works) => {
        if (searched.get(credential) === search) searched.delete(credential);
        search?.resolve();
        if (works === null) {
          if (isCounted) window.add(address, -1);
          return;
        }
        known.delete(credential);
        if (works === isCounted) window.add(address, works ? -1 : 1);
        if (!works) return;
        known.add(credential);
        if (known.size <= MAX_KNOWN_CREDENTIALS) return;
        for (const oldest of known) {
          known.delete(oldest);
          break;
        }
      };
    },
  };
}

/** Bounds the memory of a window. The addresses above it are counted together. */
const MAX_ADDRESSES = 100_000;
const OTHERS = 'others';

/**
 * Counts by address in windows of fixed length, which all addresses share: nothing is kept for an address beyond them. A
 * library's limiter keeps a timer and an entry for each address, without a bound.
 */
function createWindow({ requests, seconds }: WindowLimit, { now }: { now(): Date }) {
  let counts = new Map<string, number>();
  let endsAt = 0;
  const current = () => {
    const time = now().getTime();
    if (time >= endsAt) {
      counts = new Map();
      endsAt = time + seconds * 1_000;
    }
    return counts;
  };
  const nameOf = (address: string) => (current().has(address) || counts.size < MAX_ADDRESSES ? address : OTHERS);
  return {
    add(address: string, requestCount: number): void {
      const name = nameOf(address);
      counts.set(name, Math.max(0, (counts.get(name) ?? 0) + requestCount));
    },
    count(address: string): number {
      const name = nameOf(address);
      return counts.get(name) ?? 0;
    },
    refusal(): ApiError<'ERR_RATE_LIMITED'> {
      return rateLimited({ requests, seconds }, Math.ceil((endsAt - now().getTime()) / 1_000));
    },
  };
}

/**
 * Returns the address by which requests are counted: an IPv4 address, or the /64 network of an IPv6 address, because a
 * provider gives each customer at least that many addresses. An IPv4 address written as IPv6 is the IPv4 address. Some
 * proxies append a port in X-Forwarded-For.
 */
export function countedAddress(ip: string): string {
  const { groups: { v4, v6 } = {} } = /^(?<v4>[\d.]+):\d+$|^\[(?<v6>[^\]]+)\](?::\d+)?$/.exec(ip) ?? {};
  const [address = ''] = (v4 ?? v6 ?? ip).split('%', 1);
  if (isIP(address) !== 6) return isIP(address) === 4 ? address : 'unknown';
  // URL writes every IPv6 address in one way: lower case, zeros left out once, IPv4 parts in hex.
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const groups = [...left, ...Array<string>(8 - left.length - right.length).fill('0'), ...right];
  if (groups.slice(0, 5).every((group) => group === '0') && groups[5] === 'ffff') {
    const [high = 0, low = 0] = groups.slice(6).map((group) => Number.parseInt(group, 16));
    return [high >> 8, high & 255, low >> 8, low & 255].join('.');
  }
  return `${groups.slice(0, 4).join(':')}::/64`;
}
