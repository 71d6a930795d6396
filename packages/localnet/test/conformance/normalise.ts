import { zstdDecompressSync } from 'node:zlib';
import { getBase58Encoder } from '@solana/kit';
import { stringifyJson } from '../../src/json.ts';

/** Values of one run by the names of their roles: addresses, signatures, blockhashes. */
export type Roles = Map<string, string>;

/** How much of an answer is compared: all of it, without the order of lists, or only kinds. */
export type Detail = 'values' | 'unordered' | 'kinds';

/** Members whose numbers differ in each run, by what stands in their place. */
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  slot: [
    ...['slot', 'contextSlot', 'absoluteSlot', 'blockHeight', 'lastValidBlockHeight', 'parentSlot', 'slotIndex'],
    ...['parent', 'root', 'rootSlot', 'lastVote', 'firstSlot', 'lastSlot', 'lastExtendedSlot'],
  ],
  time: ['blockTime', 'timestamp', 'unixTimestamp', 'epochStartTimestamp'],
  count: ['transactionCount', 'subscription'],
  version: ['apiVersion', 'solana-core'],
  number: ['feature-set'],
  index: ['transactionIndex'],
  blockhash: ['blockhash', 'previousBlockhash', 'recentBlockhash'],
};
const KIND_OF_MEMBER = new Map(
  Object.entries(MEMBERS).flatMap(([kind, names]) => names.map((name) => [name, kind] as const)),
);
/** Results that are a bare number or text of these kinds. */
const KIND_OF_RESULT: Readonly<Record<string, string>> = {
  getSlot: 'slot',
  getBlockHeight: 'slot',
  getMaxRetransmitSlot: 'slot',
  getMaxShredInsertSlot: 'slot',
  getBlockTime: 'time',
  getTransactionCount: 'count',
};
const ENCODINGS = ['base58', 'base64', 'base64+zstd'];
const BASE58 = /^[1-9A-HJ-NP-Za-km-z]+$/;
/** Value of an u64 that stands for "never". */
const NEVER = '18446744073709551615';

/** The parts of a method's answer that are compared. */
export interface Compared {
  readonly method?: string;
  readonly detail?: Detail;
  /** Role of a signature: of the transactions of a block, only the one with it. */
  readonly only?: string;
}

/** Replaces what differs in each run with the name of its role or with its kind; everything else stays. */
export function normalise(answer: unknown, roles: Roles, { method = '', detail = 'values', only }: Compared = {}) {
  if (!isObject(answer) || !('result' in answer)) return replace(answer, { roles, detail: 'values' });
  const kind = KIND_OF_RESULT[method];
  if (kind !== undefined) return { result: nameKind(answer.result, kind) };
  const result = replace(answer.result, { roles, detail });
  return { result: only === undefined ? result : selectTransaction(result, only) };
}

function selectTransaction(block: unknown, role: string): unknown {
  if (!isObject(block)) return block;
  const members = Object.entries(block).map(([name, list]) => {
    const isTransactions = name === 'transactions' || name === 'signatures';
    return [
      name,
      isTransactions && Array.isArray(list) ? list.filter((one) => stringifyJson(one).includes(role)) : list,
    ];
  });
  return Object.fromEntries(members);
}

interface Context {
  readonly roles: Roles;
  readonly detail: Detail;
}

function replace(value: unknown, context: Context, member = ''): unknown {
  const kind = KIND_OF_MEMBER.get(member);
  if (kind !== undefined && isScalar(value)) return nameKind(value, kind, context.roles);
  if (typeof value === 'string') return replaceText(value, context, member);
  if (Array.isArray(value)) {
    const [text, encoding] = value;
    if (value.length === 2 && typeof text === 'string' && ENCODINGS.includes(encoding)) {
      return [describeBytes(decode(text, encoding), context.roles), encoding];
    }
    return replaceList(value, context);
  }
  if (!isObject(value)) return context.detail === 'kinds' && value !== null ? `<${scalarKind(value)}>` : value;
  const members = Object.entries(value).map(([name, one]) => [
    context.detail === 'kinds' && name.length > 31 ? kindOfText(name) : replaceAll(name, context.roles),
    replace(one, context, name),
  ]);
  return Object.fromEntries(members.toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)));
}

function replaceList(list: readonly unknown[], context: Context): unknown[] {
  const replaced = list.map((one) => replace(one, context));
  if (context.detail === 'values') return replaced;
  const byText = new Map(replaced.map((one) => [stringifyJson(one), one]));
  const sorted = [...byText].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
  return context.detail === 'kinds' || sorted.length === replaced.length ? sorted : replaced;
}

function replaceText(text: string, { roles, detail }: Context, member: string): string {
  if (detail === 'kinds') return kindOfText(text);
  const role = roles.get(text);
  if (role !== undefined) return `<${role}>`;
  if (member === 'data' && BASE58.test(text)) return describeBytes(decode(text, 'base58'), roles);
  return replaceAll(text, roles);
}

/** Keeps the kind of a value: a number, the digits of one, or another text. */
function nameKind(value: unknown, kind: string, roles?: Roles): unknown {
  if (value === null) return null;
  if (typeof value === 'number' || typeof value === 'bigint') return `<${kind}>`;
  if (value === NEVER) return value;
  if (typeof value !== 'string') return value;
  const role = roles?.get(value);
  if (role !== undefined) return `<${role}>`;
  if (kind === 'blockhash') return value.length > 31 ? '<blockhash>' : value;
  return /^\d+$/.test(value) ? `<${kind} in digits>` : `<${kind} as text>`;
}

function replaceAll(text: string, roles: Roles): string {
  // Shorter than a key: there is none in it.
  if (text.length < 32) return text;
  let replaced = text.replace(/(is too large; max )\d+$/, '$1<slot>');
  for (const [value, role] of roles) replaced = replaced.replaceAll(value, `<${role}>`);
  return replaced;
}

/** Writes bytes in hex with the names of roles; long runs of zeros are counted. */
function describeBytes(bytes: Uint8Array, roles: Roles): string {
  let hex = Buffer.from(bytes).toString('hex');
  for (const [value, role] of hex.length < 64 ? [] : roles) hex = hex.replaceAll(hexOf(value), `<${role}>`);
  return `${bytes.length}: ${hex.replaceAll(/(?:00){8,}/g, (zeros) => `(0*${zeros.length / 2})`)}`;
}

const known = new Map<string, string>();

function hexOf(base58: string): string {
  const hex = known.get(base58) ?? Buffer.from(getBase58Encoder().encode(base58)).toString('hex');
  known.set(base58, hex);
  return hex;
}

function decode(text: string, encoding: string): Uint8Array {
  if (encoding === 'base58') return new Uint8Array(getBase58Encoder().encode(text));
  const bytes = Buffer.from(text, 'base64');
  return encoding === 'base64' ? bytes : zstdDecompressSync(bytes);
}

function kindOfText(text: string): string {
  const isBytes = text.length > 31 && BASE58.test(text);
  return isBytes ? `<${getBase58Encoder().encode(text).length} bytes>` : '<text>';
}

function scalarKind(value: unknown): string {
  return typeof value === 'bigint' ? 'number' : typeof value;
}

function isScalar(value: unknown): boolean {
  return typeof value === 'number' || typeof value === 'bigint' || typeof value === 'string';
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
