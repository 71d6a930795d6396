import { isJsonObject } from '@flywheel/protocol';
import type { RegisteredAddresses, RegistrationTerms } from './verification/registration-terms.ts';
import type { ExpectedMultisig, VerificationResult } from './verification/verify-approval.ts';
import type { RegistrationInput } from './verification/verify-registration.ts';

/**
 * What the holder of wallets knows of services and multisigs, so that no service can replace it later. It is plain JSON: keep
 * it where only the holder writes.
 */
export interface Pins {
  readonly multisigs: readonly MultisigPin[];
  readonly services: readonly ServicePin[];
}

/** A service on a cluster. With new data on a new cluster it is another service. */
export interface PinPlace {
  /** Origin of its URL. */
  readonly service: string;
  /** Genesis hash. */
  readonly cluster: string;
}

/** The addresses that a registration may name. */
export interface ServicePin extends PinPlace {
  readonly companies: readonly string[];
  readonly operators: readonly string[];
}

/** The multisig of a wallet's project. */
export interface MultisigPin extends PinPlace {
  readonly wallet: string;
  readonly multisig: string;
  readonly vaultAddress: string;
  readonly mintAddress: string;
  /** Votes for the company. */
  readonly company: string;
  /** Proposes, executes and collects the rent; absent in pins of earlier releases. */
  readonly operator?: string;
  /** Time at which it was kept, ISO 8601. */
  readonly at: string;
  /**
   * The registration that the wallet has signed, until `verifyRegistered` has compared it with the chain: another multisig may
   * be at its address. Compare it before you use the pin, then keep `confirmPin`.
   */
  readonly signed?: RegisteredAddresses;
}

/** Pins before anything was kept. */
export const NO_PINS: Pins = { multisigs: [], services: [] };

/** Returns null for what is not the JSON of pins. Do not take that for no pins: a damaged file must not mean first use. */
export function parsePins(value: unknown): Pins | null {
  if (!isJsonObject(value)) return null;
  const { multisigs, services } = value;
  return isList(multisigs, isMultisigPin) && isList(services, isServicePin) ? { multisigs, services } : null;
}

/**
 * Returns the addresses that a registration may name, for `verifyRegistration`; undefined for the first one with a service.
 * @param trusted addresses that the holder names in addition.
 */
export function expectedOfRegistration(
  { services }: Pins,
  place: PinPlace,
  trusted: readonly string[] = [],
): RegistrationInput['expect'] {
  const known = services.find((pin) => isAt(pin, place));
  if (!known) return undefined;
  return { company: [...known.companies, ...trusted], operator: [...known.operators, ...trusted] };
}

/** Keeps a registration that the wallet has signed, before it is sent: its answer may be lost, or a lie. */
export function pinSigned(
  pins: Pins,
  place: PinPlace,
  { costLamports, predecessors, ...signed }: RegistrationTerms,
  now: Date,
): Pins {
  return withMultisig(pins, { ...pinOf(place, signed, now), signed });
}

/** Keeps a signed registration that `verifyRegistered` has compared with the chain. */
export function confirmPin(pins: Pins, { signed, ...pin }: MultisigPin): Pins {
  return withMultisig(pins, pin);
}

/** Keeps a registration that `verifyRegistered` has compared with the chain. Its addresses take the place of earlier ones. */
export function pinRegistration(pins: Pins, place: PinPlace, terms: RegistrationTerms, now: Date): Pins {
  const { company, operator } = terms;
  const { service, cluster } = place;
  // A key that was replaced may be a thief's: it must name no further one.
  const kept = { service, cluster, companies: [company], operators: [operator] };
  const services = [...pins.services.filter((pin) => !isAt(pin, place)), kept];
  return withMultisig({ ...pins, services }, pinOf(place, terms, now));
}

function pinOf(
  { service, cluster }: PinPlace,
  { wallet, multisig, vaultAddress, mint: mintAddress, company, operator }: RegisteredAddresses,
  now: Date,
): MultisigPin {
  return { service, cluster, wallet, multisig, vaultAddress, mintAddress, company, operator, at: now.toISOString() };
}

/** What a service says about the project of a wallet. */
export interface ClaimedProject {
  readonly vaultAddress: string;
  readonly mintAddress: string;
}

/** Result of `findPin`. */
export type PinSearch =
  /** Null if nothing is known of the wallet's multisigs: the next verified batch is the first use. */
  | { readonly pin: MultisigPin | null }
  /** `known` are the wallet's multisigs; `found` is the one with the claimed vault, whose mint differs. */
  | { readonly pin?: never; readonly known: readonly MultisigPin[]; readonly found: MultisigPin | null };

