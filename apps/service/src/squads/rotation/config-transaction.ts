import {
  AccountRole,
  type Address,
  bytesEqual,
  type EncodedAccount,
  getAddressDecoder,
  getAddressEncoder,
  getArrayEncoder,
  getDiscriminatedUnionEncoder,
  getStructDecoder,
  getStructEncoder,
  getU8Encoder,
  getU64Decoder,
  type Instruction,
  type ReadonlyUint8Array,
} from '@solana/kit';
import { SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import { SQUADS_PROGRAM_ADDRESS } from '../addresses.ts';
import { type LocatedBatch, PERMISSION } from '../instructions.ts';

/** One approver in place of another, with the same permission to vote. */
export interface Replacement {
  readonly from: Address;
  readonly to: Address;
}

/**
 * What a config transaction stores of a replacement, and what the votes on it are about: the list of its actions. The new
 * member comes before the old one goes, so that the multisig is never short of voters.
 */
export function encodeReplacement({ from, to }: Replacement): Uint8Array {
  return new Uint8Array(
    actionsEncoder.encode([
      { __kind: 'AddMember', address: to, permissions: PERMISSION.vote },
      { __kind: 'RemoveMember', address: from },
    ]),
  );
}

/** Takes the multisig's next transaction index, which must be the batch's, for changes of its configuration. */
export function configTransactionCreate({ multisig, address }: LocatedBatch, actions: ReadonlyUint8Array): Instruction {
  return instruction(
    ROTATION_DISCRIMINATOR.create,
    [
      [multisig.address, AccountRole.WRITABLE],
      [address, AccountRole.WRITABLE],
      [multisig.operator, AccountRole.READONLY_SIGNER],
      [multisig.operator, AccountRole.WRITABLE_SIGNER],
      [SYSTEM_PROGRAM_ADDRESS, AccountRole.READONLY],
    ],
    Uint8Array.of(...actions, NO_MEMO),
  );
}

/** Changes the configuration as approved. Every earlier proposal that was not approved becomes stale with it. */
export function configTransactionExecute({ multisig, address, proposal }: LocatedBatch): Instruction {
  return instruction(ROTATION_DISCRIMINATOR.execute, [
    [multisig.address, AccountRole.WRITABLE],
    [multisig.operator, AccountRole.READONLY_SIGNER],
    [proposal, AccountRole.WRITABLE],
    [address, AccountRole.READONLY],
    [multisig.operator, AccountRole.WRITABLE_SIGNER],
    [SYSTEM_PROGRAM_ADDRESS, AccountRole.READONLY],
  ]);
}

/** Frees the rent of an ended config transaction and its proposal. */
export function configTransactionAccountsClose({ multisig, address, proposal }: LocatedBatch): Instruction {
  return instruction(ROTATION_DISCRIMINATOR.close, [
    [multisig.address, AccountRole.READONLY],
    [proposal, AccountRole.WRITABLE],
    [address, AccountRole.WRITABLE],
    [multisig.operator, AccountRole.WRITABLE],
    [SYSTEM_PROGRAM_ADDRESS, AccountRole.READONLY],
  ]);
}

/** The account `ConfigTransaction`. */
export interface ConfigTransactionAccount {
  readonly creator: Address;
  /** As `encodeReplacement` writes them. */
  readonly actions: ReadonlyUint8Array;
}

/** null when the account is of another kind. @throws Error when it is cut short. */
export function decodeConfigTransaction({
  programAddress,
  data,
}: Pick<EncodedAccount, 'programAddress' | 'data'>): ConfigTransactionAccount | null {
  if (programAddress !== SQUADS_PROGRAM_ADDRESS) return null;
  if (!bytesEqual(data.slice(0, DISCRIMINATOR_BYTES), ACCOUNT_DISCRIMINATOR)) return null;
  const [{ creator }, end] = headerDecoder.read(data, DISCRIMINATOR_BYTES);
  return { creator, actions: data.slice(end + BUMP_BYTES) };
}

/** What the account of a config transaction takes, bytes. */
export function configTransactionBytes(actions: ReadonlyUint8Array): number {
  return DISCRIMINATOR_BYTES + headerDecoder.fixedSize + BUMP_BYTES + actions.length;
}

/** The actions that a `configTransactionCreate` brought; its memo is left out. */
export function readCreatedActions(instructionBytes: ReadonlyUint8Array): ReadonlyUint8Array {
  return instructionBytes.slice(DISCRIMINATOR_BYTES, -1);
}

/** Anchor's: the first eight bytes of SHA-256("global:" + the instruction's snake_case name). */
export const ROTATION_DISCRIMINATOR = {
  create: Uint8Array.of(155, 236, 87, 228, 137, 75, 81, 39),
  execute: Uint8Array.of(114, 146, 244, 189, 252, 140, 36, 40),
  close: Uint8Array.of(80, 203, 84, 53, 151, 112, 187, 186),
} as const;

/** The same of "account:ConfigTransaction". */
const ACCOUNT_DISCRIMINATOR = Uint8Array.of(94, 8, 4, 35, 113, 139, 139, 112);
const DISCRIMINATOR_BYTES = 8;
const BUMP_BYTES = 1;
/** Borsh's Option::None. */
const NO_MEMO = 0;

const headerDecoder = getStructDecoder([
  ['multisig', getAddressDecoder()],
  ['creator', getAddressDecoder()],
  ['index', getU64Decoder()],
]);

/** The first two of the program's seven, in its order. */
const actionsEncoder = getArrayEncoder(
  getDiscriminatedUnionEncoder([
    [
      'AddMember',
      getStructEncoder([
        ['address', getAddressEncoder()],
        ['permissions', getU8Encoder()],
      ]),
    ],
    ['RemoveMember', getStructEncoder([['address', getAddressEncoder()]])],
  ]),
);

function instruction(
  discriminator: Uint8Array,
  accounts: readonly (readonly [Address, AccountRole])[],
  args: ReadonlyUint8Array = new Uint8Array(),
): Instruction {
  return {
    programAddress: SQUADS_PROGRAM_ADDRESS,
    accounts: accounts.map(([address, role]) => ({ address, role })),
    data: Uint8Array.of(...discriminator, ...args),
  };
}
