import {
  type Address,
  addDecoderSizePrefix,
  getAddressDecoder,
  getArrayDecoder,
  getBase64Encoder,
  getBooleanDecoder,
  getBytesDecoder,
  getStructDecoder,
  getU32Decoder,
  type ReadonlyUint8Array,
} from '@solana/kit';

/** An instruction as the wire carries it. */
export interface WireInstruction {
  readonly program: Address;
  readonly accounts: readonly { readonly address: Address; readonly isSigner: boolean; readonly isWritable: boolean }[];
  readonly data: ReadonlyUint8Array;
}

/** The Borsh layout that SPL Governance calls InstructionData. */
const decoder = getStructDecoder([
  ['program', getAddressDecoder()],
  [
    'accounts',
    getArrayDecoder(
      getStructDecoder([
        ['address', getAddressDecoder()],
        ['isSigner', getBooleanDecoder()],
        ['isWritable', getBooleanDecoder()],
      ]),
    ),
  ],
  ['data', addDecoderSizePrefix(getBytesDecoder(), getU32Decoder())],
]);

/**
 * Decodes one of a compiled pipeline’s instructions.
 * @param base64 as the service answers it.
 * @throws SolanaError when the bytes end too soon.
 */
export function readInstruction(base64: string): WireInstruction {
  return decoder.decode(getBase64Encoder().encode(base64));
}
