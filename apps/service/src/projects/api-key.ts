import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import {
  API_KEY_CHECKSUM_LENGTH,
  API_KEY_PATTERN,
  API_KEY_PREFIX_LENGTH,
  API_KEY_SCHEME,
  API_KEY_SECRET_LENGTH,
} from '@flywheel/api';
import type { GivenKey } from '../model/key-holder.ts';

/** A new API key, with the parts that are stored. */
export interface ApiKey extends GivenKey {
  /** The full key. It is shown once and never stored. */
  readonly apiKey: string;
}

/**
 * Creates an API key: `fwk_`, 32 random bytes as 43 base62 characters, and their CRC-32 as six more. The checksum detects
 * a mistyped key without a database query, and lets secret scanners find leaked keys without false positives (GitHub,
 * "Behind GitHub's new authentication token formats").
 * @throws RangeError unless `entropy` has 32 bytes.
 */
export function createApiKey(entropy: Uint8Array): ApiKey {
  if (entropy.length !== ENTROPY_BYTES) {
    throw new RangeError(`An API key is made of ${ENTROPY_BYTES} random bytes, not ${entropy.length}.`);
  }
  const secret = toBase62(BigInt(`0x${Buffer.from(entropy).toString('hex')}`), API_KEY_SECRET_LENGTH);
  const apiKey = `${API_KEY_SCHEME}${secret}${checksum(secret)}`;
  return { apiKey, ...stored(apiKey) };
}

/** Computes the stored parts of a key; null if its scheme, length, alphabet or checksum is wrong. */
export function parseApiKey(text: string): GivenKey | null {
  const match = API_KEY_PATTERN.exec(text);
  if (!match) return null;
  const [, secret = '', sum] = match;
  return sum === checksum(secret) ? stored(text) : null;
}

const ENTROPY_BYTES = 32;
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

function stored(apiKey: string): GivenKey {
  return { prefix: apiKey.slice(0, API_KEY_PREFIX_LENGTH), hash: hash('sha256', apiKey, 'buffer') };
}

function checksum(secret: string): string {
  return toBase62(BigInt(crc32(secret)), API_KEY_CHECKSUM_LENGTH);
}

function toBase62(value: bigint, length: number): string {
  let text = '';
  for (let rest = value; text.length < length; rest /= 62n) text = BASE62.charAt(Number(rest % 62n)) + text;
  return text;
}
