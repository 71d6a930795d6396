import { IDENTITY_OPERATIONS, type Session } from '@flywheel/api';
import { getBase58Decoder } from '@solana/kit';
import type { WalletAccount } from '@wallet-standard/base';
import { call } from './api/call.ts';
import { parseSignInMessage } from './wallet/sign-in-message.ts';
import { connect, type SolanaWallet } from './wallet/wallets.ts';

/**
 * Signs in with a wallet: the service’s own message, by `solana:signIn` where the wallet shows it in its own way,
 * otherwise as a plain message.
 * @throws Error when the wallet refuses or has no account; FlywheelError
 */
export async function signIn(wallet: SolanaWallet): Promise<Session> {
  const [account] = await connect(wallet);
  if (!account) throw new Error(`${wallet.name} offers no account. Create or unlock one, and try again.`);
  const { message } = await call(IDENTITY_OPERATIONS.createSignInChallenge, { body: { wallet: account.address } });
  requireOwnHost(message);
  const signature = (await signByFeature(wallet, account, message)) ?? (await signAsText(wallet, account, message));
  return call(IDENTITY_OPERATIONS.signIn, {
    body: { wallet: account.address, message, signature: getBase58Decoder().decode(signature) },
  });
}

/** A message that names another host would sign the wallet in there. */
function requireOwnHost(message: string): void {
  if (message.startsWith(`${location.host} wants you to sign in with your Solana account:\n`)) return;
  throw new Error(`Not signed: the sign-in message is not for ${location.host}. It begins: ${message.slice(0, 80)}`);
}

/** null when the wallet has no such feature, or builds another text of the same parts than the service does. */
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
  if (!output) throw new Error(`${wallet.name} gave no signature. Nothing was signed in.`);
  return output.signature;
}
