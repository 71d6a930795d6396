import {
  type Address,
  addDecoderSizePrefix,
  bytesEqual,
  type Decoder,
  type EncodedAccount,
  getAddressDecoder,
  getArrayDecoder,
  getBytesDecoder,
  getDiscriminatedUnionDecoder,
  getI64Decoder,
  getNullableDecoder,
  getStructDecoder,
  getU8Decoder,
  getU16Decoder,
  getU32Decoder,
  getU64Decoder,
  getUnitDecoder,
  type ReadonlyUint8Array,
} from '@solana/kit';
import { SQUADS_PROGRAM_ADDRESS } from './addresses.ts';
import type { Member } from './instructions.ts';
import { encodeVaultMessage, type VaultMessage } from './vault-message.ts';

type AccountBytes = Pick<EncodedAccount, 'address' | 'programAddress' | 'data'>;

/** The account `Multisig`. */
export interface MultisigAccount {
  readonly createKey: Address;
  /** The system program's address (32 zero bytes) when there is none. */
  readonly configAuthority: Address;
  readonly threshold: number;
  readonly timeLockSeconds: number;
  /** The newest batch index that was taken; 0 before the first. */
  readonly transactionIndex: bigint;
  /** Proposals up to here were opened under an earlier configuration and can no longer be approved. */
  readonly staleTransactionIndex: bigint;
  readonly rentCollector: Address | null;
  /** Sorted by address bytes. */
  readonly members: readonly Member[];
}

export type ProposalStatus = 'Draft' | 'Active' | 'Rejected' | 'Approved' | 'Executing' | 'Executed' | 'Cancelled';

/** The account `Proposal`. */
export interface ProposalAccount {
  readonly multisig: Address;
  readonly transactionIndex: bigint;
  readonly status: ProposalStatus;
  readonly approved: readonly Address[];
  readonly rejected: readonly Address[];
  readonly cancelled: readonly Address[];
}

/** The account `Batch`. */
export interface BatchAccount {
  readonly multisig: Address;
  readonly creator: Address;
  readonly index: bigint;
  readonly vaultIndex: number;
  /** How many vault messages were added. */
  readonly size: number;
  /** How many were executed: the zero-based position of the next one. */
  readonly executedTransactionIndex: number;
}

/** The account `VaultBatchTransaction`. */
export interface VaultBatchTransactionAccount {
  readonly ephemeralSignerBumps: readonly number[];
  readonly message: VaultMessage;
}

/** The account `ProgramConfig`. */
export interface ProgramConfigAccount {
  readonly authority: Address;
  readonly multisigCreationFeeLamports: bigint;
  readonly treasury: Address;
}

/** This and every decoder here @throws Error when the account is another program's, of another kind, or cut short. */
export function decodeMultisig(account: AccountBytes): MultisigAccount {
  return decode('Multisig', account, multisigDecoder);
}

export function decodeProposal(account: AccountBytes): ProposalAccount {
  const { status, ...proposal } = decode('Proposal', account, proposalDecoder);
  return { ...proposal, status: status.name };
}

export function decodeBatch(account: AccountBytes): BatchAccount {
  return decode('Batch', account, batchDecoder);
}

export function decodeVaultBatchTransaction(account: AccountBytes): VaultBatchTransactionAccount {
  return decode('VaultBatchTransaction', account, vaultBatchTransactionDecoder);
}

export function decodeProgramConfig(account: AccountBytes): ProgramConfigAccount {
  return decode('ProgramConfig', account, programConfigDecoder);
}

/** Whether what the chain stores at a batch's position is the compiled vault message, byte for byte. */
export function vaultTransactionMatches(
  onChain: VaultBatchTransactionAccount,
  vaultMessage: ReadonlyUint8Array,
): boolean {
  return onChain.ephemeralSignerBumps.length === 0 && bytesEqual(encodeVaultMessage(onChain.message), vaultMessage);
}

/** Anchor's: the first eight bytes of SHA-256("account:" + the account's name). */
const DISCRIMINATOR = {
  Multisig: Uint8Array.of(224, 116, 121, 186, 68, 161, 79, 236),
  Proposal: Uint8Array.of(26, 94, 189, 187, 116, 136, 53, 33),
  Batch: Uint8Array.of(156, 194, 70, 44, 22, 88, 137, 44),
  VaultBatchTransaction: Uint8Array.of(196, 121, 46, 36, 12, 19, 252, 7),
  ProgramConfig: Uint8Array.of(196, 210, 90, 231, 144, 149, 140, 63),
} as const;
const DISCRIMINATOR_BYTES = 8;

