import {
  BATCH_ADD_TRANSACTION_DISCRIMINATOR,
  BATCH_EXECUTE_TRANSACTION_DISCRIMINATOR,
  batchAddTransactionArgsDecoder,
  CONFIG_TRANSACTION_CREATE_DISCRIMINATOR,
  CONFIG_TRANSACTION_EXECUTE_DISCRIMINATOR,
  configTransactionCreateArgsDecoder,
  DISCRIMINATOR_BYTES,
  encodeConfigActions,
  SQUADS_PROGRAM_ADDRESS,
} from '@flywheel/squads';
import type { Address, Instruction, ReadonlyUint8Array } from '@solana/kit';

/** The past of a batch, read from the transactions that name it, for when its accounts are closed. */
export interface BatchHistory {
  /** The vault messages that `batchAddTransaction` added, in order. */
  readonly vaultMessages: readonly ReadonlyUint8Array[];
  /** Number of vault messages that were executed. */
  readonly executed: number;
}

/** Reads a batch's history from all instructions of the successful transactions that name it, oldest first. */
export function readBatchHistory(batch: Address, instructions: readonly Instruction[]): BatchHistory {
  const adds = callsOf(BATCH_ADD_TRANSACTION_DISCRIMINATOR, batch, instructions);
  return {
    vaultMessages: adds.map(
      (data) => batchAddTransactionArgsDecoder.decode(data, DISCRIMINATOR_BYTES).transactionMessage,
    ),
    executed: callsOf(BATCH_EXECUTE_TRANSACTION_DISCRIMINATOR, batch, instructions).length,
  };
}

/** Reads a rotation's history in the same way: its list of config actions stands for its only vault message. */
export function readRotationHistory(rotation: Address, instructions: readonly Instruction[]): BatchHistory {
  const creations = callsOf(CONFIG_TRANSACTION_CREATE_DISCRIMINATOR, rotation, instructions);
  return {
    vaultMessages: creations.map((data) =>
      encodeConfigActions(configTransactionCreateArgsDecoder.decode(data, DISCRIMINATOR_BYTES).actions),
    ),
    executed: callsOf(CONFIG_TRANSACTION_EXECUTE_DISCRIMINATOR, rotation, instructions).length,
  };
}

function callsOf(
  discriminator: ReadonlyUint8Array,
  account: Address,
  instructions: readonly Instruction[],
): ReadonlyUint8Array[] {
  return instructions.flatMap(({ programAddress, accounts = [], data }) => {
    const isNamed = programAddress === SQUADS_PROGRAM_ADDRESS && accounts.some(({ address }) => address === account);
    return isNamed && data && discriminator.every((byte, index) => data[index] === byte) ? [data] : [];
  });
}
