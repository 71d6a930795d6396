import { isIP } from 'node:net';
import { RegistrationMode } from '@flywheel/api';
import { type Address, isAddress } from '@solana/kit';
import * as z from 'zod';
import type { RateLimit } from './model/rate-limit.ts';

/** The hash that derives webhook secrets has as many bytes. */
const MIN_WEBHOOK_KEY_BYTES = 32;

/** Decodes a key in base64; null if it is not base64, or too short. */
export function parseWebhookKey(text: string): Uint8Array | null {
  const bytes = /^[A-Za-z0-9+/]+={0,2}$/.test(text) ? Buffer.from(text, 'base64') : null;
  return bytes === null || bytes.length < MIN_WEBHOOK_KEY_BYTES ? null : new Uint8Array(bytes);
}

export function webhookKey() {
  return z.string().transform((text, context): Uint8Array => {
    const key = parseWebhookKey(text);
    if (key !== null) return key;
    // Do not quote the value: it may be a key all the same.
    context.addIssue({
      code: 'custom',
      message: `must be base64 of at least ${MIN_WEBHOOK_KEY_BYTES} bytes; make one with openssl rand -base64 32`,
    });
    return z.NEVER;
  });
}

export function logLevel() {
  return z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
    error: (issue) => `is ${quote(issue.input)}; it may be fatal, error, warn, info, debug, trace or silent`,
  });
}

export function registrationMode() {
  return z.enum(RegistrationMode.options, {
    error: (issue) => `is ${quote(issue.input)}; it may be ${RegistrationMode.options.join(', ')}`,
  });
}

export function flag() {
  const values = z.enum(['0', '1'], { error: (issue) => `is ${quote(issue.input)}; it may be 0 or 1` });
  return values.transform((value) => value === '1');
}

/** Name of a role in PostgreSQL; `none` is reserved there. */
export function roleName() {
  return z.string().refine((name) => /^[A-Za-z_][A-Za-z0-9_-]{0,62}$/.test(name) && name.toLowerCase() !== 'none', {
    error: (issue) => `is ${quote(issue.input)}; it takes the name of a role: letters, digits, _ and -, at most 63`,
  });
}

export function port() {
  return whole('ports', 0, 65_535);
}

export function url(...protocols: readonly string[]) {
  return z.string().refine((text) => URL.canParse(text) && protocols.includes(new URL(text).protocol), {
    // Do not quote the value: a URL may hold a password.
    error: () => `must be a URL that starts with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`,
  });
}

/** One or several URLs, separated by commas. */
export function urls(...protocols: readonly string[]) {
  const list = z.string().transform((text) => text.split(',').map((part) => part.trim()));
  return list.pipe(z.array(url(...protocols)).min(1));
}

export function whole(unit: string, min: number, max: number) {
  return z.string().transform((text, context) => {
    const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    context.addIssue({ code: 'custom', message: `is ${quote(text)}; it takes ${unit} from ${min} to ${max}` });
    return z.NEVER;
  });
}

/** Parses a number with up to three decimals, e.g. 0.5. */
export function decimal(unit: string, min: number, max: number) {
  return z.string().transform((text, context) => {
    const value = /^\d{1,15}(?:\.\d{1,3})?$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    context.addIssue({
      code: 'custom',
      message: `is ${quote(text)}; it takes ${unit} from ${min} to ${max}, e.g. 0.5`,
    });
    return z.NEVER;
  });
}

/** Parses an amount of lamports, at most a million SOL. */
export function lamports() {
  return whole('lamports', 1, 1_000_000_000_000_000).transform(BigInt);
}

/** Parses a list like `10.0.0.0/8,127.0.0.1`. */
export function networks() {
  return z.string().transform((text, context): readonly string[] => {
    if (text === '') return [];
    const entries = text.split(',').map((entry) => entry.trim());
    const misshapen = entries.find((entry) => !isNetwork(entry));
    if (misshapen === undefined) return entries;
    context.addIssue({
      code: 'custom',
      message: `names ${quote(misshapen)}; it takes addresses and networks like 10.0.0.0/8, separated by commas`,
    });
    return z.NEVER;
  });
}

function isNetwork(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  const maxBits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  return (
    maxBits > 0 && rest.length === 0 && (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= maxBits))
  );
}

export function base58Address() {
  return z.string().transform((text, context): Address => {
    if (isAddress(text)) return text;
    context.addIssue({ code: 'custom', message: `is ${quote(text)}; it takes a base58 address of 32 bytes` });
    return z.NEVER;
  });
}

/** Parses a list like `7Fq2…,9dKe…`. */
export function base58Addresses() {
  return z.string().transform((text, context): readonly Address[] => {
    if (text === '') return [];
    const entries = text.split(',').map((entry) => entry.trim());
    const addresses = entries.filter(isAddress);
    if (addresses.length === entries.length) return addresses;
    const misshapen = entries.find((entry) => !isAddress(entry));
    context.addIssue({
      code: 'custom',
      message: `names ${quote(misshapen)}; it takes base58 addresses of 32 bytes, separated by commas`,
    });
    return z.NEVER;
  });
}

export function rateLimit() {
  return z.string().transform((text, context): RateLimit => {
    const match = /^([1-9]\d{0,8})\/([1-9]\d{0,5})$/.exec(text);
    if (match) return { requests: Number(match[1]), seconds: Number(match[2]) };
    context.addIssue({ code: 'custom', message: `is ${quote(text)}; it takes requests/seconds, e.g. 10/60` });
    return z.NEVER;
  });
}

function quote(value: unknown): string {
  return JSON.stringify(value) ?? 'not set';
}
