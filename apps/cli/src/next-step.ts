import type { FlywheelError, FlywheelErrorCode } from '@flywheel/sdk';

const NEW_KEY = 'Check FLYWHEEL_API_KEY, or make a new key with flywheel keys create.';

/** What to do about a failure whose own message does not say it, for somebody at a terminal. */
const NEXT_STEPS: { readonly [Code in FlywheelErrorCode]?: string } = {
  ERR_UNREACHABLE: 'Start one with npm start, or set FLYWHEEL_URL.',
  ERR_TIMED_OUT: 'It may still be going on: look with flywheel status.',
  ERR_UNEXPECTED_REPLY: 'Check that FLYWHEEL_URL names a Flywheel service of this version.',
  ERR_SIGNING_REFUSED: 'Check the wallet file and where the transaction came from.',
  ERR_UNAUTHORIZED: NEW_KEY,
  ERR_KEY_NOT_FOUND: NEW_KEY,
  ERR_FLYWHEEL_INVALID_PROOF_TYPE: 'flywheel project proof-types lists those that are allowed, and changes them.',
  ERR_SIGNED_TX_INVALID: 'Sign the proposalApproveTx of this very batch with flywheel sign.',
  ERR_FLYWHEEL_DAILY_LIMIT_EXCEEDED: 'flywheel project limits shows and changes the daily limits.',
  ERR_VAULT_UNDERFUNDED: 'flywheel project show says what the vault lacks and where to send it.',
  ERR_PROJECT_NOT_FOUND: 'Check --project and --wallet: only a project’s own wallet sees it.',
  ERR_BATCH_NOT_FOUND: 'Check the id, and that FLYWHEEL_API_KEY is of its project.',
  ERR_MINT_UNSUPPORTED: 'On a local cluster, flywheel localnet create-token makes a mint that can be registered.',
  ERR_REGISTRATION_FAILED: 'The wallet pays for it: on a local cluster, flywheel localnet fund gives it SOL.',
};

export function nextStep({ code, message }: Pick<FlywheelError, 'code' | 'message'>): string | null {
  // The client says of a node what it says of a service.
  if (code === 'ERR_UNREACHABLE' && message.startsWith('No cluster')) return OTHER_CLUSTER;
  return NEXT_STEPS[code] ?? null;
}

const OTHER_CLUSTER = 'Start one with npm start, or set SOLANA_RPC_URL.';
