export {
  type AccountBytes,
  batchBytes,
  configTransactionBytes,
  DISCRIMINATOR_BYTES,
  decodeBatch,
  decodeConfigTransaction,
  decodeMultisig,
  decodeProgramConfig,
  decodeProposal,
  decodeVaultBatchTransaction,
  multisigBytes,
  PERMISSION,
  proposalBytes,
  vaultBatchTransactionBytes,
} from './accounts.ts';
export * from './addresses.ts';
export { decodeConfigActions, encodeConfigActions } from './config-actions.ts';
export * from './deployed-program.ts';
export { feeLamports, type UnsignedMessage } from './fee.ts';
export * from './generated/accounts.ts';
export * from './generated/batch-instructions.ts';
export * from './generated/config-transaction-instructions.ts';
export * from './generated/multisig-instructions.ts';
export * from './generated/proposal-instructions.ts';
export * from './generated/types.ts';
export * from './packing.ts';
export { hasDiscriminator, SQUADS_PROGRAM_ADDRESS, type SquadsInstruction } from './program.ts';
export { encodeUnsignedTransaction } from './unsigned-transaction.ts';
export * from './vault-message.ts';
export * from './vault-proofs.ts';
export * from './weights.ts';
