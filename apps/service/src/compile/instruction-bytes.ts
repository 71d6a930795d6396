import { addressEncoder } from '@flywheel/squads';
import {
  AccountRole,
  addCodecSizePrefix,
  combineCodec,
  getAddressDecoder,
  getArrayCodec,
  getBase64Codec,
  getBooleanCodec,
  getBytesCodec,
  getStructCodec,
  getU32Codec,
  type Instruction,
  isSignerRole,
  isWritableRole,
} from '@solana/kit';

/** An instruction as the wire shows it: base64 of the Borsh layout that SPL Governance calls InstructionData. */
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

/** @throws Error when the text is no base64 of exactly one instruction. */
export function decodeInstruction(encoded: string): Instruction {
  const bytes = getBase64Codec().encode(encoded);
  const [{ programAddress, accounts, data }, end] = codec.read(bytes, 0);
  if (end !== bytes.length)
    throw new Error(`An instruction of ${end} bytes is followed by ${bytes.length - end} more.`);
  return {
    programAddress,
    accounts: accounts.map(({ address, isSigner, isWritable }) => ({ address, role: roleOf(isSigner, isWritable) })),
    data,
  };
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
