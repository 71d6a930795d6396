/**
 * This is the SDK's own knowledge of what a registration does, and it stays independent of the service's on purpose: the
 * wallet pays for this transaction and deposits into the vault that it creates, so a lying service must not write both.
 */
import {
  address,
  type DescribedInstruction,
  type KeyRole,
  LAMPORTS_PER_SIGNATURE,
  lookupTableBytes,
  type PublishedSuccession,
} from '@flywheel/protocol';
import { chooseNode, type RpcUrl, sleep } from '@flywheel/solana-rpc';
import {
  decodeProgramConfig,
  getMultisigCreateV2Instruction,
  hasDiscriminator,
  type Member,
  MULTISIG_CREATE_V2_DISCRIMINATOR,
  type MultisigCreateV2Args,
  multisigAddress,
  multisigBytes,
  multisigCreateV2ArgsDecoder,
  PERMISSION,
  programConfigAddress,
  SQUADS_PROGRAM_ADDRESS,
  VAULT_INDEX,
  vaultAddress,
} from '@flywheel/squads';
import { type Address, createNoopSigner, type Instruction, type ProgramDerivedAddress } from '@solana/kit';
import {
  ADDRESS_LOOKUP_TABLE_PROGRAM_ADDRESS,
  CREATE_LOOKUP_TABLE_DISCRIMINATOR,
  findAddressLookupTablePda,
  getCreateLookupTableInstruction,
  getCreateLookupTableInstructionDataDecoder,
  getExtendLookupTableInstruction,
  getFreezeLookupTableInstruction,
} from '@solana-program/address-lookup-table';
import { readMint } from '../chain/read-mint.ts';
import { askRpc, fieldOf, readAccounts, unexpectedAnswer } from '../chain/rpc.ts';
import type { CallOptions } from '../client.ts';
import { decodeStaticTransaction } from '../signing/decode.ts';
import { isSame, sentenceOf } from './compare.ts';
import { toPlain } from './expected-instructions.ts';
import { checkKey, type ExpectedAddress, expectedAddresses } from './expected-key.ts';
import {
  argumentIssues,
  describeMember,
  mismatches,
  type RegistrationTerms,
  TABLE_LENGTH,
  THRESHOLD,
  tableAddresses,
} from './registration-terms.ts';

/** The transaction that a service asks a wallet to sign, and what the wallet's holder wants it to do. */
export interface RegistrationInput {
  /** Address of the wallet that signs and pays. */
  readonly wallet: string;
  /** The token of the project. */
  readonly mint: string;
  /** The service's answer. */
  readonly registration: {
    /** Base64. */
    readonly transaction: string;
    readonly multisig: string;
    readonly vaultAddress: string;
    /** How the service's keys have changed, each change signed by the earlier key. */
    readonly successions?: readonly PublishedSuccession[] | undefined;
  };
  /** The company's addresses, if you know them. An address that a known key has signed as its successor is accepted too. */
  readonly expect?: {
    /** Votes for the company. */
    readonly company?: ExpectedAddress;
    /** Proposes and executes, without a vote. */
    readonly operator?: ExpectedAddress;
    /** Proposes and executes if the operator is lost, without a vote; null if there must be none. */
    readonly recovery?: ExpectedAddress | null;
  };
}

/** Result of `verifyRegistration`: the terms, or the reasons against signing. */
export type RegistrationVerification =
  | { readonly isVerified: true; readonly issues: readonly []; readonly terms: RegistrationTerms }
  | RegistrationRefusal;

/** A registration that must not be signed, with the reasons. */
export interface RegistrationRefusal {
  readonly isVerified: false;
  /** A sentence for each reason against signing. */
  readonly issues: readonly string[];
  readonly terms: null;
  /** The keys that differ from `expect`, if nothing else is wrong: who trusts them expects them too. Otherwise empty. */
  readonly unknownKeys: readonly { readonly role: KeyRole; readonly address: Address }[];
}

