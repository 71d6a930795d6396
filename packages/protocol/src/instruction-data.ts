import {
  AccountRole,
  type Address,
  addCodecSizePrefix,
  combineCodec,
  createEncoder,
  getAddressDecoder,
  getAddressEncoder,
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

/**
 * Encodes an address as kit does, and remembers the latest. Base58 takes 14 µs an address, and one batch names the same
 * dozen addresses hundreds of times.
 */
export const addressEncoder = createEncoder({
  fixedSize: 32,
  write: (address: Address, bytes, offset) => {
    bytes.set(bytesOf(address), offset);
    return offset + 32;
  },
});

/** More addresses than a full batch names; about 500 KiB. */
const MAX_REMEMBERED = 4_096;

const remembered = new Map<Address, ReadonlyUint8Array>();

function bytesOf(address: Address): ReadonlyUint8Array {
  const known = remembered.get(address);
  if (known) return known;
  const bytes = getAddressEncoder().encode(address);
  if (remembered.size >= MAX_REMEMBERED) remembered.clear();
  remembered.set(address, bytes);
  return bytes;
}

const addressCodec = combineCodec(addressEncoder, getAddressDecoder());

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
