/** What a rotation is about, to those whose word it takes. */
export interface RotationTerms {
  readonly projectId: string;
  readonly multisig: string;
  /** The wallet that approves now. */
  readonly from: string;
  /** The one that is to. */
  readonly to: string;
}

/**
 * The text that a project's new wallet signs before it may take the old one's place: nobody hands a project to a slip of
 * the pen. It names everything that it is good for, so it needs no nonce: it says the same however often it is shown.
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
