import {
  type AccountMeta,
  AccountRole,
  type Address,
  addEncoderSizePrefix,
  getAddressEncoder,
  getArrayEncoder,
  getBytesEncoder,
  getNullableEncoder,
  getStructEncoder,
  getU8Encoder,
  getU16Encoder,
  getU32Encoder,
  getU64Encoder,
  type Instruction,
  type ReadonlyUint8Array,
} from '@solana/kit';
import { SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import type { Multisig } from '../model/project.ts';
import {
  batchAddress,
  batchTransactionAddress,
  multisigAddress,
  programConfigAddress,
  proposalAddress,
  SQUADS_PROGRAM_ADDRESS,
} from './addresses.ts';

/** A batch of a multisig and the accounts that every instruction about it names. */
export interface LocatedBatch {
  readonly multisig: Pick<Multisig, 'address' | 'vaultIndex' | 'operator'>;
  readonly batchIndex: bigint;
  readonly address: Address;
  readonly proposal: Address;
}

/** Derives a batch's addresses once, so that the builders below need not: a derivation takes about 0.2 ms. */
export async function locateBatch(multisig: LocatedBatch['multisig'], batchIndex: bigint): Promise<LocatedBatch> {
  const [address, proposal] = await Promise.all([
    batchAddress(multisig.address, batchIndex),
    proposalAddress(multisig.address, batchIndex),
  ]);
  return { multisig, batchIndex, address, proposal };
}

/** What a member may do, as bits of its permission mask. */
export const PERMISSION = { initiate: 1, vote: 2, execute: 4 } as const;

export interface Member {
  readonly address: Address;
  /** Sum of `PERMISSION` values. */
  readonly permissions: number;
}

/**
 * Creates a multisig without config authority, time lock or memo: its members and threshold change only by its own vote.
 * `createKey` and `creator` sign; `creator` pays the rent, and the program's fee to `treasury` (zero today).
 */
export async function multisigCreateV2(input: {
  readonly createKey: Address;
  readonly creator: Address;
  readonly treasury: Address;
  readonly members: readonly Member[];
  readonly threshold: number;
  readonly rentCollector: Address;
}): Promise<Instruction> {
  const [programConfig, multisig] = await Promise.all([programConfigAddress(), multisigAddress(input.createKey)]);
  return instruction(
    DISCRIMINATOR.multisigCreateV2,
    [
      readonly(programConfig),
      writable(input.treasury),
      writable(multisig),
      readonlySigner(input.createKey),
      writableSigner(input.creator),
      readonly(SYSTEM_PROGRAM_ADDRESS),
    ],
    multisigCreateArgs.encode({
      configAuthority: null,
      threshold: input.threshold,
      members: [...input.members],
      timeLockSeconds: 0,
      rentCollector: input.rentCollector,
      memo: null,
    }),
  );
}

/** Takes the multisig's next transaction index, which must be the batch's, for an empty batch. */
export function batchCreate({ multisig, address }: LocatedBatch): Instruction {
  return instruction(
    DISCRIMINATOR.batchCreate,
    [
      writable(multisig.address),
      writable(address),
      readonlySigner(multisig.operator),
      writableSigner(multisig.operator),
      readonly(SYSTEM_PROGRAM_ADDRESS),
    ],
    Uint8Array.of(multisig.vaultIndex, NO_MEMO),
  );
}

/** Opens the batch's proposal as a draft. In one transaction with `batchCreate`, or any member could open it otherwise. */
export function proposalCreate({ multisig, batchIndex, proposal }: LocatedBatch): Instruction {
  return instruction(
    DISCRIMINATOR.proposalCreate,
    [
      readonly(multisig.address),
      writable(proposal),
      readonlySigner(multisig.operator),
      writableSigner(multisig.operator),
      readonly(SYSTEM_PROGRAM_ADDRESS),
    ],
    proposalCreateArgs.encode({ batchIndex, draft: 1 }),
  );
}

/** Appends a vault message to a draft; `position` must be the batch's size so far. */
export async function batchAddTransaction(
  { multisig, batchIndex, address, proposal }: LocatedBatch,
  position: number,
  vaultMessage: ReadonlyUint8Array,
): Promise<Instruction> {
  return instruction(
    DISCRIMINATOR.batchAddTransaction,
    [
      readonly(multisig.address),
      readonly(proposal),
      writable(address),
      writable(await batchTransactionAddress(multisig.address, batchIndex, position)),
      readonlySigner(multisig.operator),
      writableSigner(multisig.operator),
      readonly(SYSTEM_PROGRAM_ADDRESS),
    ],
    batchAddArgs.encode({ ephemeralSigners: 0, vaultMessage }),
  );
}

/** Closes the draft for additions and opens it for votes. */
export function proposalActivate(batch: LocatedBatch): Instruction {
  return instruction(DISCRIMINATOR.proposalActivate, memberAccounts(batch, batch.multisig.operator));
}

/** `member` signs. */
export function proposalApprove(batch: LocatedBatch, member: Address): Instruction {
  return instruction(DISCRIMINATOR.proposalApprove, memberAccounts(batch, member), Uint8Array.of(NO_MEMO));
}

/** One rejection ends an active proposal of a two-of-two multisig. A draft cannot be rejected. `member` signs. */
export function proposalReject(batch: LocatedBatch, member: Address): Instruction {
  return instruction(DISCRIMINATOR.proposalReject, memberAccounts(batch, member), Uint8Array.of(NO_MEMO));
}

/** A vote against an approved proposal; it takes as many as approving it took. `member` signs. */
export function proposalCancel(batch: LocatedBatch, member: Address): Instruction {
  return instruction(DISCRIMINATOR.proposalCancel, memberAccounts(batch, member), Uint8Array.of(NO_MEMO));
}

/** Runs the vault message at `position`; `accounts` are the ones it names (`vaultMessageAccounts`). */
export async function batchExecuteTransaction(
  { multisig, batchIndex, address, proposal }: LocatedBatch,
  position: number,
  accounts: readonly AccountMeta[],
): Promise<Instruction> {
  return instruction(DISCRIMINATOR.batchExecuteTransaction, [
    readonly(multisig.address),
    readonlySigner(multisig.operator),
    writable(proposal),
    writable(address),
    readonly(await batchTransactionAddress(multisig.address, batchIndex, position)),
    ...accounts,
  ]);
}

/** Frees the rent of one vault message of an ended batch, last position first. */
export async function vaultBatchTransactionAccountClose(
  { multisig, batchIndex, address, proposal }: LocatedBatch,
  position: number,
): Promise<Instruction> {
  return instruction(DISCRIMINATOR.vaultBatchTransactionAccountClose, [
    readonly(multisig.address),
    readonly(proposal),
    writable(address),
    writable(await batchTransactionAddress(multisig.address, batchIndex, position)),
    writable(multisig.operator),
    readonly(SYSTEM_PROGRAM_ADDRESS),
  ]);
}

/** Frees the rent of an ended batch and its proposal, after every vault message of it. */
export function batchAccountsClose({ multisig, address, proposal }: LocatedBatch): Instruction {
  return instruction(DISCRIMINATOR.batchAccountsClose, [
    readonly(multisig.address),
    writable(proposal),
    writable(address),
    writable(multisig.operator),
    readonly(SYSTEM_PROGRAM_ADDRESS),
  ]);
}

/** Anchor's: the first eight bytes of SHA-256("global:" + the instruction's snake_case name). */
export const DISCRIMINATOR = {
  multisigCreateV2: Uint8Array.of(50, 221, 199, 93, 40, 245, 139, 233),
  batchCreate: Uint8Array.of(194, 142, 141, 17, 55, 185, 20, 248),
  proposalCreate: Uint8Array.of(220, 60, 73, 224, 30, 108, 79, 159),
  batchAddTransaction: Uint8Array.of(89, 100, 224, 18, 69, 70, 54, 76),
  proposalActivate: Uint8Array.of(11, 34, 92, 248, 154, 27, 51, 106),
  proposalApprove: Uint8Array.of(144, 37, 164, 136, 188, 216, 42, 248),
  proposalReject: Uint8Array.of(243, 62, 134, 156, 230, 106, 246, 135),
  proposalCancel: Uint8Array.of(27, 42, 127, 237, 38, 163, 84, 203),
  batchExecuteTransaction: Uint8Array.of(172, 44, 179, 152, 21, 127, 234, 180),
  vaultBatchTransactionAccountClose: Uint8Array.of(134, 18, 19, 106, 129, 68, 97, 247),
  batchAccountsClose: Uint8Array.of(218, 196, 7, 175, 130, 102, 11, 255),
} as const;

/** Borsh's Option::None in place of a vote's or a batch's memo. */
const NO_MEMO = 0;

const multisigCreateArgs = getStructEncoder([
  ['configAuthority', getNullableEncoder(getAddressEncoder())],
  ['threshold', getU16Encoder()],
  [
    'members',
    getArrayEncoder(
      getStructEncoder([
        ['address', getAddressEncoder()],
        ['permissions', getU8Encoder()],
      ]),
    ),
  ],
  ['timeLockSeconds', getU32Encoder()],
  ['rentCollector', getNullableEncoder(getAddressEncoder())],
  ['memo', getNullableEncoder(getU8Encoder())],
]);

const proposalCreateArgs = getStructEncoder([
  ['batchIndex', getU64Encoder()],
  ['draft', getU8Encoder()],
]);

const batchAddArgs = getStructEncoder([
  ['ephemeralSigners', getU8Encoder()],
  ['vaultMessage', addEncoderSizePrefix(getBytesEncoder(), getU32Encoder())],
]);

function memberAccounts({ multisig, proposal }: LocatedBatch, member: Address): AccountMeta[] {
  return [readonly(multisig.address), writableSigner(member), writable(proposal)];
}

function instruction(
  discriminator: Uint8Array,
  accounts: readonly AccountMeta[],
  args: ReadonlyUint8Array = new Uint8Array(),
): Instruction {
  const bytes = new Uint8Array(discriminator.length + args.length);
  bytes.set(discriminator);
  bytes.set(args, discriminator.length);
  return { programAddress: SQUADS_PROGRAM_ADDRESS, accounts, data: bytes };
}

function readonly(address: Address): AccountMeta {
  return { address, role: AccountRole.READONLY };
}

function writable(address: Address): AccountMeta {
  return { address, role: AccountRole.WRITABLE };
}

function readonlySigner(address: Address): AccountMeta {
  return { address, role: AccountRole.READONLY_SIGNER };
}

function writableSigner(address: Address): AccountMeta {
  return { address, role: AccountRole.WRITABLE_SIGNER };
}
