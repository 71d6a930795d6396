import { createHash } from 'node:crypto';
import {
  type AccountMeta,
  AccountRole,
  type Address,
  getAddressEncoder,
  getU16Encoder,
  getU32Encoder,
  getU64Encoder,
  type Instruction,
  type ReadonlyUint8Array,
} from '@solana/kit';
import { SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import {
  batchTransactionAddress,
  multisigAddress,
  programConfigAddress,
  proposalAddress,
  SQUADS_PROGRAM_ADDRESS,
  transactionAddress,
} from '../../src/squads-emulation/program/addresses.ts';
import { type ConfigAction, configActionCodec } from '../../src/squads-emulation/program/config-action.ts';

// Instructions of the Squads program as clients write them, for tests. The accounts' order is the program's IDL.

export interface MemberInput {
  readonly address: Address;
  readonly permissions: number;
}

export interface MultisigInput {
  readonly createKey: Address;
  readonly creator: Address;
  readonly treasury: Address;
  readonly members: readonly MemberInput[];
  readonly threshold: number;
  readonly configAuthority?: Address | null;
  readonly timeLockSeconds?: number;
  readonly rentCollector?: Address | null;
}

export function multisigCreateV2(input: MultisigInput): Instruction {
  return squads(
    'multisig_create_v2',
    [
      readonly(programConfigAddress().address),
      writable(input.treasury),
      writable(multisigAddress(input.createKey).address),
      signer(input.createKey),
      payer(input.creator),
      readonly(SYSTEM_PROGRAM_ADDRESS),
    ],
    [
      optional(input.configAuthority),
      u16(input.threshold),
      u32(input.members.length),
      ...input.members.flatMap((member) => [addressBytes(member.address), u8(member.permissions)]),
      u32(input.timeLockSeconds ?? 0),
      optional(input.rentCollector),
      NO_MEMO,
    ],
  );
}

export interface ConfigInput {
  readonly multisig: Address;
  readonly configAuthority: Address;
  readonly rentPayer?: Address;
}

export function multisigAddMember(input: ConfigInput, member: MemberInput): Instruction {
  const args = [addressBytes(member.address), u8(member.permissions), NO_MEMO];
  return squads('multisig_add_member', configAccounts(input), args);
}

export function multisigRemoveMember(input: ConfigInput, member: Address): Instruction {
  return squads('multisig_remove_member', configAccounts(input), [addressBytes(member), NO_MEMO]);
}

export function multisigChangeThreshold(input: ConfigInput, threshold: number): Instruction {
  return squads('multisig_change_threshold', configAccounts(input), [u16(threshold), NO_MEMO]);
}

export function multisigSetTimeLock(input: ConfigInput, timeLockSeconds: number): Instruction {
  return squads('multisig_set_time_lock', configAccounts(input), [u32(timeLockSeconds), NO_MEMO]);
}

/** A batch by its place in the multisig. */
export interface BatchKey {
  readonly multisig: Address;
  readonly index: bigint;
}

export function batchCreate(
  key: BatchKey,
  creator: Address,
  { rentPayer = creator, vaultIndex = 0 } = {},
): Instruction {
  return squads(
    'batch_create',
    [
      writable(key.multisig),
      writable(batchOf(key)),
      signer(creator),
      payer(rentPayer),
      readonly(SYSTEM_PROGRAM_ADDRESS),
    ],
    [u8(vaultIndex), NO_MEMO],
  );
}

export function proposalCreate(
  key: BatchKey,
  creator: Address,
  { rentPayer = creator, draft = true } = {},
): Instruction {
  return squads(
    'proposal_create',
    [
      readonly(key.multisig),
      writable(proposalOf(key)),
      signer(creator),
      payer(rentPayer),
      readonly(SYSTEM_PROGRAM_ADDRESS),
    ],
    [getU64Encoder().encode(key.index), u8(draft ? 1 : 0)],
  );
}

export interface AddInput {
  readonly position: number;
  readonly member: Address;
  readonly message: ReadonlyUint8Array;
  readonly rentPayer?: Address;
  readonly ephemeralSignerCount?: number;
}

export function batchAddTransaction(key: BatchKey, input: AddInput): Instruction {
  return squads(
    'batch_add_transaction',
    [
      readonly(key.multisig),
      readonly(proposalOf(key)),
      writable(batchOf(key)),
      writable(transactionOf(key, input.position)),
      signer(input.member),
      payer(input.rentPayer ?? input.member),
      readonly(SYSTEM_PROGRAM_ADDRESS),
    ],
    [u8(input.ephemeralSignerCount ?? 0), u32(input.message.length), input.message],
  );
}

export function proposalActivate(key: BatchKey, member: Address): Instruction {
  return squads('proposal_activate', voteAccounts(key, member), []);
}

export type Vote = 'approve' | 'reject' | 'cancel' | 'cancel_v2';

export function proposalVote(vote: Vote, key: BatchKey, member: Address): Instruction {
  const extra = vote === 'cancel_v2' ? [readonly(SYSTEM_PROGRAM_ADDRESS)] : [];
  return squads(`proposal_${vote}`, [...voteAccounts(key, member), ...extra], [NO_MEMO]);
}

export interface ExecuteInput {
  readonly position: number;
  readonly member: Address;
  /** The accounts of the vault message, as `compileVaultMessage` lists them. */
  readonly remaining: readonly AccountMeta[];
}

export function batchExecuteTransaction(key: BatchKey, { position, member, remaining }: ExecuteInput): Instruction {
  return squads(
    'batch_execute_transaction',
    [
      readonly(key.multisig),
      signer(member),
      writable(proposalOf(key)),
      writable(batchOf(key)),
      readonly(transactionOf(key, position)),
      ...remaining,
    ],
    [],
  );
}

export function vaultBatchTransactionAccountClose(key: BatchKey, position: number, collector: Address): Instruction {
  return squads(
    'vault_batch_transaction_account_close',
    [
      readonly(key.multisig),
      readonly(proposalOf(key)),
      writable(batchOf(key)),
      writable(transactionOf(key, position)),
      writable(collector),
      readonly(SYSTEM_PROGRAM_ADDRESS),
    ],
    [],
  );
}

export function batchAccountsClose(key: BatchKey, collector: Address): Instruction {
  return squads(
    'batch_accounts_close',
    [
      readonly(key.multisig),
      writable(proposalOf(key)),
      writable(batchOf(key)),
      writable(collector),
      readonly(SYSTEM_PROGRAM_ADDRESS),
    ],
    [],
  );
}

export interface ConfigTransactionInput {
  readonly creator: Address;
  readonly rentPayer?: Address;
  readonly actions: readonly ConfigAction[];
}

export function configTransactionCreate(
  key: BatchKey,
  { creator, rentPayer = creator, actions }: ConfigTransactionInput,
): Instruction {
  return squads(
    'config_transaction_create',
    [
      writable(key.multisig),
      writable(batchOf(key)),
      signer(creator),
      payer(rentPayer),
      readonly(SYSTEM_PROGRAM_ADDRESS),
    ],
    [u32(actions.length), ...actions.map((action) => configActionCodec.encode(action)), NO_MEMO],
  );
}

export function configTransactionExecute(key: BatchKey, member: Address, rentPayer?: Address): Instruction {
  return squads(
    'config_transaction_execute',
    [
      writable(key.multisig),
      signer(member),
      writable(proposalOf(key)),
      readonly(batchOf(key)),
      rentPayer ? payer(rentPayer) : readonly(SQUADS_PROGRAM_ADDRESS),
      readonly(SYSTEM_PROGRAM_ADDRESS),
    ],
    [],
  );
}

export function configTransactionAccountsClose(key: BatchKey, collector: Address): Instruction {
  return squads(
    'config_transaction_accounts_close',
    [
      readonly(key.multisig),
      writable(proposalOf(key)),
      writable(batchOf(key)),
      writable(collector),
      readonly(SYSTEM_PROGRAM_ADDRESS),
    ],
    [],
  );
}

export function batchOf({ multisig, index }: BatchKey): Address {
  return transactionAddress(multisig, index).address;
}

export function proposalOf({ multisig, index }: BatchKey): Address {
  return proposalAddress(multisig, index).address;
}

export function transactionOf({ multisig, index }: BatchKey, position: number): Address {
  return batchTransactionAddress(multisig, index, position).address;
}

/** Any instruction of the program by its name in snake case. */
export function squads(
  name: string,
  accounts: readonly AccountMeta[],
  args: readonly ReadonlyUint8Array[],
): Instruction {
  const discriminator = createHash('sha256').update(`global:${name}`).digest().subarray(0, 8);
  const data = Buffer.concat([discriminator, ...args.map((bytes) => Buffer.from(bytes))]);
  return { programAddress: SQUADS_PROGRAM_ADDRESS, accounts, data };
}

const NO_MEMO = Uint8Array.of(0);

function configAccounts({ multisig, configAuthority, rentPayer }: ConfigInput): AccountMeta[] {
  return [
    writable(multisig),
    signer(configAuthority),
    rentPayer ? payer(rentPayer) : readonly(SQUADS_PROGRAM_ADDRESS),
    readonly(SYSTEM_PROGRAM_ADDRESS),
  ];
}

function voteAccounts(key: BatchKey, member: Address): AccountMeta[] {
  return [readonly(key.multisig), payer(member), writable(proposalOf(key))];
}

function readonly(address: Address): AccountMeta {
  return { address, role: AccountRole.READONLY };
}

function writable(address: Address): AccountMeta {
  return { address, role: AccountRole.WRITABLE };
}

function signer(address: Address): AccountMeta {
  return { address, role: AccountRole.READONLY_SIGNER };
}

function payer(address: Address): AccountMeta {
  return { address, role: AccountRole.WRITABLE_SIGNER };
}

function u8(value: number): ReadonlyUint8Array {
  return Uint8Array.of(value);
}

function u16(value: number): ReadonlyUint8Array {
  return getU16Encoder().encode(value);
}

function u32(value: number): ReadonlyUint8Array {
  return getU32Encoder().encode(value);
}

function addressBytes(value: Address): ReadonlyUint8Array {
  return getAddressEncoder().encode(value);
}

function optional(value: Address | null | undefined): ReadonlyUint8Array {
  return value ? Uint8Array.of(1, ...addressBytes(value)) : Uint8Array.of(0);
}