/**
 * Verifies that a registration transaction creates the project's multisig and its frozen lookup table, and nothing else:
 * the wallet and one company member vote, both votes are needed, the operator and a recovery key, if there is one, have no
 * vote, and only the wallet and the company together can change that. The fees and the mint are read from a node of your choice.
 * @param rpcUrl a Solana node, or several of one cluster: the first healthy one answers everything.
 * @throws FlywheelError if the node does not answer, or `ERR_SIGNING_REFUSED` if the transaction cannot be decoded.
 * @throws Error if the mint is not on this cluster.
 *
 * @example
 * const { isVerified, issues, terms } = await verifyRegistration(rpcUrl, { wallet: wallet.address, mint, registration });
 */
export async function verifyRegistration(
  rpcUrl: RpcUrl,
  input: RegistrationInput,
  { signal }: CallOptions = {},
): Promise<RegistrationVerification> {
  const wallet = address(input.wallet);
  const { feePayer, signers, instructions, lifetimeToken } = decodeStaticTransaction(
    input.registration.transaction,
    'a registration',
  );
  const node = await chooseNode(rpcUrl, signal);
  const creation = parseCreation(instructions, wallet);
  if ('issues' in creation) return refused([...creation.issues, ...extraIssues(instructions)]);
  const { args, createKey, company, operator, recovery, recentSlot } = creation;
  const chain = await readTerms(node, { mint: input.mint, members: args.members.length }, signal);
  const multisig = multisigAddress(createKey);
  const vault = vaultAddress(multisig, VAULT_INDEX);
  const table = await findAddressLookupTablePda({ authority: wallet, recentSlot });
  const { successions: published = [] } = input.registration;
  const [asCompany, asOperator] = await Promise.all([
    checkKey(node, { role: 'company', address: company, expected: input.expect?.company, published }, signal),
    checkKey(node, { role: 'operator', address: operator, expected: input.expect?.operator, published }, signal),
  ]);
  const terms: RegistrationTerms = {
    ...{ wallet, multisig, company, operator, recovery },
    mint: address(input.mint),
    tokenProgram: chain.tokenProgram,
    vaultAddress: vault,
    lookupTable: table[0],
    costLamports: chain.creationLamports + BigInt(signers.length) * LAMPORTS_PER_SIGNATURE,
    predecessors: { company: asCompany.predecessors, operator: asOperator.predecessors },
  };
  const expected = creationInstructions(terms, {
    ...{ treasury: chain.treasury, createKey, members: args.members, table, recentSlot },
  });
  const issues = [
    ...(feePayer === wallet ? [] : [`${feePayer} pays the fee, not your wallet ${wallet}.`]),
    ...(signers.length === 2 && signers.every((signer) => signer === wallet || signer === createKey)
      ? []
      : [`It is signed by ${signers.join(', ')}, not by your wallet and the multisig’s own key ${createKey} alone.`]),
    ...argumentIssues(args, operator),
    ...instructionIssues(expected, instructions),
    ...(terms.costLamports <= MAX_COST_LAMPORTS
      ? []
      : [`It costs your wallet ${terms.costLamports} lamports; at most ${MAX_COST_LAMPORTS} are accepted.`]),
    ...mismatches('multisig', input.registration.multisig, multisig),
    ...mismatches('vault', input.registration.vaultAddress, vault),
    ...recoveryIssues(terms, input.expect?.recovery),
  ];
  const keyIssues = [...asCompany.issues, ...asOperator.issues];
  if (issues.length > 0) return refused([...issues, ...keyIssues]);
  if (!(await isBlockhashKnown(node, lifetimeToken, signal))) {
    return refused(['Its blockhash is not known to your node: it is for another cluster, or too old.', ...keyIssues]);
  }
  if (keyIssues.length === 0) return { isVerified: true, issues: [], terms };
  const unknownKeys = [
    ...asCompany.issues.map(() => ({ role: 'company', address: company }) as const),
    ...asOperator.issues.map(() => ({ role: 'operator', address: operator }) as const),
  ];
  return { ...refused(keyIssues), unknownKeys };
}

/** About 17 times what a registration costs; the rest is room for a creation fee of Squads, which is zero today. */
const MAX_COST_LAMPORTS = 100_000_000n;

