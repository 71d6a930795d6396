import { createHash } from 'node:crypto';
import {
  BATCH_ACCOUNTS_CLOSE_DISCRIMINATOR,
  BATCH_ADD_TRANSACTION_DISCRIMINATOR,
  BATCH_CREATE_DISCRIMINATOR,
  BATCH_EXECUTE_TRANSACTION_DISCRIMINATOR,
  CONFIG_TRANSACTION_ACCOUNTS_CLOSE_DISCRIMINATOR,
  CONFIG_TRANSACTION_CREATE_DISCRIMINATOR,
  CONFIG_TRANSACTION_EXECUTE_DISCRIMINATOR,
  DISCRIMINATOR_BYTES,
  MULTISIG_ADD_MEMBER_DISCRIMINATOR,
  MULTISIG_CHANGE_THRESHOLD_DISCRIMINATOR,
  MULTISIG_CREATE_V2_DISCRIMINATOR,
  MULTISIG_REMOVE_MEMBER_DISCRIMINATOR,
  MULTISIG_SET_TIME_LOCK_DISCRIMINATOR,
  PROPOSAL_ACTIVATE_DISCRIMINATOR,
  PROPOSAL_APPROVE_DISCRIMINATOR,
  PROPOSAL_CANCEL_DISCRIMINATOR,
  PROPOSAL_CANCEL_V2_DISCRIMINATOR,
  PROPOSAL_CREATE_DISCRIMINATOR,
  PROPOSAL_REJECT_DISCRIMINATOR,
  VAULT_BATCH_TRANSACTION_ACCOUNT_CLOSE_DISCRIMINATOR,
} from '@flywheel/squads';
import type { AccountMeta, ReadonlyUint8Array } from '@solana/kit';
import type { Call, Chain } from './call.ts';
import { check, failure, notEmulated } from './errors.ts';
import { batchAddTransaction, batchCreate } from './instructions/batch.ts';
import { batchAccountsClose, vaultBatchTransactionAccountClose } from './instructions/close.ts';
import {
  multisigAddMember,
  multisigChangeThreshold,
  multisigRemoveMember,
  multisigSetTimeLock,
} from './instructions/config.ts';
import {
  configTransactionAccountsClose,
  configTransactionCreate,
  configTransactionExecute,
} from './instructions/config-transaction.ts';
import { batchExecuteTransaction } from './instructions/execute.ts';
import { multisigCreateV2 } from './instructions/multisig.ts';
import {
  proposalActivate,
  proposalApprove,
  proposalCancel,
  proposalCancelV2,
  proposalCreate,
  proposalReject,
} from './instructions/proposal.ts';

/** Finds the program's name of the instruction in this data; null if there is none. */
export function instructionName(instructionBytes: ReadonlyUint8Array): string | null {
  return named(instructionBytes)?.name ?? null;
}

/**
 * Runs one instruction of the Squads program.
 * @throws InstructionFailure like the program, or because the emulation does not implement the instruction.
 */
export function runInstruction(
  chain: Chain,
  accounts: readonly AccountMeta[],
  instructionBytes: ReadonlyUint8Array,
): void {
  check(instructionBytes.length >= DISCRIMINATOR_BYTES, 'InstructionMissing');
  const instruction = named(instructionBytes);
  if (!instruction) throw failure('InstructionFallbackNotFound');
  if (!instruction.emulated) throw notEmulated(instruction.name);
  chain.consumeUnits(instruction.emulated.units);
  instruction.emulated.run({ accounts, argumentBytes: instructionBytes.slice(DISCRIMINATOR_BYTES), chain });
}

type Handler = (call: Call) => void;

interface Emulated {
  readonly discriminator: ReadonlyUint8Array;
  readonly run: Handler;
  /**
   * Compute units of the program itself, without called programs: the median measured on the real program. It varies by
   * some thousands with the addresses. Units that depend on the vault message are charged where the message is read.
   */
  readonly units: number;
}

