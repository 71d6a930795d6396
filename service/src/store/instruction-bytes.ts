import {
  AccountRole,
  addDecoderSizePrefix,
  addEncoderSizePrefix,
  getAddressDecoder,
  getAddressEncoder,
  getArrayDecoder,
  getArrayEncoder,
  getBooleanDecoder,
  getBooleanEncoder,
  getBytesDecoder,
  getBytesEncoder,
  getStructDecoder,
  getStructEncoder,
  getU32Decoder,
  getU32Encoder,
  type Instruction,
  isSignerRole,
  isWritableRole,
} from '@solana/kit';

/** An instruction as it is stored: the layout in which the wire shows it (Borsh, SPL Governance's InstructionData). */
export function encodeInstruction({ programAddress, accounts = [], data = NO_BYTES }: Instruction): Uint8Array {
  const metas = accounts.map(({ address, role }) => ({
    address,
    isSigner: isSignerRole(role),
    isWritable: isWritableRole(role),
  }));
  return new Uint8Array(ENCODER.encode({ programAddress, metas, data }));
}

/** The way back. Absent accounts and absent data come back empty, which is the same to the chain. */
export function decodeInstruction(bytes: Uint8Array): Instruction {
  const { programAddress, metas, data } = DECODER.decode(bytes);
  const accounts = metas.map(({ address, isSigner, isWritable }) => ({ address, role: roleOf(isSigner, isWritable) }));
  return { programAddress, accounts, data };
}

const NO_BYTES = new Uint8Array();

const ENCODER = getStructEncoder([
  ['programAddress', getAddressEncoder()],
  [
    'metas',
    getArrayEncoder(
      getStructEncoder([
        ['address', getAddressEncoder()],
        ['isSigner', getBooleanEncoder()],
        ['isWritable', getBooleanEncoder()],
      ]),
    ),
  ],
  ['data', addEncoderSizePrefix(getBytesEncoder(), getU32Encoder())],
]);

const DECODER = getStructDecoder([
  ['programAddress', getAddressDecoder()],
  [
    'metas',
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

function roleOf(isSigner: boolean, isWritable: boolean): AccountRole {
  if (isSigner) return isWritable ? AccountRole.WRITABLE_SIGNER : AccountRole.READONLY_SIGNER;
  return isWritable ? AccountRole.WRITABLE : AccountRole.READONLY;
}
