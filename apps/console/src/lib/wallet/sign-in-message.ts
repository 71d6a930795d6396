import type { SolanaSignInInput } from '@solana/wallet-standard-features';

const SHAPE =
  /^(?<domain>\S+) wants you to sign in with your Solana account:\n(?<address>\S+)\n\n(?<statement>.+)\n\nURI: (?<uri>.+)\nVersion: (?<version>.+)\nNonce: (?<nonce>.+)\nIssued At: (?<issuedAt>.+)\nExpiration Time: (?<expirationTime>.+)$/;

/** Parses a Sign-In With Solana message as the service writes it; answers null for any other text. */
export function parseSignInMessage(message: string): SolanaSignInInput | null {
  return SHAPE.exec(message)?.groups ?? null;
}

/** Writes a Sign-In With Solana message (github.com/phantom/sign-in-with-solana). */
export function writeSignInMessage(parts: SolanaSignInInput): string {
  const { domain, address, statement, uri, version, nonce, issuedAt, expirationTime } = parts;
  return [
    `${domain} wants you to sign in with your Solana account:`,
    address,
    '',
    statement,
    '',
    `URI: ${uri}`,
    `Version: ${version}`,
    `Nonce: ${nonce}`,
    `Issued At: ${issuedAt}`,
    `Expiration Time: ${expirationTime}`,
  ].join('\n');
}
