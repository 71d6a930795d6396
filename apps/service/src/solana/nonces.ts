import { chunksOf, MAX_TRANSACTION_BYTES } from '@flywheel/protocol';
import {
  type Address,
  appendTransactionMessageInstructions,
  type Commitment,
  createAddressWithSeed,
  createTransactionMessage,
  getTransactionMessageSize,
  type Instruction,
  type Nonce,
  setTransactionMessageComputeUnitLimit,
  setTransactionMessageComputeUnitPrice,
  setTransactionMessageFeePayer,
  type TransactionMessage,
  type TransactionMessageWithFeePayer,
  type TransactionPartialSigner,
} from '@solana/kit';
import {
  getAllocateWithSeedInstruction,
  getCreateAccountWithSeedInstruction,
  getInitializeNonceAccountInstruction,
  getNonceDecoder,
  getNonceSize,
  getTransferSolInstruction,
  NonceState,
  NonceVersion,
  SYSTEM_PROGRAM_ADDRESS,
} from '@solana-program/system';
import type { Clock } from '../model/clock.ts';
import type { Log } from '../model/log.ts';
import type { Chain, ChainAccount } from './chain.ts';
import { sendAndConfirm } from './send-and-confirm.ts';
import { readComputeUnitPrice } from './sending-terms.ts';
import { signTransaction } from './transactions.ts';

/** Derives the address of a seed's nonce account. It needs no key of its own, so none has to be stored. */
export function nonceAddress(operator: Address, seed: string): Promise<Address> {
  return createAddressWithSeed({ baseAddress: operator, programAddress: SYSTEM_PROGRAM_ADDRESS, seed });
}

export interface CreateNonceDeps {
  readonly chain: Chain;
  readonly clock: Clock;
  /** Pays, and becomes the authority. */
  readonly operator: TransactionPartialSigner;
  /** Lamports of the operator that are not spent on rent. */
  readonly reserveLamports: bigint;
  /** Highest price of a compute unit, in micro-lamports. */
  readonly maxComputeUnitPrice: bigint;
  readonly log?: Pick<Log, 'info' | 'warn'>;
  /** Aborts the wait for a transaction, which may still land. */
  readonly signal?: AbortSignal;
}

/** Nonce accounts that were not created, because the operator cannot pay their rent. */
export interface Unpaid {
  readonly seeds: readonly string[];
  readonly missingLamports: bigint;
}

/**
 * Creates the nonce accounts of these seeds, as far as the operator can pay, and waits until they are confirmed. Existing
 * ones stay unchanged, so it may be repeated after any failure.
 * @throws Error if a transaction fails on chain or expires, or if an address holds anything else.
 */
export async function createNonceAccounts(deps: CreateNonceDeps, seeds: readonly string[]): Promise<Unpaid> {
  const { chain, operator, reserveLamports, log } = deps;
  const addresses = await Promise.all(seeds.map((seed) => nonceAddress(operator.address, seed)));
  const [payer, ...accounts] = await chain.accounts([operator.address, ...addresses]);
  const rentLamports = await chain.minimumBalanceForRentExemption(getNonceSize());
  const creations: Instruction[][] = [];
  const unpaid: string[] = [];
  let leftLamports = (payer?.lamports ?? 0n) - reserveLamports;
  for (const [i, seed] of seeds.entries()) {
    const [address, account] = [addresses[i], accounts[i]];
    if (address === undefined || account === undefined) throw new Error(`No account was read for seed ${seed}.`);
    if (account !== null && nonceIn(account, operator.address) !== null) continue;
    const instructions = creation({ operator, seed, address, account, rentLamports });
    leftLamports -= missingRent(account, rentLamports);
    if (leftLamports < 0n) unpaid.push(seed);
    else creations.push(instructions);
  }
  if (creations.length > 0) {
    const empty = await emptyMessage(deps);
    for (const messages of chunksOf(packed(empty, creations), MAX_NONCE_SENDS)) {
      await Promise.all(messages.map((message) => land(deps, message)));
    }
  }
  const created = creations.length;
  if (created > 0) log?.info({ created, there: seeds.length - created - unpaid.length }, 'nonce accounts created');
  return { seeds: unpaid, missingLamports: leftLamports < 0n ? -leftLamports : 0n };
}

/**
 * Reads the current values of nonce accounts. It omits addresses without one, or whose authority is not the operator.
 */
export async function readNonces(
  chain: Pick<Chain, 'accounts'>,
  operator: Address,
  addresses: readonly Address[],
  commitment: Commitment,
): Promise<Map<Address, Nonce>> {
  const values = new Map<Address, Nonce>();
  for (const account of await chain.accounts(addresses, { commitment })) {
    const value = account && nonceIn(account, operator);
    if (account && value) values.set(account.address, value);
  }
  return values;
}

