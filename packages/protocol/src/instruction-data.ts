import {
  AccountRole,
  type Address,
  addCodecSizePrefix,
  combineCodec,
  getArrayCodec,
  getBase64Codec,
  getBooleanCodec,
  getBytesCodec,
  getStructCodec,
  getU32Codec,
  type Instruction,
  isSignerRole,
  isWritableRole,
  type ReadonlyUint8Array,
} from '@solana/kit';
import { addressDecoder, addressEncoder } from './addresses.ts';

/** An instruction that was read from its wire form, with nothing missing. */
export interface WireInstruction {
  readonly programAddress: Address;
  readonly accounts: readonly { readonly address: Address; readonly role: AccountRole }[];
  readonly data: ReadonlyUint8Array;
}

/** Encodes an instruction for the wire: base64 of the Borsh layout that SPL Governance calls InstructionData. */
export function encodeInstruction({ programAddress, accounts = [], data = new Uint8Array() }: Instruction): string {
  const bytes = codec.encode({
    programAddress,
    accounts: accounts.map(({ address, role }) => ({
      address,
      isSigner: isSignerRole(role),
      isWritable: isWritableRole(role),
    })),
    data,
  });
  return getBase64Codec().decode(bytes);
}

/**
 * Decodes an instruction from the wire.
 * @throws Error if the text is not base64 of exactly one instruction.
 */
export function decodeInstruction(encoded: string): WireInstruction {
  const bytes = getBase64Codec().encode(encoded);
  const [{ programAddress, accounts, data }, end] = codec.read(bytes, 0);
  if (end !== bytes.length) {
    throw new Error(`The text holds an instruction of ${end} bytes and ${bytes.length - end} bytes after it.`);
  }
  return {
    programAddress,
    accounts: accounts.map(({ address, isSigner, isWritable }) => ({ address, role: roleOf(isSigner, isWritable) })),
    data,
  };
}

const addressCodec = combineCodec(addressEncoder, addressDecoder);

const codec = getStructCodec([
  ['programAddress', addressCodec],
  [
    'accounts',
    getArrayCodec(
      getStructCodec([
        ['address', addressCodec],
        ['isSigner', getBooleanCodec()],
        ['isWritable', getBooleanCodec()],
      ]),
    ),
  ],
  ['data', addCodecSizePrefix(getBytesCodec(), getU32Codec())],
]);

function roleOf(isSigner: boolean, isWritable: boolean): AccountRole {
  if (isSigner) return isWritable ? AccountRole.WRITABLE_SIGNER : AccountRole.READONLY_SIGNER;
  return isWritable ? AccountRole.WRITABLE : AccountRole.READONLY;
}
