import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BatchProgress, RegistrationInput, RegistrationTerms, VerifyOptions } from '@flywheel/sdk';
import { createRpcTransport, RpcError } from '@flywheel/solana-rpc';
import { createSolanaRpcFromTransport } from '@solana/kit';
import * as z from 'zod';
import { type Context, displayUrl, serviceUrl, type UrlOption } from './context.ts';
import { CliError, NO_ANSWER_EXIT_CODE } from './errors.ts';
import { stateDirectory, writeWhole } from './run-state.ts';

const MultisigPin = z.object({
  service: z.string(),
  /** Genesis hash. */
  cluster: z.string(),
  wallet: z.string(),
  multisig: z.string(),
  vaultAddress: z.string(),
  mintAddress: z.string(),
  /** Votes for the company. */
  company: z.string(),
  /** Time of the write, ISO 8601. */
  at: z.string(),
});

const ServicePin = z.object({
  service: z.string(),
  cluster: z.string(),
  /** Every address that a registration with the service may name, in the order in which they became known. */
  companies: z.array(z.string()),
  operators: z.array(z.string()),
});

const PinFile = z.object({ multisigs: z.array(MultisigPin), services: z.array(ServicePin) });

/** The multisig of a wallet's project, as this computer knows it. */
export type MultisigPin = z.output<typeof MultisigPin>;

/** The facts that this computer keeps of one service, so that the service cannot replace it later. */
export interface Pins {
  /** The addresses that a registration may name; undefined for the first one. */
  expectedOfRegistration(trusted: readonly string[]): RegistrationInput['expect'];
  /** Keeps a registration that was verified on chain. */
  keepRegistration(terms: RegistrationTerms): void;
  /**
   * Finds the wallet's multisig.
   * @param claimed what the service says about the project; null if it is not known.
   * @returns null if this computer knows none of this wallet, or `trusted` names the vault.
   * @throws CliError `ERR_PIN` if the service shows another vault or mint than this computer knows.
   */
  findMultisig(wallet: string, claimed: ClaimedProject | null, trusted: readonly string[]): MultisigPin | null;
  /** Keeps the multisig of a verified batch. @returns a note about what is new; null if nothing is. */
  keepVerified(wallet: string, event: BatchProgress): string | null;
}

export interface ClaimedProject {
  readonly vaultAddress: string;
  readonly mintAddress: string;
}

export interface TrustOption {
  readonly trust?: readonly string[];
}

/**
 * Opens what this computer knows of a service, in `$XDG_STATE_HOME/flywheel/pins.json`: as SSH keeps the keys of hosts, it
 * keeps whom the wallet shares its multisigs with. Without the file, the next use is a first use again.
 * @param rpcUrl a node of the wallet's holder; it says which cluster this is.
 */
export async function openPins(context: Context, options: UrlOption, rpcUrl: string): Promise<Pins> {
  const url = serviceUrl(context, options);
  // A service with new data on a new local cluster is another service.
  const cluster = await readGenesisHash(rpcUrl);
  const place = { service: new URL(url).origin, cluster };
  const isHere = (pin: typeof place) => pin.service === place.service && pin.cluster === place.cluster;
  const folder = stateDirectory(context);
  const path = join(folder, 'pins.json');
  const { output } = context;
  const write = (file: z.output<typeof PinFile>) => {
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      writeWhole(path, `${JSON.stringify(file, null, 2)}\n`);
    } catch (error) {
      output.note(
        `Note: ${path} cannot be written (${String(error)}). The next command trusts the service on first use again.`,
      );
    }
  };
  const keepMultisig = (pin: Omit<MultisigPin, 'service' | 'cluster' | 'at'>) => {
    const file = readPins(path);
    const others = file.multisigs.filter((it) => it.multisig !== pin.multisig || it.wallet !== pin.wallet);
    const kept = { ...pin, ...place, at: new Date().toISOString() };
    write({ ...file, multisigs: [...others, kept] });
  };
  return {
    expectedOfRegistration(trusted) {
      const known = readPins(path).services.find(isHere);
      if (!known) return undefined;
      return { company: [...known.companies, ...trusted], operator: [...known.operators, ...trusted] };
    },

    keepRegistration({ wallet, multisig, vaultAddress, mint, company, operator }) {
      const file = readPins(path);
      const known = file.services.find(isHere);
      if (!known) output.note(describeFirstRegistration(displayUrl(url), path));
      const add = (list: readonly string[], address: string) => [...new Set([...list, address])];
      const pin = {
        ...place,
        companies: add(known?.companies ?? [], company),
        operators: add(known?.operators ?? [], operator),
      };
      write({ ...file, services: [...file.services.filter((it) => it !== known), pin] });
      keepMultisig({ wallet, multisig, vaultAddress, mintAddress: mint, company });
    },

    findMultisig(wallet, claimed, trusted) {
      const known = readPins(path).multisigs.filter((it) => isHere(it) && it.wallet === wallet);
      if (known.length === 0 || (claimed !== null && trusted.includes(claimed.vaultAddress))) return null;
      if (claimed === null && known.length === 1) return known[0] ?? null;
      const found = known.find((it) => it.vaultAddress === claimed?.vaultAddress);
      if (found && found.mintAddress === claimed?.mintAddress) return found;
      throw new CliError('ERR_PIN', describeMismatch({ host: displayUrl(url), wallet, claimed, known, found }));
    },

    keepVerified(wallet, event) {
      if (event.stage !== 'verified' || !event.verification.isVerified) return null;
      const { multisig, vaultAddress, mintAddress } = event.batch;
      const { company } = event.verification;
      const known = readPins(path).multisigs.find((it) => it.multisig === multisig && it.wallet === wallet);
      if (company === null || known?.company === company) return null;
      keepMultisig({ wallet, multisig, vaultAddress, mintAddress, company });
      return known
        ? `Note: the company’s vote in ${multisig} has moved from ${known.company} to ${company}. Your wallet has approved this on chain: without its vote no member changes.`
        : `Note: first use of the multisig ${multisig} on this computer. It is kept in ${path}, with the company ${company} and the vault ${vaultAddress}.`;
    },
  };
}

