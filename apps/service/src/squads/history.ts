import type { Address, Instruction, ReadonlyUint8Array } from '@solana/kit';
import { SQUADS_PROGRAM_ADDRESS } from './addresses.ts';
import { DISCRIMINATOR } from './instructions.ts';
import { ROTATION_DISCRIMINATOR, readCreatedActions } from './rotation/config-transaction.ts';

/** What the transactions of a batch’s address tell of it once its accounts are closed. */
export interface BatchHistory {
  /** The vault messages it held, in order, as `batchAddTransaction` brought them. */
  readonly vaultMessages: readonly ReadonlyUint8Array[];
  /** How many of them were executed. */
  readonly executed: number;
}

/** Reads a batch’s history from every instruction of the transactions that named it, oldest first, failed ones left out. */
export function readBatchHistory(batch: Address, instructions: readonly Instruction[]): BatchHistory {
  const of = callsNaming(batch, instructions);
  return {
    vaultMessages: of(DISCRIMINATOR.batchAddTransaction).map((data) => data.slice(ADD_HEADER_BYTES)),
    executed: of(DISCRIMINATOR.batchExecuteTransaction).length,
  };
}

/** The same of a rotation, of which the actions of its config transaction stand for the only vault message. */
export function readRotationHistory(rotation: Address, instructions: readonly Instruction[]): BatchHistory {
  const of = callsNaming(rotation, instructions);
  return {
    vaultMessages: of(ROTATION_DISCRIMINATOR.create).map(readCreatedActions),
    executed: of(ROTATION_DISCRIMINATOR.execute).length,
  };
}

function callsNaming(address: Address, instructions: readonly Instruction[]) {
  const own = instructions.filter(
    ({ programAddress, accounts = [] }) =>
      programAddress === SQUADS_PROGRAM_ADDRESS && accounts.some((account) => account.address === address),
  );
  return (discriminator: ReadonlyUint8Array) =>
    own.flatMap(({ data }) => (data && discriminator.every((byte, i) => data[i] === byte) ? [data] : []));
}

/** Before the vault message: discriminator, count of ephemeral signers, u32 length. */
const ADD_HEADER_BYTES = 8 + 1 + 4;
