import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAddress } from '@flywheel/protocol';
import { VaultSigner } from '@solana/keychain-vault';
import {
  type Address,
  getPublicKeyFromAddress,
  type MessagePartialSigner,
  type ReadonlyUint8Array,
  type SignableMessage,
  type SignatureDictionary,
  type Transaction,
  type TransactionPartialSigner,
  verifySignature,
} from '@solana/kit';
import { answerWithin } from '../model/clock.ts';

/** Signs transactions, and texts about the key itself. */
export type KeySigner = TransactionPartialSigner & MessagePartialSigner;

/** True if a signer's setting names a key management service, not a file. */
export function isKmsUri(source: string): boolean {
  return source.startsWith('kms://');
}

/**
 * Opens a signer whose key never leaves its key management service (`@solana/keychain-*`):
 *
 * - `kms://vault/<key>?address=<base58>&url=https://vault:8200&token-file=/run/secrets/vault-token`: HashiCorp Vault's
 *   transit engine, a key of type ed25519. The token is read for each signature, so that it may be renewed.
 * - `kms://aws/<key id or ARN>?address=<base58>&region=eu-central-1`: AWS KMS, a key of spec ECC_NIST_EDWARDS25519, with
 *   the credentials that AWS' own chain finds. It needs the package `@solana/keychain-aws-kms`.
 *
 * Every signature is verified before it is used, so that a key that does not match the address is found here, not on
 * chain.
 * @throws Error that names the setting and what is wrong with it, never a token.
 */
export async function openKmsSigner(uri: string): Promise<KeySigner> {
  const settings = parseKmsUri(uri);
  const signer = await inTime(settings, openRemoteSigner(settings));
  const publicKey = await getPublicKeyFromAddress(settings.address);
  return {
    address: settings.address,
    async signTransactions(transactions, config) {
      const signed = await inTime(settings, signer.transactions(transactions, config?.abortSignal));
      await Promise.all(
        signed.map((signatures, i) => requireOwn(settings, publicKey, signatures, transactions[i]?.messageBytes)),
      );
      return signed;
    },
    async signMessages(messages, config) {
      const signed = await inTime(settings, signer.messages(messages, config?.abortSignal));
      await Promise.all(
        signed.map((signatures, i) => requireOwn(settings, publicKey, signatures, messages[i]?.content)),
      );
      return signed;
    },
  };
}

/** Reads only the address of such a setting, for processes that never sign. @throws Error like `openKmsSigner`. */
export function kmsAddress(uri: string): Address {
  return parseKmsUri(uri).address;
}

interface KmsSettings {
  /** Name in messages, without parameters. */
  readonly name: string;
  readonly service: 'vault' | 'aws';
  readonly key: string;
  readonly address: Address;
  readonly parameters: URLSearchParams;
}

function parseKmsUri(uri: string): KmsSettings {
  const [name = ''] = uri.split('?', 1);
  const invalid = (problem: string) => new Error(`Signer ${name}: ${problem}`);
  if (!URL.canParse(uri)) throw invalid('it is no URI.');
  const { host: service, pathname, searchParams: parameters } = new URL(uri);
  const key = decodeURIComponent(pathname.slice(1));
  const address = parameters.get('address') ?? '';
  if (service !== 'vault' && service !== 'aws')
    throw invalid(`it names ${service || 'nothing'}; it may name vault or aws.`);
  if (key === '') throw invalid('it names no key.');
  if (!isAddress(address)) throw invalid('its address=… must be the key’s Solana address, base58.');
  const allowed = new Set(['address', ...PARAMETERS[service]]);
  const unknown = [...parameters.keys()].find((parameter) => !allowed.has(parameter));
  if (unknown !== undefined) throw invalid(`${unknown}=… is unknown; the parameters are ${[...allowed].join(', ')}.`);
  return { name, service, key, address, parameters };
}

const PARAMETERS = { vault: ['url', 'token-file'], aws: ['region'] } as const;

interface RemoteSigner {
  readonly transactions: SignRemotely<Transaction>;
  readonly messages: SignRemotely<SignableMessage>;
}

type SignRemotely<Signed> = (
  what: readonly Signed[],
  abortSignal: AbortSignal | undefined,
) => Promise<readonly SignatureDictionary[]>;

async function openRemoteSigner(settings: KmsSettings): Promise<RemoteSigner> {
  return settings.service === 'vault' ? openVaultSigner(settings) : openAwsSigner(settings);
}

