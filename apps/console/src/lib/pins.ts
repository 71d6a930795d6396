import { tryParseJson } from '@flywheel/protocol';
import {
  type ClaimedProject,
  confirmPin,
  expectedOfRegistration,
  findPin,
  type MultisigPin,
  NO_PINS,
  type PinPlace,
  type PinSearch,
  type Pins,
  parsePins,
  pinRegistration,
  pinSigned,
  pinVerified,
  type RegistrationInput,
  type RegistrationTerms,
  verifyRegistered,
} from '@flywheel/sdk';
import { callRpc, createRpcTransport } from '@flywheel/solana-rpc';

/** Key in the browser’s storage. If the storage is cleared, the next use is a first use again. */
const KEY = 'flywheel.pins';

/**
 * Reads what this browser knows of services and multisigs.
 * @throws Error if it is damaged: to ignore it would trust whoever answers.
 */
function readPins(): Pins {
  const text = localStorage.getItem(KEY);
  const pins = text === null ? NO_PINS : parsePins(tryParseJson(text));
  if (pins !== null) return pins;
  throw new Error(
    'What this browser knows of your multisigs is damaged. Clear the data of this site to trust it on first use again.',
  );
}

function keepPins(pins: Pins): void {
  localStorage.setItem(KEY, JSON.stringify(pins));
}

/** This service on the cluster of a node. */
async function readPlace(rpcUrl: string, signal?: AbortSignal): Promise<PinPlace> {
  const cluster = await callRpc(createRpcTransport({ url: rpcUrl }), 'getGenesisHash', [], signal);
  if (typeof cluster !== 'string') throw new Error('The node did not say which cluster it is of.');
  return { service: location.origin, cluster };
}

/** The kept facts about the multisig of a batch. */
export interface PinCheck {
  readonly place: PinPlace;
  readonly search: PinSearch;
}

/**
 * Finds what this browser knows of a wallet’s multisig. A registration that was not compared with the chain yet is compared now.
 * @throws FlywheelError `ERR_CHAIN_MISMATCH` if the chain holds another multisig than the wallet has signed.
 */
export async function checkPin(
  rpcUrl: string,
  { wallet, ...claimed }: ClaimedProject & { readonly wallet: string },
  signal?: AbortSignal,
): Promise<PinCheck> {
  const place = await readPlace(rpcUrl, signal);
  const find = () => findPin(readPins(), place, { wallet, claimed });
  const { pin } = find();
  if (pin?.signed) {
    await verifyRegistered(rpcUrl, pin.signed, pin, { ...(signal && { signal }) });
    keepPins(confirmPin(readPins(), pin));
  }
  return { place, search: find() };
}

/** Keeps the multisig of a verified batch, and its present members. */
export function keepVerified(place: PinPlace, verified: Parameters<typeof pinVerified>[2]): void {
  const kept = pinVerified(readPins(), place, verified, new Date());
  if (kept !== null) keepPins(kept.pins);
}

/** A sentence about why a project is not the one that this browser knows; null if it is, or if this is the first use. */
export function describePinMismatch(search: PinSearch, { vaultAddress, mintAddress }: ClaimedProject): string | null {
  if (search.pin !== undefined) return null;
  if (search.found) {
    return `For the vault ${vaultAddress} this browser knows the mint ${search.found.mintAddress}; shown is ${mintAddress}.`;
  }
  return `For your wallet this browser knows ${listVaults(search.known)}; shown is the vault ${vaultAddress}.`;
}

function listVaults(known: readonly MultisigPin[]): string {
  const vaults = known.map((pin) => pin.vaultAddress).join(', ');
  return known.length === 1 ? `the vault ${vaults}` : `the vaults ${vaults}`;
}

/** The addresses that a registration may name. */
export interface RegistrationPins {
  readonly place: PinPlace;
  /** Undefined for the first registration with this service in this browser. */
  readonly expect: RegistrationInput['expect'];
}

/** @param trusted addresses that the person has named in addition. */
export async function readRegistrationPins(rpcUrl: string, trusted: readonly string[]): Promise<RegistrationPins> {
  const place = await readPlace(rpcUrl);
  return { place, expect: expectedOfRegistration(readPins(), place, trusted) };
}

/** Keeps a registration that the wallet has signed, before the service is given it. */
export function keepSigned(place: PinPlace, terms: RegistrationTerms): void {
  keepPins(pinSigned(readPins(), place, terms, new Date()));
}

/** Keeps a registration that was compared with the chain. */
export function keepRegistration(place: PinPlace, terms: RegistrationTerms): void {
  keepPins(pinRegistration(readPins(), place, terms, new Date()));
}
