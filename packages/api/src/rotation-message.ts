/** Facts that the new wallet of a project agrees to. */
export interface RotationTerms {
  readonly projectId: string;
  readonly multisig: string;
  /** Wallet that approves now. */
  readonly from: string;
  /** Wallet that will approve. */
  readonly to: string;
}

/**
 * Builds the text that a project's new wallet signs before it replaces the old one, so that a mistyped address cannot
 * take over a project. The text names the project and both wallets, so a signature is good for this rotation only.
 * @returns plain text, lines separated by `\n`; equal terms give equal text
 */
export function rotationMessage({ projectId, multisig, from, to }: RotationTerms): string {
  return [
    'Flywheel: this wallet takes over a project.',
    '',
    'From now on it approves the project’s batches and withdrawals, in place of the wallet that does now.',
    'Signing this costs nothing and moves nothing.',
    '',
    `Project: ${projectId}`,
    `Multisig: ${multisig}`,
    `Wallet now: ${from}`,
    `Wallet then: ${to}`,
  ].join('\n');
}
