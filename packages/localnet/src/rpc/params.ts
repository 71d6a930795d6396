import { decodeBase58, firstParseIssue } from '@flywheel/protocol';
import { INVALID_PARAMS } from '@flywheel/solana-rpc';
import type { Address, Signature } from '@solana/kit';
import { z } from 'zod';
import { CallError, invalidParams } from './call-error.ts';

export const addressParam = base58Param<Address>({ bytes: 32, maxLength: 44, prefix: 'Invalid param: ' });
export const signatureParam = base58Param<Signature>({ bytes: 64, maxLength: 88, prefix: 'Invalid param: ' });
/** Its error has no prefix (rpc, is_blockhash_valid). */
export const blockhashParam = base58Param<string>({ bytes: 32, maxLength: 44, prefix: '' });

export const MAX_U64 = 2n ** 64n - 1n;

export const integerParam = z
  .union([z.int().nonnegative(), z.bigint().nonnegative()])
  .transform((number) => BigInt(number))
  .refine((number) => number <= MAX_U64, 'more than a u64 holds');

const commitment = z.enum(['processed', 'confirmed', 'finalized']);

/** A commitment on its own, as sendTransaction has it; an unknown one is an error. */
export const commitmentParam = commitment.default('finalized');

/** `binary` is the older name of plain base58 text, the form without an encoding. */
export const encodingParam = z
  .enum(['binary', 'base58', 'base64', 'base64+zstd', 'jsonParsed'])
  .transform((encoding) => (encoding === 'binary' ? undefined : encoding));

export const transactionEncoding = z.enum(['json', 'jsonParsed', 'base58', 'base64']);

/** Transaction versions are bytes. */
export const versionParam = integerParam.refine((version) => version <= 255n, 'more than a u8 holds');

/** Reads a list of limited length; the length is checked before its members. */
export function listParam<T extends z.ZodType>(member: T, max: number) {
  return z
    .array(z.unknown())
    .refine((list) => list.length <= max, whole(`Too many inputs provided; max ${max}`))
    .pipe(z.array(member));
}

/** Reads a number of items. */
export function limitParam(max: number) {
  return z
    .int()
    .nonnegative()
    .refine((limit) => limit <= max, whole(`Invalid limit; max ${max}`));
}

/** Reads a configuration, or the encoding alone, which is the older form. */
export function encodingOrConfig<T extends z.ZodType>(config: T) {
  return z.preprocess((value) => (typeof value === 'string' ? { encoding: value } : value), config);
}

/**
 * The commitment in a configuration with other members: validators take an unknown one for a missing one, because it is a
 * flattened option of theirs.
 */
export const configCommitment = commitment.catch('finalized');

/** Members of the last parameter of most methods. Unknown members are ignored, as on a cluster. */
export const contextParam = {
  commitment: configCommitment,
  minContextSlot: integerParam.optional(),
};

/** Last parameter of methods that take a commitment alone: in a configuration, it may not be missing. */
export const commitmentConfig = z
  .looseObject({ commitment: commitment.optional() })
  .refine((config) => config.commitment !== undefined, whole('Invalid params: missing field `commitment`.'))
  .nullish()
  .transform((config) => ({ commitment: config?.commitment ?? ('finalized' as const) }));

/** Schema of an optional last parameter; if it is missing or null, its members have their defaults. */
export function optionalConfig<T extends z.ZodRawShape>(shape: T) {
  return z.preprocess(withoutNulls, z.looseObject(shape));
}

/** Members that are no options of a validator: null is an error. */
const FLAGS: ReadonlySet<string> = new Set([
  'searchTransactionHistory',
  'excludeNonCirculatingAccountsList',
  'skipPreflight',
  'sigVerify',
  'replaceRecentBlockhash',
  'innerInstructions',
]);

/**
 * Removes members that are null: they are missing, as on a cluster, whose own clients write every option. Flags are not
 * options.
 */
function withoutNulls(config: unknown): unknown {
  if (config === null || config === undefined) return {};
  if (typeof config !== 'object' || Array.isArray(config)) return config;
  return Object.fromEntries(Object.entries(config).filter(([name, value]) => value !== null || FLAGS.has(name)));
}