/** Adds what this computer knows of the wallet's multisig to what a batch is verified against. */
export function withPin(verify: VerifyOptions, pin: MultisigPin | null): VerifyOptions {
  if (pin === null) return verify;
  // The company is not compared: in a multisig that this computer knows, only a transaction that the wallet has approved can replace it.
  const { multisig, vaultAddress, mintAddress } = pin;
  return { ...verify, vaultAddress, mintAddress, expect: { multisig } };
}

async function readGenesisHash(rpcUrl: string): Promise<string> {
  try {
    return await createSolanaRpcFromTransport(createRpcTransport({ url: rpcUrl }))
      .getGenesisHash()
      .send();
  } catch (cause) {
    if (!(cause instanceof RpcError)) throw cause;
    const message = `The cluster of ${cause.host} is not known: ${cause.message}. Set SOLANA_RPC_URL to a node that answers.`;
    throw new CliError('ERR_CLUSTER', message, { cause, exitCode: NO_ANSWER_EXIT_CODE });
  }
}

/** @throws CliError `ERR_PIN`: to ignore a damaged file would trust whoever answers. */
function readPins(path: string): z.output<typeof PinFile> {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return { multisigs: [], services: [] };
    throw new CliError('ERR_PIN', `Cannot read ${path}, where this computer keeps its multisigs.`, { cause: error });
  }
  const file = PinFile.safeParse(parseJson(text));
  if (file.success) return file.data;
  throw new CliError(
    'ERR_PIN',
    `${path}, where this computer keeps its multisigs, is damaged. Restore it, or delete it to trust the service on first use again.`,
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function describeFirstRegistration(host: string, path: string): string {
  return `Note: first registration with ${host} on this computer. Its company and operator are kept in ${path}; a later registration that names others is refused, unless --trust names them.`;
}

interface PinMismatch {
  readonly host: string;
  readonly wallet: string;
  readonly claimed: ClaimedProject | null;
  readonly known: readonly MultisigPin[];
  readonly found: MultisigPin | undefined;
}

function describeMismatch({ host, wallet, claimed, known, found }: PinMismatch): string {
  if (claimed === null) {
    return `This computer knows ${known.length} multisigs of the wallet ${wallet}, and ${host} does not say which one it is about: it has no sign-in.`;
  }
  if (found) {
    return `${host} shows the mint ${claimed.mintAddress} for the vault ${claimed.vaultAddress}; this computer knows ${found.mintAddress}. Report this to the company, and not through the service.`;
  }
  const vaults = known.map((it) => it.vaultAddress).join(', ');
  return `${host} shows the vault ${claimed.vaultAddress}; this computer knows ${vaults} for the wallet ${wallet}. If you have created that project elsewhere, add --trust ${claimed.vaultAddress}.`;
}
