/** Facts of a Sign-In With Solana message (github.com/phantom/sign-in-with-solana). The service states all of them. */
export interface SignInMessage {
  /** Host and port of the site. */
  readonly domain?: string;
  readonly address?: string;
  readonly statement?: string;
  readonly uri?: string;
  readonly version?: string;
  readonly nonce?: string;
  readonly issuedAt?: string;
  readonly expirationTime?: string;
}

const TITLE = ' wants you to sign in with your Solana account:\n';

/** Writes the text that a wallet signs to sign in. */
export function writeSignInMessage(message: SignInMessage): string {
  const { domain, address, statement, uri, version, nonce, issuedAt, expirationTime } = message;
  return `${domain}${TITLE}${[
    address,
    '',
    statement,
    '',
    `URI: ${uri}`,
    `Version: ${version}`,
    `Nonce: ${nonce}`,
    `Issued At: ${issuedAt}`,
    `Expiration Time: ${expirationTime}`,
  ].join('\n')}`;
}

const SHAPE = new RegExp(
  `^(?<domain>\\S+)${TITLE}(?<address>\\S+)\n\n(?<statement>.+)\n\nURI: (?<uri>.+)\nVersion: (?<version>.+)\n` +
    'Nonce: (?<nonce>.+)\nIssued At: (?<issuedAt>.+)\nExpiration Time: (?<expirationTime>.+)$',
);

/** Parses a message as `writeSignInMessage` writes it; null for any other text. */
export function parseSignInMessage(text: string): SignInMessage | null {
  return SHAPE.exec(text)?.groups ?? null;
}

/** The one statement to which a wallet agrees when it signs in. */
export const SIGN_IN_STATEMENT = 'Sign in to Flywheel. This costs nothing and moves nothing.';

/**
 * Checks before a wallet signs that a text is its sign-in message for a host, and nothing else. A wallet that signs the
 * message of another host gives its session there to whoever presented the message.
 */
export function isSignInMessageFor(
  { host, wallet }: { readonly host: string; readonly wallet: string },
  text: string,
): boolean {
  const { domain, address, statement, uri = '' } = parseSignInMessage(text) ?? {};
  const isOwnUri = URL.canParse(uri) && new URL(uri).host === host;
  return domain === host && address === wallet && statement === SIGN_IN_STATEMENT && isOwnUri;
}

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
