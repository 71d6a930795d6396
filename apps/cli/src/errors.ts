/** Faults found on this side of the wire. */
export type CliErrorCode =
  | 'ERR_USAGE'
  | 'ERR_CONFIGURATION'
  | 'ERR_FILE'
  | 'ERR_WALLET'
  | 'ERR_API_KEY_MISSING'
  | 'ERR_CLUSTER'
  | 'ERR_BATCH_FAILED'
  | 'ERR_AIRDROP_REFUSED'
  | 'ERR_DEMO_FAILED'
  | 'ERR_NOT_PROVEN'
  | 'ERR_UNHEALTHY'
  | 'ERR_INTERRUPTED';

/** A failure with a code; its message names the next step. */
export class CliError extends Error {
  readonly code: CliErrorCode;
  /** null: the one of its code. */
  readonly exitCode: number | null;

  constructor(code: CliErrorCode, message: string, options: ErrorOptions & { readonly exitCode?: number } = {}) {
    super(message, options);
    this.name = 'CliError';
    this.code = code;
    this.exitCode = options.exitCode ?? null;
  }
}
