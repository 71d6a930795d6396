import { InstructionFailure } from '../failure.ts';

/**
 * Error codes of the deployed program that the emulated instructions can end with. Below 6000 they are Anchor's
 * (its `ErrorCode`), from 6000 the program's own (its IDL).
 */
const errorCodes = {
  InstructionMissing: 100,
  InstructionFallbackNotFound: 101,
  InstructionDidNotDeserialize: 102,
  ConstraintMut: 2000,
  ConstraintSeeds: 2006,
  ConstraintClose: 2011,
  AccountDiscriminatorNotFound: 3001,
  AccountDiscriminatorMismatch: 3002,
  AccountDidNotDeserialize: 3003,
  AccountDidNotSerialize: 3004,
  AccountNotEnoughKeys: 3005,
  AccountOwnedByWrongProgram: 3007,
  InvalidProgramId: 3008,
  AccountNotSigner: 3010,
  AccountNotInitialized: 3012,
  TryingToInitPayerAsProgramAccount: 4101,
  DuplicateMember: 6000,
  InvalidThreshold: 6003,
  Unauthorized: 6004,
  NotAMember: 6005,
  InvalidTransactionMessage: 6006,
  StaleProposal: 6007,
  InvalidProposalStatus: 6008,
  InvalidTransactionIndex: 6009,
  AlreadyApproved: 6010,
  AlreadyRejected: 6011,
  AlreadyCancelled: 6012,
  InvalidNumberOfAccounts: 6013,
  InvalidAccount: 6014,
  RemoveLastMember: 6015,
  NoVoters: 6016,
  NoProposers: 6017,
  NoExecutors: 6018,
  NotSupportedForControlled: 6020,
  TimeLockNotReleased: 6021,
  NoActions: 6022,
  MissingAccount: 6023,
  UnknownPermission: 6028,
  ProtectedAccount: 6029,
  TimeLockExceedsMaxAllowed: 6030,
  RentReclamationDisabled: 6032,
  InvalidRentCollector: 6033,
  ProposalForAnotherMultisig: 6034,
  TransactionForAnotherMultisig: 6035,
  TransactionNotMatchingProposal: 6036,
  TransactionNotLastInBatch: 6037,
  BatchNotEmpty: 6038,
} as const;

export type ErrorName = keyof typeof errorCodes;

/** Creates the failure with which the program ends an instruction. */
export function failure(name: ErrorName): InstructionFailure {
  const code = errorCodes[name];
  return new InstructionFailure({ Custom: code }, `AnchorError occurred. Error Code: ${name}. Error Number: ${code}.`);
}

/** Throws the failure unless the condition holds, like the program's `require!`. */
export function check(condition: boolean, otherwise: ErrorName): asserts condition {
  if (!condition) throw failure(otherwise);
}

/**
 * Creates the failure for features of the deployed program that the emulation lacks. Solana answers
 * `UnsupportedProgramId` for a program that it cannot run; the log has the reason.
 */
export function notEmulated(what: string): InstructionFailure {
  return new InstructionFailure(
    'UnsupportedProgramId',
    `The Squads emulation does not run ${what}. Start the local cluster with the real Squads program for that.`,
  );
}
