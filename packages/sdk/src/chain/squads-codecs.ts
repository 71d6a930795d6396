import {
  type Address,
  addDecoderSizePrefix,
  type Decoder,
  getAddressDecoder,
  getAddressEncoder,
  getArrayDecoder,
  getBytesDecoder,
  getI64Decoder,
  getNullableDecoder,
  getProgramDerivedAddress,
  getStructDecoder,
  getU8Decoder,
  getU16Decoder,
  getU32Decoder,
  getU32Encoder,
  getU64Decoder,
  getU64Encoder,
  type ReadonlyUint8Array,
  address as toAddress,
} from '@solana/kit';
import { ADDRESS_LOOKUP_TABLE_PROGRAM_ADDRESS } from '@solana-program/address-lookup-table';
import type { ChainAccount } from './rpc.ts';

/** Squads v4, immutable on every public cluster. */
export const SQUADS_PROGRAM = toAddress('SQDS4ep65T869zMMBKyuUq6aD6EgTu8psMjkvj52pCf');
/** Anchor's discriminator: the first eight bytes of SHA-256("global:proposal_approve"). */
export const PROPOSAL_APPROVE: readonly number[] = [144, 37, 164, 136, 188, 216, 42, 248];

/** True if bytes begin with a discriminator. */
export function startsWith(bytes: ReadonlyUint8Array, prefix: readonly number[]): boolean {
  return prefix.every((byte, position) => bytes[position] === byte);
}

const address = getAddressDecoder();
const addresses = getArrayDecoder(address);
const bytes = getArrayDecoder(getU8Decoder());

/** Anchor’s discriminators: the first eight bytes of SHA-256("account:" + the account’s name). */
const MULTISIG = [224, 116, 121, 186, 68, 161, 79, 236];
const PROPOSAL = [26, 94, 189, 187, 116, 136, 53, 33];
const BATCH = [156, 194, 70, 44, 22, 88, 137, 44];
const BATCH_TRANSACTION = [196, 121, 46, 36, 12, 19, 252, 7];

const multisigDecoder = getStructDecoder([
  ['createKey', address],
  ['configAuthority', address],
  ['threshold', getU16Decoder()],
  ['timeLockSeconds', getU32Decoder()],
  ['transactionIndex', getU64Decoder()],
  ['staleTransactionIndex', getU64Decoder()],
  ['rentCollector', getNullableDecoder(address)],
  ['bump', getU8Decoder()],
  [
    'members',
    getArrayDecoder(
      getStructDecoder([
        ['address', address],
        ['permissions', getU8Decoder()],
      ]),
    ),
  ],
]);

const batchDecoder = getStructDecoder([
  ['multisig', address],
  ['creator', address],
  ['index', getU64Decoder()],
  ['bump', getU8Decoder()],
  ['vaultIndex', getU8Decoder()],
  ['vaultBump', getU8Decoder()],
  ['size', getU32Decoder()],
  ['executedTransactionIndex', getU32Decoder()],
]);

const proposalHead = getStructDecoder([
  ['multisig', address],
  ['transactionIndex', getU64Decoder()],
  ['status', getU8Decoder()],
]);
const proposalVotes = getStructDecoder([
  ['bump', getU8Decoder()],
  ['approved', addresses],
  ['rejected', addresses],
  ['cancelled', addresses],
]);

/** In the order of the program’s enum. */
const PROPOSAL_STATUSES = ['Draft', 'Active', 'Rejected', 'Approved', 'Executing', 'Executed', 'Cancelled'] as const;

const batchTransactionDecoder = getStructDecoder([
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
            ['lookupTable', address],
            ['writableIndices', bytes],
            ['readonlyIndices', bytes],
          ]),
        ),
      ],
    ]),
  ],
]);

/** This and every decoder here @throws Error when the account is missing, another program’s, or of another kind. */
export function decodeMultisig(account: ChainAccount | null) {
  return decode('multisig', account, MULTISIG, multisigDecoder);
}

export function decodeBatch(account: ChainAccount | null) {
  return decode('batch', account, BATCH, batchDecoder);
}

