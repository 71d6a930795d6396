import {
  addDecoderSizePrefix,
  type Codec,
  combineCodec,
  createDecoder,
  type Decoder,
  getArrayCodec,
  getBooleanDecoder,
  getBytesDecoder,
  getNullableCodec,
  getU32Codec,
  getU32Decoder,
  type NumberCodec,
  type ReadonlyUint8Array,
} from '@solana/kit';

// Borsh as the program reads it. Kit's decoders are milder: they take missing bytes for an empty list, and any byte for
// a truth value, where the program fails.

/** A list behind its length, of four bytes unless another codec is given. */
export function listCodec<Item>(item: Codec<Item>, length: NumberCodec = getU32Codec()): Codec<Item[]> {
  const codec = getArrayCodec(item, { size: length });
  return combineCodec(
    codec,
    withFirstByte(codec, () => true),
  );
}

/** null as one zero byte, anything else behind a one. */
export function optionCodec<Item>(item: Codec<Item>): Codec<Item | null> {
  const codec = getNullableCodec(item);
  return combineCodec(codec, withFirstByte(codec, isTruthValue));
}

export function booleanDecoder(): Decoder<boolean> {
  return withFirstByte(getBooleanDecoder(), isTruthValue);
}

/** The optional note that most instructions end with; the program reads it only to see that it is there. */
export function memoDecoder(): Decoder<ReadonlyUint8Array | null> {
  const text = addDecoderSizePrefix(getBytesDecoder(), getU32Decoder());
  return createDecoder({
    read: (bytes, offset) => {
      const [isGiven, next] = booleanDecoder().read(bytes, offset);
      return isGiven ? text.read(bytes, next) : [null, next];
    },
  });
}

function isTruthValue(byte: number): boolean {
  return byte <= 1;
}

function withFirstByte<Value>(decoder: Decoder<Value>, isValid: (byte: number) => boolean): Decoder<Value> {
  return createDecoder({
    ...decoder,
    read: (bytes, offset) => {
      const first = bytes[offset];
      if (first === undefined || !isValid(first)) throw new Error(`Byte ${offset} of ${bytes.length} is ${first}.`);
      return decoder.read(bytes, offset);
    },
  });
}
