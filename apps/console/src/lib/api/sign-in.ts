import { headersFor, IDENTITY_OPERATIONS, isSignInMessageFor, parseSignInMessage, type Session } from '@flywheel/api';
import { encodeBase58 } from '@flywheel/protocol';

import type { WalletAccount } from '@wallet-standard/base';
import { connect, type SolanaWallet } from '../wallet/wallets.ts';
import { call } from './call.ts';

/** One shard of several. */
export interface SignInPlace {
  readonly shard: number;
  /** The account that must sign in; undefined if there is none. */
  readonly address: string | undefined;
}

export interface SignInRequest {
  readonly wallet: SolanaWallet;
  /** Drops the answers of the wallet that come later: nothing is sent then. */
  readonly signal: AbortSignal;
}

/**
 * Signs in with a wallet: signs the service’s challenge through `solana:signIn` if the wallet supports it, or else as a
 * plain message.
 * @param at the shard to sign in to; the reverse proxy chooses by default.
 * @throws Error when the wallet has no account or another one, or the person declines; FlywheelError
 * @throws the signal's reason if it is aborted.
 */
export async function signIn({ wallet, signal }: SignInRequest, at?: SignInPlace): Promise<Session> {
  const [account] = await connect(wallet);
  if (!account) throw new Error(`${wallet.name} has no account. Create or unlock one, then retry.`);
  if (at !== undefined && account.address !== at.address) {
    throw new Error(`Choose the account ${at.address}, with which you are signed in.`);
  }
  const headers = at === undefined ? {} : headersFor(at.shard);
  const asked = { headers, body: { wallet: account.address } };
  const { message } = await call(IDENTITY_OPERATIONS.createSignInChallenge, asked, { signal });
  requireSignInMessage(message, account.address);
  const signature = (await signByFeature(wallet, account, message)) ?? (await signAsText(wallet, account, message));
  const signed = { wallet: account.address, message, signature: encodeBase58(signature) };
  return call(IDENTITY_OPERATIONS.signIn, { headers, body: signed }, { signal });
}

/** Rejects every text but the wallet's sign-in message for this host: another host's would sign the wallet in there. */
function requireSignInMessage(message: string, wallet: string): void {
  if (isSignInMessageFor({ host: location.host, wallet }, message)) return;
  throw new Error(
    `Not signed: the sign-in message is not for ${location.host}. It starts with: ${message.slice(0, 80)}`,
  );
}

/** Returns the signature; null if the wallet lacks the feature, or signs a text that differs from the service’s. */
async function signByFeature(
  wallet: SolanaWallet,
  account: WalletAccount,
  message: string,
): Promise<Uint8Array | null> {
  const feature = wallet.features['solana:signIn'];
  const parts = parseSignInMessage(message);
  if (!feature || !parts) return null;
  const [output] = await feature.signIn(parts);
  const isSame = output && new TextDecoder().decode(output.signedMessage) === message;
  return isSame && output.account.address === account.address ? output.signature : null;
}

async function signAsText(wallet: SolanaWallet, account: WalletAccount, message: string): Promise<Uint8Array> {
  const feature = wallet.features['solana:signMessage'];
  const [output] = (await feature?.signMessage({ account, message: new TextEncoder().encode(message) })) ?? [];
  if (!output) throw new Error(`${wallet.name} returned no signature. You are not signed in.`);
  return output.signature;
}
