import type { AccountMeta, ReadonlyUint8Array } from '@solana/kit';
import { anchorDiscriminator } from './accounts.ts';
import { batchAddTransaction, batchCreate } from './batch.ts';
import type { Call, Chain } from './call.ts';
import { batchAccountsClose, vaultBatchTransactionAccountClose } from './close.ts';
import { multisigAddMember, multisigChangeThreshold, multisigRemoveMember, multisigSetTimeLock } from './config.ts';
import { check, failure, notEmulated } from './errors.ts';
import { batchExecuteTransaction } from './execute.ts';
import { multisigCreateV2 } from './multisig.ts';
import {
  proposalActivate,
  proposalApprove,
  proposalCancel,
  proposalCancelV2,
  proposalCreate,
  proposalReject,
} from './proposal.ts';

/** Which instruction of the program this data calls, by the program's name for it; null for none of them. */
export function instructionName(instructionBytes: ReadonlyUint8Array): string | null {
  return named(instructionBytes)?.name ?? null;
}

/**
 * Runs one instruction of the Squads program.
 *
 * @throws InstructionFailure as the program fails, or because the emulation does not know the instruction.
 */
export function runInstruction(
  chain: Chain,
  accounts: readonly AccountMeta[],
  instructionBytes: ReadonlyUint8Array,
): void {
  check(instructionBytes.length >= DISCRIMINATOR_BYTES, 'InstructionMissing');
  const instruction = named(instructionBytes);
  if (!instruction) throw failure('InstructionFallbackNotFound');
  if (!instruction.run) throw notEmulated(instruction.name);
  instruction.run({ accounts, argumentBytes: instructionBytes.slice(DISCRIMINATOR_BYTES), chain });
}

const DISCRIMINATOR_BYTES = 8;

type Handler = (call: Call) => void;

const emulated: Readonly<Record<string, Handler>> = {
  MultisigCreateV2: multisigCreateV2,
  MultisigAddMember: multisigAddMember,
  MultisigRemoveMember: multisigRemoveMember,
  MultisigChangeThreshold: multisigChangeThreshold,
  MultisigSetTimeLock: multisigSetTimeLock,
  BatchCreate: batchCreate,
  BatchAddTransaction: batchAddTransaction,
  BatchExecuteTransaction: batchExecuteTransaction,
  ProposalCreate: proposalCreate,
  ProposalActivate: proposalActivate,
  ProposalApprove: proposalApprove,
  ProposalReject: proposalReject,
  ProposalCancel: proposalCancel,
  ProposalCancelV2: proposalCancelV2,
  VaultBatchTransactionAccountClose: vaultBatchTransactionAccountClose,
  BatchAccountsClose: batchAccountsClose,
};

// The rest of the deployed program's instructions, so that they can be refused by name.
const notEmulatedNames = [
  'ProgramConfigInit',
  'ProgramConfigSetAuthority',
  'ProgramConfigSetMultisigCreationFee',
  'ProgramConfigSetTreasury',
  'MultisigCreate',
  'MultisigSetConfigAuthority',
  'MultisigSetRentCollector',
  'MultisigAddSpendingLimit',
  'MultisigRemoveSpendingLimit',
  'ConfigTransactionCreate',
  'ConfigTransactionExecute',
  'ConfigTransactionAccountsClose',
  'VaultTransactionCreate',
  'VaultTransactionCreateFromBuffer',
  'VaultTransactionExecute',
  'VaultTransactionAccountsClose',
  'TransactionBufferCreate',
  'TransactionBufferExtend',
  'TransactionBufferClose',
  'SpendingLimitUse',
];

interface NamedInstruction {
  readonly name: string;
  readonly run: Handler | null;
}

const instructions = new Map<string, NamedInstruction>([
  ...Object.entries(emulated).map(([name, run]) => [discriminatorOf(name), { name, run }] as const),
  ...notEmulatedNames.map((name) => [discriminatorOf(name), { name, run: null }] as const),
]);

function named(instructionBytes: ReadonlyUint8Array): NamedInstruction | null {
  return instructions.get(hex(instructionBytes.slice(0, DISCRIMINATOR_BYTES))) ?? null;
}

/** Anchor hashes the name in snake case: `BatchCreate` as `global:batch_create`. */
function discriminatorOf(name: string): string {
  const snakeCase = name.replaceAll(/(?!^)[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
  return hex(anchorDiscriminator(`global:${snakeCase}`));
}

function hex(bytes: ReadonlyUint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