export function decodeBatchTransaction(account: ChainAccount | null) {
  return decode('batch transaction', account, BATCH_TRANSACTION, batchTransactionDecoder);
}

export type BatchTransaction = ReturnType<typeof decodeBatchTransaction>;

export function decodeProposal(account: ChainAccount | null) {
  const data = bodyOf('proposal', account, PROPOSAL);
  const [head, end] = proposalHead.read(data, DISCRIMINATOR_BYTES);
  const status = PROPOSAL_STATUSES[head.status];
  if (status === undefined)
    throw new Error(`The proposal’s status is ${head.status}, which this client does not know.`);
  // Every status but Executing carries the time since when.
  const votesAt = status === 'Executing' ? end : getI64Decoder().read(data, end)[1];
  return { ...head, ...proposalVotes.decode(data, votesAt), status };
}

/** A lookup table’s addresses begin after a header of fixed size (Agave, LOOKUP_TABLE_META_SIZE). */
const LOOKUP_TABLE_HEADER_BYTES = 56;
const ADDRESS_BYTES = 32;

export function decodeLookupTable(account: ChainAccount | null): readonly Address[] {
  if (!account) throw new Error('The batch’s lookup table is not on chain.');
  // Its entries never change; any other program's account could.
  if (account.owner !== ADDRESS_LOOKUP_TABLE_PROGRAM_ADDRESS) throw new Error(`${account.address} is no lookup table.`);
  const count = Math.floor((account.data.length - LOOKUP_TABLE_HEADER_BYTES) / ADDRESS_BYTES);
  return Array.from({ length: count }, (_, place) =>
    address.decode(account.data, LOOKUP_TABLE_HEADER_BYTES + place * ADDRESS_BYTES),
  );
}

const DISCRIMINATOR_BYTES = 8;

function decode<T>(
  kind: string,
  account: ChainAccount | null,
  discriminator: readonly number[],
  decoder: Decoder<T>,
): T {
  return decoder.decode(bodyOf(kind, account, discriminator), DISCRIMINATOR_BYTES);
}

function bodyOf(kind: string, account: ChainAccount | null, discriminator: readonly number[]): ReadonlyUint8Array {
  if (!account) throw new Error(`The ${kind} is not on chain.`);
  if (account.owner !== SQUADS_PROGRAM) throw new Error(`The ${kind} belongs to ${account.owner}, not to Squads.`);
  if (!discriminator.every((byte, index) => account.data[index] === byte)) {
    throw new Error(`The account ${account.address} is no Squads ${kind}.`);
  }
  return account.data;
}

type Seed = string | ReadonlyUint8Array;

const addressEncoder = getAddressEncoder();

/** Vault 0 of a multisig. */
export function vaultAddress(multisig: Address): Promise<Address> {
  return derive(SQUADS_PROGRAM, ['multisig', addressEncoder.encode(multisig), 'vault', Uint8Array.of(0)]);
}

/** Where Squads keeps what a batch is: its size, and how much of it is executed. */
export function batchAddress(multisig: Address, batchIndex: bigint): Promise<Address> {
  return derive(SQUADS_PROGRAM, ofIndex(multisig, batchIndex));
}

/** Where Squads keeps who voted on a batch. */
export function proposalAddress(multisig: Address, batchIndex: bigint): Promise<Address> {
  return derive(SQUADS_PROGRAM, [...ofIndex(multisig, batchIndex), 'proposal']);
}

/** @param position zero-based; the program counts from one. */
export function batchTransactionAddress(multisig: Address, batchIndex: bigint, position: number): Promise<Address> {
  const chainIndex = getU32Encoder().encode(position + 1);
  return derive(SQUADS_PROGRAM, [...ofIndex(multisig, batchIndex), 'batch_transaction', chainIndex]);
}

function ofIndex(multisig: Address, batchIndex: bigint): Seed[] {
  return ['multisig', addressEncoder.encode(multisig), 'transaction', getU64Encoder().encode(batchIndex)];
}

async function derive(programAddress: Address, seeds: Seed[]): Promise<Address> {
  const [derived] = await getProgramDerivedAddress({ programAddress, seeds });
  return derived;
}
