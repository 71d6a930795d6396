import type { RegisteredProject, RegistrationRequest } from '@flywheel/api';
import type { Localnet } from '@flywheel/localnet';
import {
  type Address,
  createSignableMessage,
  generateKeyPairSigner,
  getBase58Decoder,
  getBase64EncodedWireTransaction,
  type KeyPairSigner,
  partiallySignTransaction,
} from '@solana/kit';
import { type Answer, send } from './client.ts';
import { decodeTransaction } from './values.ts';

export interface TestProject extends RegisteredProject {
  readonly wallet: KeyPairSigner;
  readonly mint: Address;
  /** Session of the wallet, as a Cookie header. */
  readonly cookie: string;
}

export interface ProjectOptions extends Partial<Omit<RegistrationRequest, 'mint'>> {
  /** An existing mint, of the local cluster's bank unless the vault holds no tokens; a new one by default. */
  readonly mint?: Address;
  /** A wallet whose key bytes the test has; a new one by default. */
  readonly wallet?: KeyPairSigner;
  readonly decimals?: number;
  readonly token2022?: boolean;
  /** Base units that the vault receives; 0 leaves it empty, without SOL. */
  readonly vaultBaseUnits?: bigint;
  readonly vaultLamports?: bigint;
}

/** A world in which a project can be registered and funded. */
export interface ProjectWorld {
  readonly url: string;
  readonly localnet: Pick<Localnet, 'bank'>;
}

const WALLET_LAMPORTS = 1_000_000_000n;

/** Registers a project over HTTP, as a new user would, and funds its vault. */
export async function createProject(world: ProjectWorld, options: ProjectOptions = {}): Promise<TestProject> {
  const { bank } = world.localnet;
  const {
    decimals = 6,
    token2022 = false,
    vaultBaseUnits = 10n ** 15n,
    vaultLamports = 10n ** 10n,
    mint = await bank.createMint(decimals, token2022),
    wallet = await generateKeyPairSigner(),
    ...request
  } = options;
  await bank.airdrop(wallet.address, WALLET_LAMPORTS);
  const cookie = await signIn(world.url, wallet);
  const project = await register(world.url, wallet, cookie, {
    mint,
    burnLimit: '1000000',
    airdropLimit: '1000000',
    scopes: ['burn', 'airdrop'],
    proofTypes: [],
    approvalMode: 'automatic',
    ...request,
  });
  const vault = project.vaultAddress as Address;
  if (vaultBaseUnits > 0n) await bank.mintTo(mint, vault, vaultBaseUnits);
  if (vaultLamports > 0n) await bank.airdrop(vault, vaultLamports);
  return { ...project, wallet, mint, cookie };
}

/** Signs a wallet in, with the cookies that a browser has already, and other headers. @returns its session cookie. */
export async function signIn(
  url: string,
  wallet: KeyPairSigner,
  cookie?: string,
  others: Readonly<Record<string, string>> = {},
): Promise<string> {
  const headers: Record<string, string> = cookie === undefined ? others : { cookie, ...others };
  const asked = { headers, body: { wallet: wallet.address } };
  const { message } = requireOk(await send(url, 'POST', '/console/api/sign-in/challenge', asked));
  const [signatures] = await wallet.signMessages([createSignableMessage(message)]);
  const signature = signatures?.[wallet.address];
  if (!signature) throw new Error('The wallet gave no signature.');
  const body = { wallet: wallet.address, message, signature: getBase58Decoder().decode(signature) };
  const signedIn = await send(url, 'POST', '/console/api/sign-in', { headers, body });
  requireOk(signedIn);
  return signedIn.headers
    .getSetCookie()
    .map((each) => each.split(';', 1)[0])
    .join('; ');
}

/** Adds a wallet's signature to a transaction in base64. */
export async function signWith(wallet: Pick<KeyPairSigner, 'keyPair'>, wire: string): Promise<string> {
  const transaction = decodeTransaction(wire);
  return getBase64EncodedWireTransaction(await partiallySignTransaction([wallet.keyPair], transaction));
}

async function register(
  url: string,
  wallet: KeyPairSigner,
  cookie: string,
  request: RegistrationRequest,
): Promise<RegisteredProject> {
  const headers = { cookie };
  const begun = await send(url, 'POST', '/console/api/registrations', { headers, body: request });
  const { registrationId, transaction } = requireOk(begun);
  const body = { signedTransaction: await signWith(wallet, transaction) };
  return requireOk(await send(url, 'POST', `/console/api/registrations/${registrationId}/confirm`, { headers, body }));
}

export function requireOk({ status, body }: Answer): Answer['body'] {
  if (status !== 200) throw new Error(`Answered ${status}: ${JSON.stringify(body)}`);
  return body;
}