export const accountConfig = optionalConfig({
  ...contextParam,
  encoding: encodingParam.optional(),
  dataSlice: z.object({ offset: z.int().nonnegative(), length: z.int().nonnegative() }).nullish(),
});

/**
 * Reads positional parameters; those that are missing are undefined.
 * @throws CallError that names the position, or has the text of a check's own issue.
 */
export function parseParams<const T extends readonly z.ZodType[]>(
  schemas: T,
  params: readonly unknown[],
): { -readonly [Position in keyof T]: z.output<T[Position]> } {
  checkCount(schemas, params);
  const values = schemas.map((schema, position) => {
    const parsed = schema.safeParse(params[position]);
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    if (issue?.code === 'custom' && issue.params?.whole === true) throw new CallError(INVALID_PARAMS, issue.message);
    const { place, message } = firstParseIssue(parsed.error, 'params', ['params', position]);
    throw invalidParams(`${place}: ${message}`);
  });
  // The schema at each position returned its value.
  return values as { -readonly [Position in keyof T]: z.output<T[Position]> };
}

/** Wraps a method without parameters: any parameter is an error (jsonrpc-core, expect_no_params). */
export function withoutParams<T>(answer: () => T): (params: readonly unknown[]) => T {
  return (params) => {
    if (params.length === 0) return answer();
    throw new CallError(INVALID_PARAMS, 'Invalid parameters: No parameters were expected', describeRust(params));
  };
}

/** Writes values as Rust's Debug writes those of serde_json: the validator's error has them so. */
function describeRust(params: readonly unknown[]): string {
  const write = (value: unknown): string => {
    if (value === null) return 'Null';
    if (Array.isArray(value)) return `Array [${value.map(write).join(', ')}]`;
    if (typeof value === 'string') return `String(${JSON.stringify(value)})`;
    if (typeof value === 'boolean') return `Bool(${value})`;
    if (typeof value !== 'object') return `Number(${String(value)})`;
    const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${write(member)}`);
    return `Object {${members.join(', ')}}`;
  };
  return `Array([${params.map(write).join(', ')}])`;
}

/** Describes an issue whose message is the whole text of the error, as a validator has it. */
export function whole(message: string) {
  return { message, params: { whole: true } };
}

/** Compares the number of parameters with that of a method (jsonrpc-derive, params_with_trailing). */
function checkCount(schemas: readonly z.ZodType[], params: readonly unknown[]): void {
  if (params.length !== schemas.length && !schemas.some(isOptional)) {
    const expected = params.length > schemas.length ? 'fewer elements in array' : `a tuple of size ${schemas.length}`;
    throw new CallError(INVALID_PARAMS, `Invalid params: invalid length ${params.length}, expected ${expected}.`);
  }
  if (params.length > schemas.length) {
    const least = schemas.findLastIndex((schema) => !isOptional(schema)) + 1;
    const message = `Invalid parameters: Expected from ${least} to ${schemas.length} parameters.`;
    throw new CallError(INVALID_PARAMS, message, `"Got: ${params.length}"`);
  }
  // Most calls have all that they need: only the first one that is missing is asked for.
  const missing = schemas.slice(params.length).findLastIndex((schema) => !isOptional(schema));
  if (missing < 0) return;
  const least = params.length + missing + 1;
  throw new CallError(INVALID_PARAMS, `\`params\` should have at least ${least} argument(s)`);
}

function isOptional(schema: z.ZodType): boolean {
  return schema.safeParse(undefined).success;
}

/** Reads a text in base58 as validators do: the error has the name of their own (solana-pubkey, ParsePubkeyError). */
function base58Param<T extends string>(expected: { bytes: number; maxLength: number; prefix: string }) {
  return z.string().transform((text, context): T => {
    const decoded = text.length > expected.maxLength ? null : decodeBase58(text);
    if (decoded?.length === expected.bytes) return text as T; // checked here
    const reason = decoded === null && text.length <= expected.maxLength ? 'Invalid' : 'WrongSize';
    context.addIssue({ code: 'custom', ...whole(`${expected.prefix}${reason}`) });
    return z.NEVER;
  });
}
