import { randomUUID } from 'node:crypto';
import {
  ApiError,
  type MintPreview,
  type RegisteredProject,
  type Registration,
  type RegistrationMode,
  type RegistrationRequest,
} from '@flywheel/api';
import { isAddress, LAMPORTS_PER_SIGNATURE, NOT_AN_ADDRESS, toDecimal, writeSol } from '@flywheel/protocol';
import { decodeProgramConfig, programConfigAddress } from '@flywheel/squads';
import {
  type Address,
  appendTransactionMessageInstructions,
  type Base64EncodedWireTransaction,
  createTransactionMessage,
  generateKeyPairSigner,
  getBase64EncodedWireTransaction,
  getBase64Encoder,
  getPublicKeyFromAddress,
  getTransactionDecoder,
  setTransactionMessageFeePayer,
  verifySignature,
} from '@solana/kit';
import type { Clock } from '../model/clock.ts';
import type { Multisig, NewProject } from '../model/project.ts';
import type { SchemaDeps } from '../payload-schemas/check.ts';
import type { Chain, LandedSignature } from '../solana/chain.ts';
import { readMint } from '../solana/mint.ts';
import { isNodeUnavailable } from '../solana/node-unavailable.ts';
import { sendAndConfirm } from '../solana/send-and-confirm.ts';
import type { TokenNames } from '../solana/token-names.ts';
import { partiallySignTransaction } from '../solana/transactions.ts';
import { registrationBytes, registrationInstructions, registrationMismatch } from '../squads/registration.ts';
import { insertAuditEntry } from '../store/audit.ts';
import { findKeySuccessions } from '../store/company/key-successions.ts';
import type { Db } from '../store/db.ts';
import type { Jobs } from '../store/jobs/jobs.ts';
import { insertProject } from '../store/projects/projects.ts';
import {
  completeRegistration,
  findRegistration,
  insertRegistration,
  type PendingBounds,
  UNPAID_REGISTRATION_MS,
} from '../store/projects/registrations.ts';
import { storeNewKey } from './keys.ts';
import { parseLimits, presentOwnSettings, requireProofTypes } from './settings.ts';
import { programOf } from './summaries.ts';

interface PreviewMintDeps {
  readonly chain: Chain;
  readonly recovery: Address | null;
  readonly tokenNames: TokenNames;
}

/** Previews the registration of a mint. A mint that cannot be registered is an answer with a `problem`, not an error. */
export async function previewMint(
  { chain, recovery, tokenNames }: PreviewMintDeps,
  mint: string,
): Promise<MintPreview> {
  const { costLamports } = await readRegistrationTerms({ chain, recovery });
  const preview = { mint, costLamports: String(costLamports) };
  if (!isAddress(mint)) return { ...preview, problem: `${mint} ${NOT_AN_ADDRESS}`, warnings: [] };
  const [facts, names] = await Promise.all([readMint(chain, mint), tokenNames.of([mint])]);
  if ('problem' in facts) return { ...preview, problem: `Mint ${mint} ${facts.problem}`, warnings: [] };
  const { programAddress, decimals, supply, warnings } = facts;
  return {
    ...preview,
    warnings: [...warnings],
    token: {
      program: programOf(programAddress),
      decimals,
      supply: toDecimal(supply, decimals),
      ...names.get(mint),
    },
  };
}

export interface RegisterDeps {
  readonly db: Db;
  readonly jobs: Pick<Jobs, 'enqueue'>;
  readonly chain: Chain;
  readonly clock: Clock;
  readonly operator: Address;
  readonly company: Address;
  /** Recovery key of new projects; null for none. */
  readonly recovery: Address | null;
  readonly registration: RegistrationMode;
}

/** Wallet and network of the client that begins a registration. */
export interface Registrant {
  readonly wallet: Address;
  /** The client's address, as it is counted: see `countedAddress`. */
  readonly network: string;
}

/**
 * Checks a mint and builds the transaction that creates the project's multisig and lookup table. The wallet signs it and
 * pays for it. It is signed already by the temporary key that determines the multisig's address.
 * @throws ApiError ERR_REGISTRATION_CLOSED, ERR_MINT_UNSUPPORTED, ERR_INVALID_REQUEST, ERR_SCHEMA_CHECK_UNAVAILABLE,
 * ERR_TOO_MANY_REGISTRATIONS
 */
