import { bytesEqual, type Decoder, type Encoder, type ReadonlyUint8Array } from '@solana/kit';

/** Encoder and decoder of a layout of `@flywheel/squads`. */
export interface Layout<Value> {
  readonly encoder: Encoder<Value>;
  readonly decoder: Decoder<Value>;
}

/**
 * Decodes as strictly as the program's Borsh reader; bytes after the value are ignored. Kit's decoders accept more:
 * missing bytes as an empty list, and any byte as a boolean. Such values encode differently.
 * @throws Error if the bytes differ from the value's encoding.
 */
export function decodeStrictly<Value>(
  { encoder, decoder }: Layout<Value>,
  bytes: ReadonlyUint8Array,
  start = 0,
): Value {
  const [value, end] = decoder.read(bytes, start);
  if (!bytesEqual(encoder.encode(value), bytes.slice(start, end))) {
    throw new Error(`The ${end - start} bytes at ${start} are not Borsh.`);
  }
  return value;
}
