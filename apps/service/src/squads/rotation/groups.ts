import { bytesEqual } from '@solana/kit';
import type { Batch } from '../../model/batch.ts';
import type { Multisig } from '../../model/project.ts';
import { locateBatch, proposalActivate, proposalCreate } from '../instructions.ts';
import type { InstructionGroup } from '../plan.ts';
import {
  configTransactionAccountsClose,
  configTransactionCreate,
  configTransactionExecute,
  decodeConfigTransaction,
} from './config-transaction.ts';

type Rotation = Pick<Batch, 'batchIndex' | 'pipelines'>;
type RotationAccount = Parameters<typeof decodeConfigTransaction>[0];

/** Puts a rotation on chain and opens it for votes, in one transaction. */
export async function rotationSetupGroup(multisig: Multisig, rotation: Rotation): Promise<InstructionGroup> {
  const located = await locateBatch(multisig, rotation.batchIndex);
  return {
    instructions: [
      configTransactionCreate(located, actionsOf(rotation)),
      proposalCreate(located),
      proposalActivate(located),
    ],
    ...SETUP_WEIGHT,
  };
}

/** Executes a rotation that both sides have approved. */
export async function rotationExecutionGroup(multisig: Multisig, { batchIndex }: Rotation): Promise<InstructionGroup> {
  const located = await locateBatch(multisig, batchIndex);
  return { instructions: [configTransactionExecute(located)], ...EXECUTE_WEIGHT };
}

/** Closes a rotation’s accounts, which returns their rent. */
export async function rotationCloseGroup(multisig: Multisig, { batchIndex }: Rotation): Promise<InstructionGroup> {
  const located = await locateBatch(multisig, batchIndex);
  return { instructions: [configTransactionAccountsClose(located)], ...CLOSE_WEIGHT };
}

/** Whether what the chain holds at a rotation's index is that rotation, byte for byte, and of our making. */
export function isRotation(account: RotationAccount, rotation: Rotation, { operator }: Multisig): boolean {
  const found = decodeConfigTransaction(account);
  return found !== null && found.creator === operator && bytesEqual(found.actions, actionsOf(rotation));
}

/** What a rotation's only pipeline stores on chain. */
export function actionsOf({ batchIndex, pipelines }: Rotation): Uint8Array {
  const [pipeline] = pipelines;
  if (!pipeline || pipelines.length > 1) throw new Error(`Rotation ${batchIndex} has ${pipelines.length} pipelines.`);
  return pipeline.vaultMessage;
}

// Compute units as measured on the deployed program, and rounded up; searches for addresses vary by 1,500 a miss. Traces
// count each creation with all that it takes when somebody has sent lamports to its address before.

/** At most 23,400, 19,500 and 8,900. */
const SETUP_WEIGHT = { computeUnits: 90_000, traceLength: 9 };
/** At most 17,300: the account does not grow, since as many come as go. */
const EXECUTE_WEIGHT = { computeUnits: 35_000, traceLength: 1 };
/** At most 17,700. */
const CLOSE_WEIGHT = { computeUnits: 45_000, traceLength: 1 };
