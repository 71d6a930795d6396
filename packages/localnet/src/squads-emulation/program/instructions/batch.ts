import {
  batchAddTransactionArgsDecoder,
  batchAddTransactionArgsEncoder,
  batchBytes,
  batchCreateArgsDecoder,
  batchCreateArgsEncoder,
  PERMISSION,
  type VaultBatchTransactionAccount,
  type VaultTransactionMessage,
  vaultMessageDecoder,
  vaultMessageEncoder,
} from '@flywheel/squads';
import type { ReadonlyUint8Array } from '@solana/kit';
import { InstructionFailure } from '../../failure.ts';
import { encodedBytes } from '../accounts.ts';
import {
  ephemeralSignerAddress,
  numberedTransactionAddress,
  proposalAddress,
  transactionAddress,
  vaultAddress,
} from '../addresses.ts';
import { decodeStrictly } from '../borsh.ts';
import {
  accountAt,
  type Call,
  checkWritable,
  initialize,
  loadAt,
  readArguments,
  save,
  signerAt,
  systemProgramAt,
} from '../call.ts';
import { check } from '../errors.ts';
import { checkVaultMessage } from '../vault-message.ts';
import { checkMember, checkMultisigSeeds } from './multisig.ts';

/** Opens an empty batch at the multisig's next transaction index. */
export function batchCreate(call: Call): void {
  const { vaultIndex } = readArguments(call, { encoder: batchCreateArgsEncoder, decoder: batchCreateArgsDecoder });
  const multisig = loadAt(call, 0, 'Multisig');
  const target = accountAt(call, 1).address;
  const creator = signerAt(call, 2);
  const rentPayer = signerAt(call, 3);
  systemProgramAt(call, 4);

  const index = multisig.value.transactionIndex + 1n;
  const expected = transactionAddress(multisig.address, index);
  initialize(call, { position: 1, expected, payer: rentPayer, bytes: batchBytes() });
  checkMultisigSeeds(multisig);
  checkWritable(call, 0);
  checkWritable(call, 3);
  checkMember(multisig.value, creator, PERMISSION.initiate);
  save(call, target, 'Batch', {
    multisig: multisig.address,
    creator,
    index,
    bump: expected.bump,
    vaultIndex,
    vaultBump: vaultAddress(multisig.address, vaultIndex).bump,
    size: 0,
    executedTransactionIndex: 0,
  });
  save(call, multisig.address, 'Multisig', { ...multisig.value, transactionIndex: index });
}

/** Stores one more vault message in a batch whose proposal is a draft. */
export function batchAddTransaction(call: Call): void {
  const { ephemeralSigners: ephemeralSignerCount, transactionMessage } = readArguments(call, {
    encoder: batchAddTransactionArgsEncoder,
    decoder: batchAddTransactionArgsDecoder,
  });
  const multisig = loadAt(call, 0, 'Multisig');
  const proposal = loadAt(call, 1, 'Proposal');
  const batch = loadAt(call, 2, 'Batch');
  const target = accountAt(call, 3).address;
  const member = signerAt(call, 4);
  const rentPayer = signerAt(call, 5);
  systemProgramAt(call, 6);

  const { index, size } = batch.value;
  const expected = numberedTransactionAddress(multisig.address, index, size + 1);
  check(target === expected.address, 'ConstraintSeeds');
  const ephemeralSigners = Array.from({ length: ephemeralSignerCount }, (_, each) =>
    ephemeralSignerAddress(batch.address, each),
  );
  const transaction: VaultBatchTransactionAccount = {
    bump: expected.bump,
    ephemeralSignerBumps: Uint8Array.from(ephemeralSigners, ({ bump }) => bump),
    message: decodeMessage(transactionMessage),
  };
  const { accountKeys, instructions } = transaction.message;
  call.chain.consumeUnits(accountKeys.length * UNITS_PER_KEY + instructions.length * UNITS_PER_INSTRUCTION);
  const bytes = encodedBytes('VaultBatchTransaction', transaction);
  initialize(call, { position: 3, expected, payer: rentPayer, bytes });
  checkMultisigSeeds(multisig);
  check(proposal.address === proposalAddress(multisig.address, index).address, 'ConstraintSeeds');
  check(batch.address === transactionAddress(multisig.address, index).address, 'ConstraintSeeds');
  checkWritable(call, 2);
  checkWritable(call, 5);
  checkMember(multisig.value, member, PERMISSION.initiate);
  check(member === batch.value.creator, 'Unauthorized');
  check(proposal.value.status.__kind === 'Draft', 'InvalidProposalStatus');
  save(call, target, 'VaultBatchTransaction', transaction);
  save(call, batch.address, 'Batch', { ...batch.value, size: size + 1 });
}

// Measured on the real program over messages of 2 to 18 keys and 1 to 12 instructions.
const UNITS_PER_KEY = 840;
const UNITS_PER_INSTRUCTION = 1_570;

function decodeMessage(bytes: ReadonlyUint8Array): VaultTransactionMessage {
  let message: VaultTransactionMessage;
  try {
    message = decodeStrictly({ encoder: vaultMessageEncoder, decoder: vaultMessageDecoder }, bytes);
  } catch {
    // Only for this error does the program pass on that of its Borsh reader.
    throw new InstructionFailure('BorshIoError', 'The vault message ends too early.');
  }
  checkVaultMessage(message);
  return message;
}
