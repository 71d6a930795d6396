import type { Approver } from '@flywheel/api';
import {
  type AccountBytes,
  CLOSE_CONFIG_WEIGHT,
  CONFIG_TRANSACTION_DISCRIMINATOR,
  decodeConfigActions,
  decodeConfigTransaction,
  EXECUTE_CONFIG_WEIGHT,
  encodeConfigActions,
  getConfigTransactionAccountsCloseInstruction,
  getConfigTransactionCreateInstruction,
  getConfigTransactionExecuteInstruction,
  hasDiscriminator,
  type InstructionGroup,
  PERMISSION,
  SETUP_CONFIG_WEIGHT,
  SQUADS_PROGRAM_ADDRESS,
  type SquadsInstruction,
} from '@flywheel/squads';
import { type Address, bytesEqual, type ReadonlyUint8Array } from '@solana/kit';
import type { Batch } from '../model/batch.ts';
import type { Multisig } from '../model/project.ts';
import { type LocatedBatch, locateBatch, proposalActivate, proposalCreate } from './instructions.ts';
import { OPERATOR_PERMISSIONS } from './registration.ts';

// A rotation replaces a member of the multisig. On chain it is a config transaction, which takes the place of a batch.

type Rotation = Pick<Batch, 'batchIndex' | 'pipelines'>;

/** One member in place of another, with the same permissions. */
export interface Replacement {
  readonly approver: Approver;
  readonly from: Address;
  readonly to: Address;
}

/**
 * Encodes the actions that a config transaction stores of a replacement, which the votes are about. The new member is
 * added before the old one is removed, so that the multisig always has enough voters. The rent of ended batches goes to a
 * new operator from then on, also of those that the old one paid.
 */
export function encodeReplacement({ approver, from, to }: Replacement): Uint8Array {
  const isOperator = approver === 'operator';
  const mask = isOperator ? OPERATOR_PERMISSIONS : PERMISSION.vote;
  return encodeConfigActions([
    { __kind: 'AddMember', newMember: { key: to, permissions: { mask } } },
    ...(isOperator ? [{ __kind: 'SetRentCollector', newRentCollector: to } as const] : []),
    { __kind: 'RemoveMember', oldMember: from },
  ]);
}

/** Builds what puts a rotation on chain and opens it for votes, in one transaction. */
export function rotationSetupGroup(multisig: Multisig, rotation: Rotation): InstructionGroup {
  const located = locateBatch(multisig, rotation.batchIndex);
  const create = getConfigTransactionCreateInstruction({
    multisig: multisig.address,
    transaction: located.address,
    creator: multisig.operator,
    rentPayer: multisig.operator,
    actions: decodeConfigActions(actionsOf(rotation)),
    memo: null,
  });
  return { instructions: [create, proposalCreate(located), proposalActivate(located)], ...SETUP_CONFIG_WEIGHT };
}

/** Builds what executes a rotation that both sides have approved. */
export function rotationExecutionGroup(multisig: Multisig, { batchIndex }: Rotation): InstructionGroup {
  return { instructions: [configTransactionExecute(locateBatch(multisig, batchIndex))], ...EXECUTE_CONFIG_WEIGHT };
}

/** Changes the configuration as approved. All earlier proposals that are not yet approved become stale. */
export function configTransactionExecute({ multisig, address, proposal }: LocatedBatch): SquadsInstruction {
  return getConfigTransactionExecuteInstruction({
    multisig: multisig.address,
    member: multisig.operator,
    proposal,
    transaction: address,
    rentPayer: multisig.operator,
  });
}

/** Builds what closes a rotation's accounts, which returns their rent. */
export function rotationCloseGroup(multisig: Multisig, { batchIndex }: Rotation): InstructionGroup {
  const { address, proposal } = locateBatch(multisig, batchIndex);
  const close = getConfigTransactionAccountsCloseInstruction({
    multisig: multisig.address,
    proposal,
    transaction: address,
    rentCollector: multisig.rentCollector,
  });
  return { instructions: [close], ...CLOSE_CONFIG_WEIGHT };
}

/**
 * True if the account is exactly this rotation, byte for byte, and our operator created it: the present one, the one that
 * the rotation removes, or the recovery key.
 */
export function isRotation(account: AccountBytes, rotation: Rotation, { operator, recovery }: Multisig): boolean {
  const { programAddress, data } = account;
  if (programAddress !== SQUADS_PROGRAM_ADDRESS) return false;
  if (!hasDiscriminator(data, CONFIG_TRANSACTION_DISCRIMINATOR)) return false;
  const { creator, actions } = decodeConfigTransaction(account);
  const isRemoved = actions.some((action) => action.__kind === 'RemoveMember' && action.oldMember === creator);
  return (
    (creator === operator || creator === recovery || isRemoved) &&
    bytesEqual(encodeConfigActions(actions), actionsOf(rotation))
  );
}

/** Returns the bytes that a rotation's only pipeline stores on chain. */
export function actionsOf({ batchIndex, pipelines }: Rotation): ReadonlyUint8Array {
  const [pipeline] = pipelines;
  if (!pipeline || pipelines.length > 1) throw new Error(`Rotation ${batchIndex} has ${pipelines.length} pipelines.`);
  return pipeline.vaultMessage;
}