interface ChainTerms {
  readonly tokenProgram: Address;
  /** Receives Squads' creation fee. */
  readonly treasury: Address;
  /** Rent of both accounts, and Squads' creation fee. */
  readonly creationLamports: bigint;
}

async function readTerms(
  rpcUrl: string,
  { mint, members }: { readonly mint: string; readonly members: number },
  signal: AbortSignal | undefined,
): Promise<ChainTerms> {
  const configAddress = programConfigAddress();
  const [{ tokenProgram }, [config], ...rents] = await Promise.all([
    readMint(rpcUrl, mint, { signal }),
    readAccounts(rpcUrl, [configAddress], { signal }),
    readRent(rpcUrl, multisigBytes(members), signal),
    readRent(rpcUrl, lookupTableBytes(TABLE_LENGTH), signal),
  ]);
  if (!config) throw new Error(`The Squads program’s account ${configAddress} is not on this cluster.`);
  const { treasury, multisigCreationFee } = decodeProgramConfig(config);
  return { tokenProgram, treasury, creationLamports: rents.reduce((sum, rent) => sum + rent, multisigCreationFee) };
}

async function readRent(rpcUrl: string, bytes: number, signal: AbortSignal | undefined): Promise<bigint> {
  const method = 'getMinimumBalanceForRentExemption';
  const rent = await askRpc(rpcUrl, method, [bytes], signal);
  if (typeof rent === 'bigint') return rent;
  if (typeof rent !== 'number') throw unexpectedAnswer(method, rent);
  return BigInt(rent);
}

const MAX_ATTEMPTS = 3;
const PAUSE_MS = 1_000;

/** A node may be some slots behind the node that the service uses. */
async function isBlockhashKnown(rpcUrl: string, blockhash: string, signal: AbortSignal | undefined): Promise<boolean> {
  const method = 'isBlockhashValid';
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    if (attempt > 1) await sleep(PAUSE_MS, signal);
    const answer = await askRpc(rpcUrl, method, [blockhash, { commitment: 'processed' }], signal);
    if (fieldOf(answer, 'value') === true) return true;
  }
  return false;
}

interface Creation {
  readonly args: MultisigCreateV2Args;
  /** A throwaway key that gives the multisig its address. */
  readonly createKey: Address;
  readonly company: Address;
  readonly operator: Address;
  readonly recovery: Address | null;
  readonly recentSlot: bigint;
}

/** Reads what the transaction chooses: the multisig's key, its members, and the slot that gives the table its address. */
function parseCreation(
  instructions: readonly DescribedInstruction[],
  wallet: Address,
): Creation | { readonly issues: readonly string[] } {
  const [create, createTable] = instructions;
  const args = create && parseArgs(create);
  const createKey = create?.accounts[3];
  const recentSlot = createTable && parseRecentSlot(createTable);
  if (!args || !createKey) return { issues: ['Its first instruction does not create a multisig.'] };
  if (recentSlot === undefined) return { issues: ['Its second instruction does not create a lookup table.'] };
  const { vote, initiate, execute } = PERMISSION;
  const membersWith = (mask: number) => args.members.filter(({ permissions }) => permissions.mask === mask);
  const voters = membersWith(vote).map(({ key }) => key);
  const [company, ...otherVoters] = voters.filter((key) => key !== wallet);
  const proposers = membersWith(initiate | execute).map(({ key }) => key);
  // Of two that propose, the operator is the one that collects the rent.
  const operator = proposers.find((key) => key === args.rentCollector) ?? proposers[0];
  const [recovery = null, ...otherProposers] = proposers.filter((key) => key !== operator);
  const isExact =
    args.members.length === voters.length + proposers.length &&
    voters.includes(wallet) &&
    otherVoters.length + otherProposers.length === 0 &&
    new Set(args.members.map(({ key }) => key)).size === args.members.length;
  if (isExact && company && operator) return { args, createKey, company, operator, recovery, recentSlot };
  const found = args.members.map(describeMember).join(', ');
  return {
    issues: [
      `The members of the multisig must be your wallet ${wallet} and the company, who only vote, and an operator and at most one recovery key, who only propose and execute. They are: ${found || 'none'}.`,
    ],
  };
}

