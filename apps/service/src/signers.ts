import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Localnet } from '@flywheel/localnet';
import type { Address, TransactionPartialSigner } from '@solana/kit';
import { type Config, ConfigError } from './config.ts';
import { createSignerFile, type KeySigner, loadSigner, readSignerAddress } from './solana/signer.ts';
import { fileExists } from './store/file-exists.ts';

export interface Signers {
  readonly operator: Address;
  readonly company: Address;
  /** The recovery key of new projects, which no process of the service needs to hold; null if they have none. */
  readonly recovery: Address | null;
  /** null in processes that do not sign. */
  readonly keys: SignerKeys | null;
}

export interface SignerKeys {
  readonly operator: TransactionPartialSigner;
  readonly company: TransactionPartialSigner;
  /** The previous operator, needed until all projects and nonces are moved to the present one; null if there is none. */
  readonly previousOperator: KeySigner | null;
  /** The previous company signer, needed until all projects are rotated to the present one; null if there is none. */
  readonly previousCompany: KeySigner | null;
}

/** Enough for hundreds of thousands of batches on the local cluster. */
const LOCAL_OPERATOR_LAMPORTS = 1_000_000_000_000n;

/**
 * Opens the company's two signers: the operator, which pays and executes, and the company approver, which votes. On the
 * local cluster, missing keys are created and the operator is funded.
 */
export async function openSigners(
  config: Config,
  { localnet, holdsKeys }: { readonly localnet: Localnet | null; readonly holdsKeys: boolean },
): Promise<Signers> {
  const [operatorPath, companyPath] = await Promise.all([
    signerPath(config, 'operator', localnet),
    signerPath(config, 'company', localnet),
  ]);
  const [operator, company] = await Promise.all([
    config.operatorAddress ?? readSignerAddress(requirePath(operatorPath, 'OPERATOR')),
    config.companyAddress ?? readSignerAddress(requirePath(companyPath, 'COMPANY')),
  ]);
  const addresses = { operator, company, recovery: config.recoveryAddress };
  requireApart({ ...addresses, previousOperator: null, previousCompany: null });
  if (!holdsKeys) return { ...addresses, keys: null };
  const { companySignerPrevious, operatorSignerPrevious } = config;
  const keys = {
    operator: await loadSigner(requirePath(operatorPath, 'OPERATOR')),
    company: await loadSigner(requirePath(companyPath, 'COMPANY')),
    previousOperator: operatorSignerPrevious === null ? null : await loadSigner(operatorSignerPrevious),
    previousCompany: companySignerPrevious === null ? null : await loadSigner(companySignerPrevious),
  };
  requireSame('OPERATOR', keys.operator.address, operator);
  requireSame('COMPANY', keys.company.address, company);
  const { previousOperator, previousCompany } = keys;
  requireApart({
    ...addresses,
    previousOperator: previousOperator?.address ?? null,
    previousCompany: previousCompany?.address ?? null,
  });
  return { ...addresses, keys };
}

async function signerPath(
  config: Config,
  who: 'operator' | 'company',
  localnet: Localnet | null,
): Promise<string | null> {
  const given = who === 'operator' ? config.operatorSigner : config.companySigner;
  if (given !== null || localnet === null) return given;
  const directory = join(config.dataDirectory, 'keys');
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const path = join(directory, `${who}.json`);
  if (await fileExists(path)) return path;
  const address = await createSignerFile(path);
  if (who === 'operator') await localnet.bank.airdrop(address, LOCAL_OPERATOR_LAMPORTS);
  return path;
}

function requirePath(path: string | null, who: 'OPERATOR' | 'COMPANY'): string {
  if (path !== null) return path;
  throw new ConfigError([`${who}_SIGNER is not set; this process signs, so it must name a keypair file.`]);
}

/** Addresses of the keys of a service; null for one that is not set. */
interface KeyAddresses {
  readonly operator: Address;
  readonly company: Address;
  readonly recovery: Address | null;
  readonly previousOperator: Address | null;
  readonly previousCompany: Address | null;
}

/**
 * Finds out if keys that must differ are one: a key that proposes and votes could do more than each of the two.
 * @returns a sentence; null if they differ.
 */
export function findKeyConflict(keys: KeyAddresses): string | null {
  const { operator, company, recovery, previousOperator, previousCompany } = keys;
  if (operator === company) {
    return `Operator and company approver are the same key, ${operator}; they must be different.`;
  }
  if (recovery === operator || recovery === company) {
    return `RECOVERY_ADDRESS is ${recovery}, the operator or the company approver; use a third key.`;
  }
  // Its nonces would be moved to itself, again and again.
  if (previousOperator === operator) {
    return `OPERATOR_SIGNER_PREVIOUS holds ${operator}, as OPERATOR_SIGNER does; remove it.`;
  }
  const voters = [company, previousCompany];
  const shared = [operator, previousOperator].find((key) => key !== null && voters.includes(key));
  return shared === undefined
    ? null
    : `${shared} is a key of the operator and of the company approver; they must be different.`;
}

function requireApart(keys: KeyAddresses): void {
  const conflict = findKeyConflict(keys);
  if (conflict !== null) throw new ConfigError([conflict]);
}

function requireSame(who: 'OPERATOR' | 'COMPANY', key: Address, configured: Address): void {
  if (key === configured) return;
  throw new ConfigError([`${who}_SIGNER holds ${key}, but ${who}_ADDRESS is ${configured}.`]);
}