async function openVaultSigner({
  name,
  key: keyName,
  address: publicKey,
  parameters,
}: KmsSettings): Promise<RemoteSigner> {
  const vaultAddr = required(name, parameters, 'url');
  const tokenFile = required(name, parameters, 'token-file');
  const open = async () =>
    new VaultSigner({ vaultAddr, vaultToken: await readToken(name, tokenFile), keyName, publicKey });
  const isAvailable = await (await open()).isAvailable();
  if (!isAvailable)
    throw new Error(`Signer ${name}: ${vaultAddr} has no such key of type ed25519, or denies access to it.`);
  return {
    transactions: async (transactions, abortSignal) => {
      abortSignal?.throwIfAborted();
      // The library's type requires transactions with checked size and lifetime; it signs their bytes.
      return (await open()).signTransactions(transactions as Parameters<VaultSigner['signTransactions']>[0]);
    },
    messages: async (messages, abortSignal) => {
      abortSignal?.throwIfAborted();
      return (await open()).signMessages(messages);
    },
  };
}

async function openAwsSigner({ name, key: keyId, address: publicKey, parameters }: KmsSettings): Promise<RemoteSigner> {
  const { AwsKmsSigner } = await importAws(name);
  const region = parameters.get('region');
  const signer = new AwsKmsSigner({ keyId, publicKey, ...(region !== null && { region }) });
  if (!(await signer.isAvailable())) {
    throw new Error(`Signer ${name}: AWS KMS has no such enabled key of spec ECC_NIST_EDWARDS25519, or denies it.`);
  }
  return {
    transactions: (transactions) => signer.signTransactions(transactions),
    messages: (messages) => signer.signMessages(messages),
  };
}

/** The part of that package that this file uses. */
interface AwsPackage {
  readonly AwsKmsSigner: new (config: {
    readonly keyId: string;
    readonly publicKey: string;
    readonly region?: string;
  }) => {
    isAvailable(): Promise<boolean>;
    signTransactions(transactions: readonly Transaction[]): Promise<readonly SignatureDictionary[]>;
    signMessages(messages: readonly SignableMessage[]): Promise<readonly SignatureDictionary[]>;
  };
}

async function importAws(name: string): Promise<AwsPackage> {
  try {
    // @ts-expect-error: an optional peer dependency, installed by users of AWS
    return await import('@solana/keychain-aws-kms');
  } catch (cause) {
    throw new Error(`Signer ${name}: run npm install @solana/keychain-aws-kms@0.2.1 first; the package is optional.`, {
      cause,
    });
  }
}

function required(name: string, parameters: URLSearchParams, parameter: string): string {
  const value = parameters.get(parameter);
  if (value !== null && value !== '') return value;
  throw new Error(`Signer ${name}: ${parameter}=… is missing.`);
}

async function readToken(name: string, path: string): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (cause) {
    throw new Error(`Signer ${name}: its token file ${path} cannot be read.`, { cause });
  }
}

/**
 * A signature takes milliseconds. Without a limit of its own, a service that does not answer would hold the start of a
 * process, or a job and its working place, for five minutes, the timeout of `fetch`. The blockhash of the job’s
 * transaction is valid for about one.
 */
const MAX_ANSWER_SECONDS = 10;

/** @throws Error if the answer does not come in time. */
async function inTime<Answer>({ name }: KmsSettings, answer: Promise<Answer>): Promise<Answer> {
  const clock = { sleep: (ms: number, signal?: AbortSignal) => sleep(ms, undefined, { signal }) };
  const given = await answerWithin(clock, MAX_ANSWER_SECONDS * 1_000, answer);
  if (given === null) throw new Error(`Signer ${name} has not answered within ${MAX_ANSWER_SECONDS} s.`);
  return given;
}

async function requireOwn(
  { name, address }: KmsSettings,
  publicKey: Awaited<ReturnType<typeof getPublicKeyFromAddress>>,
  signatures: SignatureDictionary,
  bytes: ReadonlyUint8Array | undefined,
): Promise<void> {
  const signature = signatures[address];
  if (signature && bytes && (await verifySignature(publicKey, signature, bytes))) return;
  throw new Error(
    `Signer ${name} returned a signature that is not valid for ${address}: it has another key, or the key was rotated.`,
  );
}
