import { type FlywheelError, type FlywheelErrorCode, isFlywheelError } from '@flywheel/sdk';
import { RpcError } from '@flywheel/solana-rpc';

/** Codes of errors that arise in the command line itself; all others come from the SDK or the service. */
export type CliErrorCode =
  | 'ERR_USAGE'
  | 'ERR_CONFIGURATION'
  | 'ERR_FILE'
  | 'ERR_WALLET'
  | 'ERR_API_KEY_MISSING'
  | 'ERR_CLUSTER'
  | 'ERR_PIN'
  | 'ERR_DATABASE_LOST'
  | 'ERR_MOVE_REFUSED'
  | 'ERR_SHARDS_LEFT'
  | 'ERR_BATCH_FAILED'
  | 'ERR_EVENTS_LEFT'
  | 'ERR_PREVIEW_FAILED'
  | 'ERR_ALREADY_PAID'
  | 'ERR_AIRDROP_REFUSED'
  | 'ERR_DEMO_FAILED'
  | 'ERR_NOT_PROVEN'
  | 'ERR_UNEXPLAINED_OUTFLOW'
  | 'ERR_HISTORY_INCOMPLETE'
  | 'ERR_UNHEALTHY'
  | 'ERR_INTERRUPTED';

/** An error with a code; its message ends with the next step. */
export class CliError extends Error {
  readonly code: CliErrorCode | FlywheelErrorCode;
  /** Overrides the exit code that belongs to `code`. */
  readonly exitCode: number | null;

  /** @param code one of the SDK's or the service's for an error of theirs whose next step depends on the command. */
  constructor(
    code: CliErrorCode | FlywheelErrorCode,
    message: string,
    options: ErrorOptions & { readonly exitCode?: number } = {},
  ) {
    super(message, options);
    this.name = 'CliError';
    this.code = code;
    this.exitCode = options.exitCode ?? null;
  }
}

/** Every exit code with its meaning, as `flywheel --help` and docs/cli.md print them. */
export const EXIT_CODES = [
  [0, 'success'],
  [1, 'error: see the message'],
  [2, 'usage error, bad input or wallet file, invalid request, or a run requested too early: nothing was sent'],
  [
    3,
    'negative result: failed batch or preview, missing proof, outflow without one, rejected airdrop, unpayable event, failed check',
  ],
  [4, 'no answer, or no end in time: the request may still take effect; an audit of an incomplete history'],
  [5, 'paid by an earlier run: nothing was sent'],
  [130, 'interrupted by Ctrl-C (143: by SIGTERM)'],
] as const;

export const NO_ANSWER_EXIT_CODE = 4;

/** The exit code of each error; 1 if it is not listed. */
export const EXIT_CODE_OF: { readonly [Code in CliErrorCode | FlywheelErrorCode]?: number } = {
  ERR_USAGE: 2,
  ERR_FILE: 2,
  ERR_WALLET: 2,
  ERR_INVALID_REQUEST: 2,
  ERR_FLYWHEEL_NO_INSTRUCTIONS: 2,
  ERR_FLYWHEEL_ACTIONS_EMPTY: 2,
  ERR_FLYWHEEL_INVALID_ACTION: 2,
  ERR_FLYWHEEL_INVALID_PROOF_TYPE: 2,
  ERR_FLYWHEEL_PIPELINE_TOO_BIG: 2,
  ERR_BATCH_FAILED: 3,
  ERR_EVENTS_LEFT: 3,
  ERR_PREVIEW_FAILED: 3,
  ERR_AIRDROP_REFUSED: 3,
  ERR_DEMO_FAILED: 3,
  ERR_NOT_PROVEN: 3,
  ERR_UNEXPLAINED_OUTFLOW: 3,
  ERR_HISTORY_INCOMPLETE: NO_ANSWER_EXIT_CODE,
  ERR_ALREADY_PAID: 5,
  ERR_RUN_TOO_EARLY: 2,
  ERR_COLLECTOR_PROJECT: 2,
  ERR_UNHEALTHY: 3,
  ERR_UNREACHABLE: NO_ANSWER_EXIT_CODE,
  ERR_TIMED_OUT: NO_ANSWER_EXIT_CODE,
};

