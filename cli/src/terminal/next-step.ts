import type { FlywheelErrorCode } from '@flywheel/sdk';

const NEW_KEY = 'Check FLYWHEEL_API_KEY, or make a new key with flywheel keys create.';

/** What to do about a failure whose own message does not say it, for somebody at a terminal. */
const NEXT_STEPS: { readonly [Code in FlywheelErrorCode]?: string } = {
  ERR_UNREACHABLE: 'Start one with npm start, or set FLYWHEEL_URL.',
  ERR_TIMED_OUT: 'It may still be going on: look with flywheel status.',
  ERR_UNEXPECTED_REPLY: 'Check that FLYWHEEL_URL names a Flywheel service of this version.',
  ERR_SIGNING_REFUSED: 'Check the wallet file and where the transaction came from.',
  ERR_UNAUTHORIZED: NEW_KEY,
  ERR_KEY_NOT_FOUND: NEW_KEY,
  ERR_FLYWHEEL_INVALID_PROOF_TYPE: 'Proof types are chosen by flywheel register --proof-type.',
  ERR_SIGNED_TX_INVALID: 'Sign the proposalApproveTx of this very batch with flywheel sign.',
  ERR_MINT_UNSUPPORTED: 'On a local cluster, flywheel localnet create-token makes a mint that can be registered.',
  ERR_REGISTRATION_FAILED: 'The wallet pays for it: on a local cluster, flywheel localnet fund gives it SOL.',
};

export function nextStep(code: FlywheelErrorCode): string | null {
  return NEXT_STEPS[code] ?? null;
}