/**
 * Finds the pin of a wallet's project.
 * @param claimed null if the service does not say which project it is.
 */
export function findPin(
  { multisigs }: Pins,
  place: PinPlace,
  { wallet, claimed }: { readonly wallet: string; readonly claimed: ClaimedProject | null },
): PinSearch {
  const known = multisigs.filter((pin) => isAt(pin, place) && pin.wallet === wallet);
  const [only, ...others] = known;
  if (only === undefined) return { pin: null };
  if (claimed === null) return others.length === 0 ? { pin: only } : { known, found: null };
  const found = known.find((pin) => pin.vaultAddress === claimed.vaultAddress) ?? null;
  return found?.mintAddress === claimed.mintAddress ? { pin: found } : { known, found };
}

/** Returns what a batch of a pinned multisig is verified against. */
export function expectedOfMultisig({ multisig, company, operator }: MultisigPin): ExpectedMultisig {
  return { multisig, company, ...(operator !== undefined && { operator }) };
}

interface VerifiedMultisig extends ClaimedProject {
  readonly wallet: string;
  readonly multisig: string;
  readonly verification: Pick<VerificationResult, 'isVerified' | 'company' | 'operator'>;
}

/** Keeps the multisig of a batch, and its present members. @returns null if nothing is new, or the batch is not verified. */
export function pinVerified(
  pins: Pins,
  { service, cluster }: PinPlace,
  { verification, wallet, multisig, vaultAddress, mintAddress }: VerifiedMultisig,
  now: Date,
): { readonly pins: Pins; readonly before: MultisigPin | null; readonly pin: MultisigPin } | null {
  const { isVerified, company, operator } = verification;
  if (!isVerified || company === null) return null;
  const before = pins.multisigs.find((pin) => isSameMultisig(pin, { service, cluster, wallet, multisig })) ?? null;
  const isKnown = before?.company === company && (operator === null || before.operator === operator);
  if (isKnown) return null;
  const pin: MultisigPin = {
    ...{ service, cluster, wallet, multisig, vaultAddress, mintAddress, company },
    ...(operator !== null && { operator }),
    at: now.toISOString(),
  };
  return { pins: withMultisig(pins, pin), before, pin };
}

function withMultisig(pins: Pins, pin: MultisigPin): Pins {
  return { ...pins, multisigs: [...pins.multisigs.filter((other) => !isSameMultisig(other, pin)), pin] };
}

function isSameMultisig(pin: MultisigPin, other: PinPlace & Pick<MultisigPin, 'wallet' | 'multisig'>): boolean {
  return isAt(pin, other) && pin.wallet === other.wallet && pin.multisig === other.multisig;
}

function isAt(pin: PinPlace, { service, cluster }: PinPlace): boolean {
  return pin.service === service && pin.cluster === cluster;
}

function isList<Item>(value: unknown, isItem: (item: unknown) => item is Item): value is readonly Item[] {
  return Array.isArray(value) && value.every(isItem);
}

function isString(value: unknown): value is string {
  return typeof value === 'string';
}

const MULTISIG_FIELDS = [
  'service',
  'cluster',
  'wallet',
  'multisig',
  'vaultAddress',
  'mintAddress',
  'company',
  'at',
] as const;

function isMultisigPin(value: unknown): value is MultisigPin {
  if (!isJsonObject(value)) return false;
  const { operator, signed } = value;
  return (
    MULTISIG_FIELDS.every((field) => isString(value[field])) &&
    (operator === undefined || isString(operator)) &&
    (signed === undefined || isRegistration(signed))
  );
}

const REGISTRATION_FIELDS = [
  'wallet',
  'mint',
  'tokenProgram',
  'multisig',
  'vaultAddress',
  'company',
  'operator',
  'lookupTable',
];

function isRegistration(value: unknown): value is RegisteredAddresses {
  return (
    isJsonObject(value) &&
    REGISTRATION_FIELDS.every((field) => isString(value[field])) &&
    (value.recovery === null || isString(value.recovery))
  );
}

function isServicePin(value: unknown): value is ServicePin {
  if (!isJsonObject(value)) return false;
  const { service, cluster, companies, operators } = value;
  return isString(service) && isString(cluster) && isList(companies, isString) && isList(operators, isString);
}