/** Returns true if an account is neither a nonce of this authority nor one that could become it. */
export function isForeign(account: ChainAccount, authority: Address): boolean {
  const isEmpty = account.programAddress === SYSTEM_PROGRAM_ADDRESS && account.data.length === 0;
  return !isEmpty && nonceIn(account, authority) === null;
}

interface Creation {
  readonly operator: TransactionPartialSigner;
  readonly seed: string;
  readonly address: Address;
  readonly account: ChainAccount | null;
  readonly rentLamports: bigint;
}

function creation({ operator, seed, address, account, rentLamports }: Creation): Instruction[] {
  const initialize = getInitializeNonceAccountInstruction({ nonceAccount: address, nonceAuthority: operator.address });
  const space = BigInt(getNonceSize());
  const seeded = { base: operator.address, seed, space, programAddress: SYSTEM_PROGRAM_ADDRESS };
  if (account === null) {
    const amount = rentLamports;
    return [
      getCreateAccountWithSeedInstruction({ payer: operator, newAccount: address, amount, ...seeded }),
      initialize,
    ];
  }
  if (isForeign(account, operator.address)) {
    throw new Error(
      `${address}, seed ${seed}, holds ${account.data.length} bytes, which are not a nonce of the operator.`,
    );
  }
  // Lamports were sent to the address, so it cannot be created, only allocated.
  const amount = missingRent(account, rentLamports);
  return [
    getTransferSolInstruction({ source: operator, destination: address, amount }),
    getAllocateWithSeedInstruction({ newAccount: address, baseAccount: operator, ...seeded }),
    initialize,
  ];
}

function missingRent(account: ChainAccount | null, rentLamports: bigint): bigint {
  const lamports = account?.lamports ?? 0n;
  return lamports < rentLamports ? rentLamports - lamports : 0n;
}

/** Begins a transaction with nonces, which the operator pays for at the present price of writing its account. */
export async function emptyMessage({
  operator,
  maxComputeUnitPrice,
  ...deps
}: Pick<CreateNonceDeps, 'chain' | 'operator' | 'maxComputeUnitPrice' | 'log'>): Promise<NonceMessage> {
  const price = await readComputeUnitPrice(deps, [operator.address], maxComputeUnitPrice);
  const message = setTransactionMessageFeePayer(operator.address, createTransactionMessage({ version: 0 }));
  return setTransactionMessageComputeUnitPrice(price, setTransactionMessageComputeUnitLimit(COMPUTE_UNITS, message));
}

type NonceMessage = TransactionMessage & TransactionMessageWithFeePayer;

/** More than any of these transactions uses: an instruction of the system program takes 150. */
const COMPUTE_UNITS = 10_000;

/** Fills as few transactions as possible with creations. */
function packed(empty: NonceMessage, creations: readonly Instruction[][]): NonceMessage[] {
  const messages: NonceMessage[] = [];
  for (const instructions of creations) {
    const last = messages.at(-1);
    const grown = last && appendTransactionMessageInstructions(instructions, last);
    if (grown && getTransactionMessageSize(grown) <= MAX_TRANSACTION_BYTES[0]) messages.splice(-1, 1, grown);
    else messages.push(appendTransactionMessageInstructions(instructions, empty));
  }
  return messages;
}

/** Transactions on their way at a time: a burst of inits waits for them. */
export const MAX_NONCE_SENDS = 16;

async function land({ chain, clock, operator, signal }: CreateNonceDeps, message: NonceMessage): Promise<void> {
  const lifetime = await chain.latestBlockhash();
  const { wire, signature } = await signTransaction(message, lifetime, [operator]);
  const { err } = await sendAndConfirm({ chain, clock, signal }, wire, lifetime.lastValidBlockHeight);
  if (err !== null) throw new Error(`Creating nonce accounts failed in ${signature}: ${err}`);
}

/** Reads the nonce of an account; null without one of this authority’s. */
function nonceIn({ programAddress, data }: ChainAccount, authority: Address): Nonce | null {
  if (programAddress !== SYSTEM_PROGRAM_ADDRESS || data.length !== getNonceSize()) return null;
  const { version, state, authority: actual, blockhash } = getNonceDecoder().decode(data);
  const isUsable = version === NonceVersion.Current && state === NonceState.Initialized && actual === authority;
  // A nonce is any 32 bytes in base58, which the client has just encoded.
  return isUsable ? (blockhash as string as Nonce) : null;
}
