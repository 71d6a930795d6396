import type { ReadonlyUint8Array } from '@solana/kit';
import { configTransactionBytes } from './rotation/config-transaction.ts';
import { decodeVaultMessage } from './vault-message.ts';

/** The sizes of the accounts that a batch takes on chain, in bytes: the batch, its proposal, each vault message. */
export function batchAccountSizes(vaultMessages: readonly ReadonlyUint8Array[]): number[] {
  return [BATCH_BYTES, PROPOSAL_BYTES, ...vaultMessages.map(vaultBatchTransactionBytes)];
}

/** The same of a rotation: its config transaction and its proposal. */
export function rotationAccountSizes(actions: ReadonlyUint8Array): number[] {
  return [configTransactionBytes(actions), PROPOSAL_BYTES];
}

/** Anchor's, before everything. */
const DISCRIMINATOR_BYTES = 8;
const ADDRESS_BYTES = 32;
/** A Borsh vector begins with a count of this size. */
const COUNT_BYTES = 4;
/** Multisig, creator, index, bump, vault index, vault bump, size, executed index (Squads v4, `Batch`). */
const BATCH_BYTES = DISCRIMINATOR_BYTES + ADDRESS_BYTES + ADDRESS_BYTES + 8 + 1 + 1 + 1 + 4 + 4;
/** Operator, company, wallet: `squads/registration.ts` gives a multisig no others. */
const MEMBER_COUNT = 3;
/** Multisig, index, status with its time, bump, and room for every member in three lists (Squads v4, `Proposal`). */
const PROPOSAL_BYTES =
  DISCRIMINATOR_BYTES + ADDRESS_BYTES + 8 + (1 + 8) + 1 + 3 * (COUNT_BYTES + MEMBER_COUNT * ADDRESS_BYTES);

/** What the program stores of a vault message: the same content, with longer counts than it is sent with. */
function vaultBatchTransactionBytes(vaultMessage: ReadonlyUint8Array): number {
  const { staticAccounts, instructions, lookups } = decodeVaultMessage(vaultMessage);
  const instructionBytes = instructions.map(
    ({ accountIndices, data }) => 1 + COUNT_BYTES + accountIndices.length + COUNT_BYTES + data.length,
  );
  const lookupBytes = lookups.map(
    ({ writableIndices, readonlyIndices }) =>
      ADDRESS_BYTES + COUNT_BYTES + writableIndices.length + COUNT_BYTES + readonlyIndices.length,
  );
  const rolesBytes = 3;
  const bumpBytes = 1;
  return (
    DISCRIMINATOR_BYTES +
    bumpBytes +
    COUNT_BYTES +
    rolesBytes +
    COUNT_BYTES +
    ADDRESS_BYTES * staticAccounts.length +
    COUNT_BYTES +
    sum(instructionBytes) +
    COUNT_BYTES +
    sum(lookupBytes)
  );
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