export async function createRegistration(
  deps: RegisterDeps & SchemaDeps,
  { wallet, network }: Registrant,
  request: RegistrationRequest,
): Promise<Registration> {
  const { db, chain, clock, operator, recovery, company, registration } = deps;
  if (registration === 'closed') throw new ApiError('ERR_REGISTRATION_CLOSED');
  if (!isAddress(request.mint)) {
    throw new ApiError('ERR_INVALID_REQUEST', { place: 'body.mint', problem: NOT_AN_ADDRESS });
  }
  const mint = await readMint(chain, request.mint);
  if ('problem' in mint) throw new ApiError('ERR_MINT_UNSUPPORTED', { mint: request.mint, problem: mint.problem });
  parseLimits(request, mint.decimals);
  await requireProofTypes(deps, wallet, request.proofTypes);

  const createKey = await generateKeyPairSigner();
  const [{ treasury, costLamports }, recentSlot, lifetime, genesisHash] = await Promise.all([
    readRegistrationTerms({ chain, recovery }),
    chain.slot(),
    chain.latestBlockhash(),
    chain.genesisHash(),
  ]);
  const token = { id: randomUUID(), mint: request.mint, ...mint };
  const input = { wallet, createKey: createKey.address, company, operator, recovery, treasury, token, recentSlot };
  const { instructions, multisig } = await registrationInstructions(input);
  const message = appendTransactionMessageInstructions(
    instructions,
    setTransactionMessageFeePayer(wallet, createTransactionMessage({ version: 0 })),
  );
  const { wire, messageBytes } = await partiallySignTransaction(message, lifetime, [createKey]);

  const successions = await findKeySuccessions(db, genesisHash);
  const registrationId = randomUUID();
  const now = clock.now();
  const newRegistration = {
    id: registrationId,
    wallet,
    network,
    request,
    token: { id: token.id, mint: token.mint, decimals: mint.decimals, programAddress: mint.programAddress },
    multisig,
    createKey: createKey.address,
    message: messageBytes,
    lastValidBlockHeight: lifetime.lastValidBlockHeight,
    createdAt: now,
  };
  const exceeded = await insertRegistration(db, newRegistration, pendingBounds(registration, now));
  if (exceeded) throw new ApiError('ERR_TOO_MANY_REGISTRATIONS', exceeded);
  return {
    registrationId,
    transaction: wire,
    multisig: multisig.address,
    vaultAddress: multisig.vault,
    costLamports: String(costLamports),
    warnings: [...mint.warnings],
    successions: successions.map(({ role, from, to, signature }) => ({ role, from, to, signature })),
  };
}

/** An operator of the company reads each pending project, and someone who registers for others has a few wallets. */
const MAX_PENDING = { wallet: 5, address: 20 } as const;
/** A transaction can land for 150 blocks after its blockhash, which takes at most about 90 s. */
const PAYABLE_MS = 120_000;
/** Each is stored with up to 768 KiB, and costs its wallet nothing. Many people may share an address. */
const MAX_UNPAID = { wallet: 20, address: 100 } as const;

function pendingBounds(registration: 'open' | 'approval', now: Date): PendingBounds[] {
  const before = (ms: number) => new Date(now.getTime() - ms);
  const unpaid = { max: MAX_UNPAID, unpaidSince: before(UNPAID_REGISTRATION_MS), untilAdmitted: false };
  if (registration === 'open') return [unpaid];
  return [{ max: MAX_PENDING, unpaidSince: before(PAYABLE_MS), untilAdmitted: true }, unpaid];
}

/**
 * Sends a registration that the wallet has signed. If the accounts on chain are exactly what was built, it stores the
 * project and its first API key.
 * @throws ApiError ERR_REGISTRATION_NOT_FOUND, ERR_REGISTRATION_FAILED
 */
export async function confirmRegistration(
  deps: RegisterDeps,
  wallet: Address,
  registrationId: string,
  signedTransaction: string,
): Promise<RegisteredProject> {
  const { db, jobs, chain, clock } = deps;
  const registration = await findRegistration(db, registrationId, wallet);
  if (!registration) throw new ApiError('ERR_REGISTRATION_NOT_FOUND', { registrationId });
  const wire = await requireSigned(signedTransaction, wallet, registration.message);
  const { multisig, token, request } = registration;
  await requirePayable(deps, wallet, multisig);
  const landedSlot = await land(deps, wire, registration.lastValidBlockHeight);
  const [multisigAccount, tableAccount] = await chain.decide(landedSlot, (view) =>
    view.accounts([multisig.address, multisig.lookupTable.address]),
  );
  if (!multisigAccount || !tableAccount) throw failed('the accounts it creates are not on chain.');
  const problem = registrationMismatch(
    { multisig: multisigAccount, lookupTable: tableAccount },
    { multisig, createKey: registration.createKey },
  );
  if (problem !== null) throw failed(problem);

  const project: NewProject = {
    id: randomUUID(),
    wallet,
    scopes: new Set(request.scopes),
    proofTypes: new Map(request.proofTypes.map((proofType) => [proofType.type, proofType])),
    dailyLimits: parseLimits(request, token.decimals),
    // Registrations that were begun before this setting existed do not have it.
    approvalMode: request.approvalMode ?? 'automatic',
    token,
    flywheel: { id: randomUUID(), multisig },
  };
  const { apiKey } = await db.transaction().execute(async (trx) => {
    const isFirst = await completeRegistration(trx, registrationId, project.id);
    if (!isFirst) throw new ApiError('ERR_REGISTRATION_NOT_FOUND', { registrationId });
    await insertProject(trx, project, clock.now());
    await insertAuditEntry(trx, {
      at: clock.now(),
      actor: wallet,
      action: 'project.registered',
      projectId: project.id,
      after: { mintAddress: token.mint, multisig: multisig.address, ...presentOwnSettings(project) },
    });
    const firstKey = { scopes: project.scopes, name: 'first key', expiresAt: null };
    const stored = await storeNewKey({ db: trx, clock }, project, firstKey);
    // A worker records the terms: later changes of the project's limits do not change what the company approves.
    await jobs.enqueue(trx, { type: 'review-changes' });
    return stored;
  });
  return {
    projectId: project.id,
    flywheelId: project.flywheel.id,
    tokenId: token.id,
    mintAddress: token.mint,
    apiKey,
    multisig: multisig.address,
    vaultAddress: multisig.vault,
  };
}

