import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Batch } from '@flywheel/api';
import { tryParseJson } from '@flywheel/protocol';
import {
  type ClaimedProject,
  confirmPin,
  expectedOfMultisig,
  expectedOfRegistration,
  findPin,
  type MultisigPin,
  NO_PINS,
  type PinSearch,
  type Pins,
  parsePins,
  pinRegistration,
  pinSigned,
  pinVerified,
  type RegistrationInput,
  type RegistrationRefusal,
  type RegistrationTerms,
  type VerificationResult,
  type VerifyOptions,
  verifyRegistered,
} from '@flywheel/sdk';
import { createRpcTransport, RpcError } from '@flywheel/solana-rpc';
import { createSolanaRpcFromTransport } from '@solana/kit';
import { type Context, displayUrl, serviceUrl, type UrlOption } from './context.ts';
import { CliError, NO_ANSWER_EXIT_CODE } from './errors.ts';
import { OWNER_ONLY, writeWhole } from './files.ts';
import { stateDirectory } from './run-state.ts';

/** The facts that this computer keeps of one service, so that the service cannot replace them later. */
export interface PinFile {
  /** The addresses that a registration may name; undefined for the first one. */
  expectedOfRegistration(trusted: readonly string[]): RegistrationInput['expect'];
  /** @throws CliError `ERR_PIN` if the registration is refused only because this computer does not know its keys. */
  requireKnownKeys(refusal: RegistrationRefusal): void;
  /** Keeps a registration that the wallet has signed, until `keepRegistration` or `findMultisig` has compared it with the chain. */
  keepSigned(terms: RegistrationTerms): void;
  /** Keeps a registration that was verified on chain. @returns notes about what is new. */
  keepRegistration(terms: RegistrationTerms): readonly string[];
  /**
   * Finds the wallet's multisig. A registration that was not compared with the chain yet is compared now.
   * @param claimed what the service says about the project; null if it is not known.
   * @returns null if this computer knows none of this wallet, or not this vault, and `trusted` names it.
   * @throws CliError `ERR_PIN` if the service shows another vault or mint than this computer knows.
   * @throws FlywheelError `ERR_CHAIN_MISMATCH` if the chain holds another multisig than the wallet has signed.
   */
  findMultisig(wallet: string, claimed: ClaimedProject | null, trusted: readonly string[]): Promise<MultisigPin | null>;
  /** Keeps the multisig of a verified batch. @returns notes about what is new. */
  keepVerified(wallet: string, verified: VerifiedBatch): readonly string[];
}

export interface VerifiedBatch {
  readonly batch: Pick<Batch, 'multisig' | 'vaultAddress' | 'mintAddress'>;
  readonly verification: VerificationResult;
}

export interface TrustOption {
  readonly trust?: readonly string[];
}

/**
 * Opens what this computer knows of a service, in `$XDG_STATE_HOME/flywheel/pins.json`: as SSH keeps the keys of hosts, it
 * keeps whom the wallet shares its multisigs with. Without the file, the next use is a first use again.
 * @param rpcUrl a node of the wallet's holder; it says which cluster this is.
 */
export async function openPins(context: Context, options: UrlOption, rpcUrl: string): Promise<PinFile> {
  const url = serviceUrl(context, options);
  // A service with new data on a new local cluster is another service.
  const place = { service: new URL(url).origin, cluster: await readGenesisHash(rpcUrl) };
  const folder = stateDirectory(context);
  const path = join(folder, 'pins.json');
  const { output } = context;
  const write = (pins: Pins) => {
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      writeWhole(path, `${JSON.stringify(pins, null, 2)}\n`, OWNER_ONLY);
    } catch (error) {
      output.note(
        `Note: ${path} cannot be written (${String(error)}). The next command trusts the service on first use again.`,
      );
    }
  };
  return {
    expectedOfRegistration: (trusted) => expectedOfRegistration(readPins(path), place, trusted),

    requireKnownKeys({ unknownKeys, issues }) {
      if (unknownKeys.length === 0) return;
      const options = unknownKeys.map(({ address }) => `--trust ${address}`).join(' ');
      throw new CliError(
        'ERR_PIN',
        `Not signed: ${issues.join(' ')} Ask the company for its addresses, not through ${displayUrl(url)}. If they are these, add ${options}.`,
      );
    },

    keepSigned(terms) {
      write(pinSigned(readPins(path), place, terms, new Date()));
    },

    keepRegistration(terms) {
      const pins = readPins(path);
      const isFirst = expectedOfRegistration(pins, place) === undefined;
      write(pinRegistration(pins, place, terms, new Date()));
      return isFirst ? [describeFirstRegistration(displayUrl(url), path)] : describeSuccessions(terms);
    },

    async findMultisig(wallet, claimed, trusted) {
      const search = findPin(readPins(path), place, { wallet, claimed });
      if (search.pin?.signed) {
        await verifyRegistered(rpcUrl, search.pin.signed, search.pin);
        write(confirmPin(readPins(path), search.pin));
      }
      if (search.pin !== undefined) return search.pin;
      if (claimed !== null && search.found === null && trusted.includes(claimed.vaultAddress)) return null;
      throw new CliError('ERR_PIN', describeMismatch(displayUrl(url), wallet, claimed, search));
    },

    keepVerified(wallet, { verification, batch }) {
      const kept = pinVerified(readPins(path), place, { ...batch, wallet, verification }, new Date());
      if (kept === null) return [];
      write(kept.pins);
      if (kept.before !== null) return describeChanges(kept.before, kept.pin);
      const { hasChanged } = verification.onChain.multisig;
      return [describeFirstUse(kept.pin, path), ...(hasChanged ? [describePast(kept.pin)] : [])];
    },
  };
}