const emulated: Readonly<Record<string, Emulated>> = {
  MultisigCreateV2: { discriminator: MULTISIG_CREATE_V2_DISCRIMINATOR, run: multisigCreateV2, units: 17_500 },
  MultisigAddMember: { discriminator: MULTISIG_ADD_MEMBER_DISCRIMINATOR, run: multisigAddMember, units: 8_600 },
  MultisigRemoveMember: {
    discriminator: MULTISIG_REMOVE_MEMBER_DISCRIMINATOR,
    run: multisigRemoveMember,
    units: 8_100,
  },
  MultisigChangeThreshold: {
    discriminator: MULTISIG_CHANGE_THRESHOLD_DISCRIMINATOR,
    run: multisigChangeThreshold,
    units: 7_200,
  },
  MultisigSetTimeLock: { discriminator: MULTISIG_SET_TIME_LOCK_DISCRIMINATOR, run: multisigSetTimeLock, units: 7_200 },
  BatchCreate: { discriminator: BATCH_CREATE_DISCRIMINATOR, run: batchCreate, units: 19_000 },
  BatchAddTransaction: { discriminator: BATCH_ADD_TRANSACTION_DISCRIMINATOR, run: batchAddTransaction, units: 21_100 },
  BatchExecuteTransaction: {
    discriminator: BATCH_EXECUTE_TRANSACTION_DISCRIMINATOR,
    run: batchExecuteTransaction,
    units: 17_300,
  },
  ConfigTransactionCreate: {
    discriminator: CONFIG_TRANSACTION_CREATE_DISCRIMINATOR,
    run: configTransactionCreate,
    units: 17_300,
  },
  ConfigTransactionExecute: {
    discriminator: CONFIG_TRANSACTION_EXECUTE_DISCRIMINATOR,
    run: configTransactionExecute,
    units: 17_100,
  },
  ConfigTransactionAccountsClose: {
    discriminator: CONFIG_TRANSACTION_ACCOUNTS_CLOSE_DISCRIMINATOR,
    run: configTransactionAccountsClose,
    units: 13_000,
  },
  ProposalCreate: { discriminator: PROPOSAL_CREATE_DISCRIMINATOR, run: proposalCreate, units: 15_000 },
  ProposalActivate: { discriminator: PROPOSAL_ACTIVATE_DISCRIMINATOR, run: proposalActivate, units: 8_900 },
  ProposalApprove: { discriminator: PROPOSAL_APPROVE_DISCRIMINATOR, run: proposalApprove, units: 9_300 },
  ProposalReject: { discriminator: PROPOSAL_REJECT_DISCRIMINATOR, run: proposalReject, units: 9_200 },
  ProposalCancel: { discriminator: PROPOSAL_CANCEL_DISCRIMINATOR, run: proposalCancel, units: 9_700 },
  ProposalCancelV2: { discriminator: PROPOSAL_CANCEL_V2_DISCRIMINATOR, run: proposalCancelV2, units: 14_700 },
  VaultBatchTransactionAccountClose: {
    discriminator: VAULT_BATCH_TRANSACTION_ACCOUNT_CLOSE_DISCRIMINATOR,
    run: vaultBatchTransactionAccountClose,
    units: 17_000,
  },
  BatchAccountsClose: { discriminator: BATCH_ACCOUNTS_CLOSE_DISCRIMINATOR, run: batchAccountsClose, units: 12_000 },
};

// All other instructions of the deployed program, so that their errors can name them.
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
  readonly emulated: Emulated | null;
}

const instructions = new Map<string, NamedInstruction>([
  ...Object.entries(emulated).map(([name, each]) => [hex(each.discriminator), { name, emulated: each }] as const),
  ...notEmulatedNames.map((name) => [discriminatorOf(name), { name, emulated: null }] as const),
]);

function named(instructionBytes: ReadonlyUint8Array): NamedInstruction | null {
  return instructions.get(hex(instructionBytes.slice(0, DISCRIMINATOR_BYTES))) ?? null;
}

/** Anchor hashes the name in snake case: `BatchCreate` as `global:batch_create`. */
function discriminatorOf(name: string): string {
  const snakeCase = name.replaceAll(/(?!^)[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
  return createHash('sha256')
    .update(`global:${snakeCase}`)
    .digest('hex')
    .slice(0, 2 * DISCRIMINATOR_BYTES);
}

function hex(bytes: ReadonlyUint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