function parseArgs({ programAddress, data }: DescribedInstruction): MultisigCreateV2Args | undefined {
  const isCreate = hasDiscriminator(data, MULTISIG_CREATE_V2_DISCRIMINATOR);
  if (programAddress !== SQUADS_PROGRAM_ADDRESS || !isCreate) return undefined;
  return decodeOrUndefined(() => multisigCreateV2ArgsDecoder.decode(data, MULTISIG_CREATE_V2_DISCRIMINATOR.length));
}

function parseRecentSlot({ programAddress, data }: DescribedInstruction): bigint | undefined {
  if (programAddress !== ADDRESS_LOOKUP_TABLE_PROGRAM_ADDRESS) return undefined;
  const args = decodeOrUndefined(() => getCreateLookupTableInstructionDataDecoder().decode(data));
  return args?.discriminator === CREATE_LOOKUP_TABLE_DISCRIMINATOR ? args.recentSlot : undefined;
}

/** Codecs throw on bytes that are too short or malformed. */
function decodeOrUndefined<T>(decode: () => T): T | undefined {
  try {
    return decode();
  } catch {
    return undefined;
  }
}

interface ExpectedParts extends Pick<ChainTerms, 'treasury'> {
  readonly createKey: Address;
  readonly members: Member[];
  readonly table: ProgramDerivedAddress;
  readonly recentSlot: bigint;
}

/** Builds the instructions of a registration; the transaction must have exactly these. */
function creationInstructions(
  terms: RegistrationTerms,
  { createKey, members, treasury, table, recentSlot }: ExpectedParts,
): DescribedInstruction[] {
  const { wallet, multisig, operator } = terms;
  const signer = createNoopSigner(wallet);
  const instructions: readonly Instruction[] = [
    getMultisigCreateV2Instruction({
      programConfig: programConfigAddress(),
      ...{ treasury, multisig, createKey, members },
      creator: wallet,
      configAuthority: null,
      threshold: THRESHOLD,
      timeLock: 0,
      rentCollector: operator,
      memo: null,
    }),
    getCreateLookupTableInstruction({ address: table, authority: wallet, payer: signer, recentSlot }),
    getExtendLookupTableInstruction({
      ...{ address: table[0], authority: signer, payer: signer },
      addresses: tableAddresses(terms),
    }),
    getFreezeLookupTableInstruction({ address: table[0], authority: signer }),
  ];
  return instructions.map(toPlain);
}

const NAMES = [
  'create the multisig',
  'create the lookup table',
  'fill the lookup table',
  'freeze the lookup table',
] as const;

/** Instructions count from 1 in the sentences, as in every list of them. */
function instructionIssues(
  expected: readonly DescribedInstruction[],
  found: readonly DescribedInstruction[],
): string[] {
  const differing = NAMES.flatMap((name, position) => {
    const [wanted, actual] = [expected[position], found[position]];
    if (!actual) return [`Instruction ${position + 1} is missing; it must ${name}.`];
    if (wanted && isSame(wanted, actual)) return [];
    return [`Instruction ${position + 1} does not ${name} as a registration does: ${sentenceOf(actual)}.`];
  });
  return [...differing, ...extraIssues(found)];
}

/** A registration has four instructions; whatever follows them is something else. */
function extraIssues(instructions: readonly DescribedInstruction[]): string[] {
  return instructions
    .slice(NAMES.length)
    .map((extra, i) => `Instruction ${NAMES.length + i + 1} is not part of a registration: ${sentenceOf(extra)}.`);
}

function recoveryIssues({ recovery }: RegistrationTerms, expected: ExpectedAddress | null | undefined): string[] {
  if (expected === undefined) return [];
  const known = expectedAddresses(expected ?? undefined);
  if (recovery === null ? expected === null : known.includes(recovery)) return [];
  return [`The recovery key would be ${recovery ?? 'none'}, not ${known.join(' or ') || 'none'}.`];
}

function refused(issues: readonly string[]): RegistrationRefusal {
  return { isVerified: false, issues, terms: null, unknownKeys: [] };
}
