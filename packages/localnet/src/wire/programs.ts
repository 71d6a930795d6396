// This module imports nothing, so that the worker of `signatures.ts` starts without Kit.

export const ED25519_PROGRAM = 'Ed25519SigVerify111111111111111111111111111';
export const SECP256K1_PROGRAM = 'KeccakSecp256k11111111111111111111111111111';
export const SECP256R1_PROGRAM = 'Secp256r1SigVerify1111111111111111111111111';

/** Precompiles: the first data byte of an instruction counts the signatures that it checks. */
export const PRECOMPILES: ReadonlySet<string> = new Set([ED25519_PROGRAM, SECP256K1_PROGRAM, SECP256R1_PROGRAM]);

/**
 * Programs whose instructions add less to the default compute unit limit than those of others (agave,
 * builtins-default-costs). Stake, config and lookup tables have become programs on chain, and secp256r1 is not listed.
 */
export const BUILTIN_PROGRAMS: ReadonlySet<string> = new Set([
  '11111111111111111111111111111111',
  'Vote111111111111111111111111111111111111111',
  'BPFLoader1111111111111111111111111111111111',
  'BPFLoader2111111111111111111111111111111111',
  'BPFLoaderUpgradeab1e11111111111111111111111',
  'LoaderV411111111111111111111111111111111111',
  'ComputeBudget111111111111111111111111111111',
  SECP256K1_PROGRAM,
  ED25519_PROGRAM,
]);