function decode<T>(kind: keyof typeof DISCRIMINATOR, account: AccountBytes, decoder: Decoder<T>): T {
  const { address, programAddress, data } = account;
  if (programAddress !== SQUADS_PROGRAM_ADDRESS) {
    throw new Error(`${address} is owned by ${programAddress}, not by Squads (${SQUADS_PROGRAM_ADDRESS}).`);
  }
  if (!DISCRIMINATOR[kind].every((byte, index) => data[index] === byte)) {
    const start = [...data.slice(0, DISCRIMINATOR_BYTES)].join(' ');
    throw new Error(`${address} is no Squads ${kind}: its ${data.length} bytes start with ${start || 'nothing'}.`);
  }
  try {
    return decoder.decode(data, DISCRIMINATOR_BYTES);
  } catch (cause) {
    throw new Error(`${address} is a Squads ${kind} cut short or malformed at ${data.length} bytes.`, { cause });
  }
}

const addresses = getArrayDecoder(getAddressDecoder());
const bytes = getArrayDecoder(getU8Decoder());

const multisigDecoder = getStructDecoder([
  ['createKey', getAddressDecoder()],
  ['configAuthority', getAddressDecoder()],
  ['threshold', getU16Decoder()],
  ['timeLockSeconds', getU32Decoder()],
  ['transactionIndex', getU64Decoder()],
  ['staleTransactionIndex', getU64Decoder()],
  ['rentCollector', getNullableDecoder(getAddressDecoder())],
  ['bump', getU8Decoder()],
  [
    'members',
    getArrayDecoder(
      getStructDecoder([
        ['address', getAddressDecoder()],
        ['permissions', getU8Decoder()],
      ]),
    ),
  ],
]);

const since = getStructDecoder([['timestamp', getI64Decoder()]]);

const proposalDecoder = getStructDecoder([
  ['multisig', getAddressDecoder()],
  ['transactionIndex', getU64Decoder()],
  [
    'status',
    getDiscriminatedUnionDecoder(
      [
        ['Draft', since],
        ['Active', since],
        ['Rejected', since],
        ['Approved', since],
        ['Executing', getUnitDecoder()],
        ['Executed', since],
        ['Cancelled', since],
      ],
      { discriminator: 'name' },
    ),
  ],
  ['bump', getU8Decoder()],
  ['approved', addresses],
  ['rejected', addresses],
  ['cancelled', addresses],
]);

const batchDecoder = getStructDecoder([
  ['multisig', getAddressDecoder()],
  ['creator', getAddressDecoder()],
  ['index', getU64Decoder()],
  ['bump', getU8Decoder()],
  ['vaultIndex', getU8Decoder()],
  ['vaultBump', getU8Decoder()],
  ['size', getU32Decoder()],
  ['executedTransactionIndex', getU32Decoder()],
]);

/** The stored form counts in four bytes where the instruction's form counts in one or two. */
const vaultBatchTransactionDecoder = getStructDecoder([
  ['bump', getU8Decoder()],
  ['ephemeralSignerBumps', bytes],
  [
    'message',
    getStructDecoder([
      ['signerCount', getU8Decoder()],
      ['writableSignerCount', getU8Decoder()],
      ['writableNonSignerCount', getU8Decoder()],
      ['staticAccounts', addresses],
      [
        'instructions',
        getArrayDecoder(
          getStructDecoder([
            ['programIndex', getU8Decoder()],
            ['accountIndices', bytes],
            ['data', addDecoderSizePrefix(getBytesDecoder(), getU32Decoder())],
          ]),
        ),
      ],
      [
        'lookups',
        getArrayDecoder(
          getStructDecoder([
            ['lookupTable', getAddressDecoder()],
            ['writableIndices', bytes],
            ['readonlyIndices', bytes],
          ]),
        ),
      ],
    ]),
  ],
]);

const programConfigDecoder = getStructDecoder([
  ['authority', getAddressDecoder()],
  ['multisigCreationFeeLamports', getU64Decoder()],
  ['treasury', getAddressDecoder()],
]);
