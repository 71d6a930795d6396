import { type Address, isAddress } from '@solana/kit';
import { z } from 'zod';
import { invalidParams } from './rpc-error.ts';

export const addressParam = z.custom<Address>((text) => typeof text === 'string' && isAddress(text), 'not an address');

const U64_MAX = 2n ** 64n - 1n;

export const integerParam = z
  .union([z.int().nonnegative(), z.bigint().nonnegative()])
  .transform((number) => BigInt(number))
  .refine((number) => number <= U64_MAX, 'more than a u64 holds');

export const commitmentParam = z.enum(['processed', 'confirmed', 'finalized']).default('finalized');

export const encodingParam = z.enum(['base58', 'base64', 'base64+zstd', 'jsonParsed']);

/** Members of the last parameter of most methods. Unknown members are ignored, as on a cluster. */
export const contextParam = {
  commitment: commitmentParam,
  minContextSlot: integerParam.optional(),
};

/** Schema of an optional last parameter; if it is missing or null, its members have their defaults. */
export function optionalConfig<T extends z.ZodRawShape>(shape: T) {
  return z.preprocess((config) => config ?? {}, z.looseObject(shape));
}

export const accountConfig = optionalConfig({
  ...contextParam,
  encoding: encodingParam.optional(),
  dataSlice: z.object({ offset: z.int().nonnegative(), length: z.int().nonnegative() }).nullish(),
});

/** Reads positional parameters; those that are missing are undefined. Throws an RpcError that names the position. */
export function parseParams<const T extends readonly z.ZodType[]>(
  schemas: T,
  params: readonly unknown[],
): { -readonly [Position in keyof T]: z.output<T[Position]> } {
  const values = schemas.map((schema, position) => {
    const parsed = schema.safeParse(params[position]);
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    throw invalidParams(`parameter ${[position, ...(issue?.path ?? [])].join('.')}: ${issue?.message ?? 'malformed'}`);
  });
  // The schema at each position returned its value.
  return values as { -readonly [Position in keyof T]: z.output<T[Position]> };
}