/** Adds what this computer knows of the wallet's multisig to what a batch is verified against. */
export function withPin(verify: VerifyOptions, pin: MultisigPin | null): VerifyOptions {
  if (pin === null) return verify;
  const { vaultAddress, mintAddress } = pin;
  return { ...verify, vaultAddress, mintAddress, expect: expectedOfMultisig(pin) };
}

/** Reads the hash that identifies a node's cluster. @throws CliError `ERR_CLUSTER` if the node does not answer it. */
export async function readGenesisHash(rpcUrl: string): Promise<string> {
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
function readPins(path: string): Pins {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return NO_PINS;
    throw new CliError('ERR_PIN', `Cannot read ${path}, where this computer keeps its multisigs.`, { cause: error });
  }
  const pins = parsePins(tryParseJson(text));
  if (pins !== null) return pins;
  throw new CliError(
    'ERR_PIN',
    `${path}, where this computer keeps its multisigs, is damaged. Restore it, or delete it to trust the service on first use again.`,
  );
}

function describeFirstRegistration(host: string, path: string): string {
  return `Note: first registration with ${host} on this computer. Its company and operator are kept in ${path}; a later registration that names others is refused, unless --trust names them.`;
}

/** The old key has signed each of these changes, and can name no further key from now on. */
function describeSuccessions({ company, operator, predecessors }: RegistrationTerms): string[] {
  return [
    ...predecessors.company.map((from) => `Note: the company’s key ${from} has signed that ${company} succeeds it.`),
    ...predecessors.operator.map((from) => `Note: the operator’s key ${from} has signed that ${operator} succeeds it.`),
  ];
}

function describeFirstUse({ multisig, company, vaultAddress, mintAddress }: MultisigPin, path: string): string {
  return `Note: first use of the multisig ${multisig} on this computer. It is kept in ${path}, with the company ${company}, the vault ${vaultAddress} and the mint ${mintAddress}.`;
}

/** Squads lets a batch that was approved before a change of the members be executed after it. */
function describePast({ multisig }: MultisigPin): string {
  return `Note: the members or settings of ${multisig} have changed before. A batch that earlier members have approved can still be executed. If you do not know of the change, read the history of the multisig in an explorer before you deposit.`;
}

function describeChanges(before: MultisigPin, { multisig, company, operator }: MultisigPin): string[] {
  const approved = 'Your wallet has approved this on chain: without its vote no member changes.';
  return [
    ...(before.company === company
      ? []
      : [`Note: the company’s vote in ${multisig} has moved from ${before.company} to ${company}. ${approved}`]),
    ...(before.operator === undefined || before.operator === operator
      ? []
      : [`Note: the operator of ${multisig} has changed from ${before.operator} to ${operator}. ${approved}`]),
  ];
}

function describeMismatch(
  host: string,
  wallet: string,
  claimed: ClaimedProject | null,
  { known, found }: Exclude<PinSearch, { readonly pin: MultisigPin | null }>,
): string {
  if (claimed === null) {
    return `This computer knows ${known.length} multisigs of the wallet ${wallet}, and ${host} does not say which one it is about: it has no sign-in.`;
  }
  if (found) {
    return `${host} shows the mint ${claimed.mintAddress} for the vault ${claimed.vaultAddress}; this computer knows ${found.mintAddress}. Report this to the company, and not through the service.`;
  }
  const vaults = known.map((it) => it.vaultAddress).join(', ');
  return `${host} shows the vault ${claimed.vaultAddress}; this computer knows ${vaults} for the wallet ${wallet}. If you have created that project elsewhere, add --trust ${claimed.vaultAddress}.`;
}