export function exitCodeOf(error: unknown): number {
  if (error instanceof CliError) return error.exitCode ?? EXIT_CODE_OF[error.code] ?? 1;
  return isFlywheelError(error) ? (EXIT_CODE_OF[error.code] ?? 1) : 1;
}

/** The next step after an error of the SDK or the service; null if its own message says enough. */
export function nextStepOf({ code, cause, status }: FlywheelError): string | null {
  // The SDK uses the same codes for a service and for a Solana node.
  if (cause instanceof RpcError) {
    if (code === 'ERR_UNREACHABLE') return 'Start a cluster with npm start, or set SOLANA_RPC_URL.';
    if (code === 'ERR_UNEXPECTED_REPLY') return 'Check that SOLANA_RPC_URL or --rpc-url names a Solana node.';
  }
  // Without a status no service has answered: the message says what a node lacks.
  if (code === 'ERR_UNEXPECTED_REPLY' && status === null) return null;
  return NEXT_STEPS[code] ?? null;
}

/** Places in a request, as the service names them, with what a person types for them. */
const TYPED_AS: { readonly [place: string]: string } = {
  'params.batchId': 'batch-id',
  'params.projectId': '--project',
  'params.keyId': '--key',
  'params.webhookId': '--webhook',
  'params.deliveryId': '--delivery',
  'query.cursor': '--cursor',
  'headers.x-idempotency-key': '--idempotency-key',
  'body.expiresAt': '--expires',
  'body.name': '--name',
  'body.reason': '--reason',
  'body.to': '--to',
  'body.url': '--receiver',
  // Commands have options of different names for them.
  'body.airdropLimit': 'The daily airdrop limit',
  'body.burnLimit': 'The daily burn limit',
};

/** Replaces the places of a request in a sentence of the service by the options that set them. */
export function nameOptions(sentence: string): string {
  return sentence.replaceAll(/\b(?:params|query|headers|body)\.[\w-]+/g, (place) => TYPED_AS[place] ?? place);
}

const CHECK_KEY = 'Check FLYWHEEL_API_KEY, or create a new key with flywheel keys create.';

const NEXT_STEPS: { readonly [Code in FlywheelErrorCode]?: string } = {
  ERR_UNREACHABLE: 'Start one with npm start, or set FLYWHEEL_URL.',
  ERR_TIMED_OUT: 'The work may still be running: check with flywheel status.',
  ERR_UNEXPECTED_REPLY: 'Check that FLYWHEEL_URL points to a Flywheel service of this version.',
  ERR_RUN_TOO_EARLY:
    'Repeat the earlier run until it is executed; after a failure, --rest sends the pipelines that were not executed.',
  ERR_COLLECTOR_PROJECT: 'Check FLYWHEEL_API_KEY, or pass another file as --store.',
  ERR_SIGNING_REFUSED: 'Check the wallet file and the source of the transaction.',
  ERR_BATCH_STILL_EXECUTABLE:
    'Give the wallet SOL for the fee of its cancel vote, and run the command again. On a computer that does not know the multisig, name your vault with --trust.',
  ERR_CHAIN_MISMATCH:
    'Report this to the company, and not through the service. If it has restored the service from a backup, flywheel collect --service-restored goes on.',
  ERR_UNAUTHORIZED: CHECK_KEY,
  ERR_KEY_NOT_FOUND: CHECK_KEY,
  ERR_FLYWHEEL_INVALID_PROOF_TYPE: 'flywheel project proof-types lists and changes the allowed types.',
  ERR_SIGNED_TX_INVALID: 'Sign the proposalApproveTx of this batch with flywheel sign.',
  ERR_FLYWHEEL_DAILY_LIMIT_EXCEEDED: 'flywheel project limits shows and changes the daily limits.',
  ERR_VAULT_UNDERFUNDED: 'flywheel project show lists what is missing and the vault’s address.',
  ERR_PROJECT_NOT_FOUND: 'Check --project and --wallet: a project is visible only to its own wallet.',
  ERR_BATCH_NOT_FOUND: 'Check the id, and that FLYWHEEL_API_KEY belongs to the same project.',
  ERR_MINT_UNSUPPORTED: 'On a local cluster, flywheel localnet create-token creates a supported mint.',
  ERR_REGISTRATION_FAILED:
    'The wallet pays for the registration: on a local cluster, flywheel localnet fund gives it SOL.',
};