interface RegistrationTerms {
  /** Account that receives Squads' fee for the creation of a multisig. */
  readonly treasury: Address;
  /** Cost of a registration for the wallet: rent, transaction fees, and Squads' fee. */
  readonly costLamports: bigint;
}

/** @throws Error if the cluster does not have the Squads program. */
async function readRegistrationTerms({
  chain,
  recovery,
}: Pick<RegisterDeps, 'chain' | 'recovery'>): Promise<RegistrationTerms> {
  const configAddress = programConfigAddress();
  const bytes = registrationBytes(recovery);
  const [[config], ...rents] = await Promise.all([
    chain.accounts([configAddress]),
    chain.minimumBalanceForRentExemption(bytes.multisig),
    chain.minimumBalanceForRentExemption(bytes.lookupTable),
  ]);
  if (!config) throw new Error(`The Squads program’s account ${configAddress} is not on this cluster.`);
  const { treasury, multisigCreationFee } = decodeProgramConfig(config);
  const rentLamports = rents.reduce((sum, lamports) => sum + lamports, 0n);
  return {
    treasury,
    costLamports: rentLamports + multisigCreationFee + SIGNATURES * LAMPORTS_PER_SIGNATURE,
  };
}
/** The wallet's and the temporary key's. */
const SIGNATURES = 2n;

/**
 * Refuses a registration that its wallet cannot pay: it would be sent again and again until it expires, at no cost to whoever
 * confirms it. One that has landed may have taken all that the wallet had.
 */
async function requirePayable({ chain }: RegisterDeps, wallet: Address, multisig: Multisig): Promise<void> {
  const [{ costLamports }, [payer, created]] = await Promise.all([
    readRegistrationTerms({ chain, recovery: multisig.recovery }),
    chain.accounts([wallet, multisig.address], { maxBytes: 0 }),
  ]);
  const lamports = payer?.lamports ?? 0n;
  if (created || lamports >= costLamports) return;
  throw failed(`${wallet} holds ${writeSol(lamports)}, and the registration costs ${writeSol(costLamports)}.`);
}

/** Returns the slot in which the transaction has succeeded. */
async function land(
  { chain, clock }: RegisterDeps,
  wire: Base64EncodedWireTransaction,
  lastValidBlockHeight: bigint,
): Promise<bigint> {
  let landed: LandedSignature;
  try {
    landed = await sendAndConfirm({ chain, clock }, wire, lastValidBlockHeight);
  } catch (cause) {
    // It may have landed, and what the wallet has paid would be lost with a new registration.
    if (isNodeUnavailable(cause)) throw cause;
    throw failed('the transaction did not land in time. Create a new registration.', cause);
  }
  const { err, slot } = landed;
  if (err !== null) throw failed(`the transaction failed on chain: ${err}. Does the wallet hold enough SOL?`);
  return slot;
}

/** Requires the exact bytes that were built: the temporary key has signed them, so a wallet cannot change them. */
async function requireSigned(
  signedTransaction: string,
  wallet: Address,
  message: Uint8Array,
): Promise<Base64EncodedWireTransaction> {
  const transaction = decodeTransaction(signedTransaction);
  if (Buffer.compare(Buffer.from(transaction.messageBytes), message) !== 0) {
    throw failed('the signed transaction is not the one that was built.');
  }
  const signature = transaction.signatures[wallet];
  if (!signature) throw failed(`${wallet} has not signed the transaction.`);
  if (!(await verifySignature(await getPublicKeyFromAddress(wallet), signature, transaction.messageBytes))) {
    throw failed(`the signature of ${wallet} does not verify.`);
  }
  return getBase64EncodedWireTransaction(transaction);
}

function decodeTransaction(wire: string) {
  try {
    return getTransactionDecoder().decode(getBase64Encoder().encode(wire));
  } catch (cause) {
    throw failed('the signed transaction cannot be decoded.', cause);
  }
}

function failed(problem: string, cause?: unknown): ApiError {
  return new ApiError('ERR_REGISTRATION_FAILED', { problem }, { cause });
}
