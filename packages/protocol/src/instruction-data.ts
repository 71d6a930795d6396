import {
  AccountRole,
  type Address,
  addDecoderSizePrefix,
  getArrayDecoder,
  getBase64Codec,
  getBooleanDecoder,
  getBytesDecoder,
  getStructDecoder,
  getU32Decoder,
  type Instruction,
  isSignerRole,
  isWritableRole,
  type ReadonlyUint8Array,
} from '@solana/kit';
import { ADDRESS_BYTES, addressDecoder, addressEncoder } from './addresses.ts';

/** An instruction that was read from its wire form, with nothing missing. */
export interface WireInstruction {
  readonly programAddress: Address;
  readonly accounts: readonly { readonly address: Address; readonly role: AccountRole }[];
  readonly data: ReadonlyUint8Array;
}

/**
 * Encodes an instruction for the wire: base64 of the Borsh layout that SPL Governance calls InstructionData. It writes the bytes
 * itself, because init answers forty of them for ten pipelines, and a struct of kit's encoders takes eight times as long
 * (docs/decisions/0089-init-in-few-statements.md).
 */
export function encodeInstruction({ programAddress, accounts = [], data = new Uint8Array() }: Instruction): string {
  const bytes = new Uint8Array(ADDRESS_BYTES + COUNT_BYTES + META_BYTES * accounts.length + COUNT_BYTES + data.length);
  const view = new DataView(bytes.buffer);
  let at = addressEncoder.write(programAddress, bytes, 0);
  view.setUint32(at, accounts.length, true);
  at += COUNT_BYTES;
  for (const { address, role } of accounts) {
    at = addressEncoder.write(address, bytes, at);
    bytes[at] = isSignerRole(role) ? 1 : 0;
    bytes[at + 1] = isWritableRole(role) ? 1 : 0;
    at += META_BYTES - ADDRESS_BYTES;
  }
  view.setUint32(at, data.length, true);
  bytes.set(data, at + COUNT_BYTES);
  return base64.decode(bytes);
}

const COUNT_BYTES = 4;
/** Address, and whether it signs and is writable. */
const META_BYTES = ADDRESS_BYTES + 2;
const base64 = getBase64Codec();

/**
 * Decodes an instruction from the wire.
 * @throws Error if the text is not base64 of exactly one instruction.
 */
export function decodeInstruction(encoded: string): WireInstruction {
  const bytes = base64.encode(encoded);
  const [{ programAddress, accounts, data }, end] = decoder.read(bytes, 0);
  if (end !== bytes.length) {
    throw new Error(`The text holds an instruction of ${end} bytes and ${bytes.length - end} bytes after it.`);
  }
  return {
    programAddress,
    accounts: accounts.map(({ address, isSigner, isWritable }) => ({
      address,
      role: accountRole(isSigner, isWritable),
    })),
    data,
  };
}

const decoder = getStructDecoder([
  ['programAddress', addressDecoder],
  [
    'accounts',
    getArrayDecoder(
      getStructDecoder([
        ['address', addressDecoder],
        ['isSigner', getBooleanDecoder()],
        ['isWritable', getBooleanDecoder()],
      ]),
    ),
  ],
  ['data', addDecoderSizePrefix(getBytesDecoder(), getU32Decoder())],
]);

/** Returns the role of an account that signs or not, and is writable or not. */
export function accountRole(isSigner: boolean, isWritable: boolean): AccountRole {
  if (isSigner) return isWritable ? AccountRole.WRITABLE_SIGNER : AccountRole.READONLY_SIGNER;
  return isWritable ? AccountRole.WRITABLE : AccountRole.READONLY;
}
