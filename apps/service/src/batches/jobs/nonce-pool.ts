import { chunksOf } from '@flywheel/protocol';
import {
  type Address,
  appendTransactionMessageInstructions,
  type Instruction,
  type Nonce,
  type TransactionPartialSigner,
} from '@solana/kit';
import { getAuthorizeNonceAccountInstruction, getWithdrawNonceAccountInstruction } from '@solana-program/system';
import type { ChainView } from '../../solana/chain.ts';
import {
  createNonceAccounts,
  emptyMessage,
  isForeign,
  MAX_NONCE_SENDS,
  nonceAddress,
  readNonces,
  type Unpaid,
} from '../../solana/nonces.ts';
import { signTransaction } from '../../solana/transactions.ts';
import { dissolveShares, findNonceDemand, type NonceDemand, retireAvailable } from '../../store/nonce-demand.ts';
import {
  findNonces,
  findNoncesWithoutAuthority,
  findUnfinalizedNonces,
  forgetNonces,
  isOperatorInUse,
  type PooledNonce,
  planNonces,
  type ReadSlots,
  setNonceAuthority,
  setNoncesAvailable,
  setNoncesFinalized,
  withholdNonces,
} from '../../store/nonces.ts';
import type { NoncePool, WorkerDeps } from '../deps.ts';
import { OPERATOR_RESERVE_LAMPORTS } from './setup.ts';

/** Time after which more is expected to be finalized. */
const RETRY_MS = 2_000;

interface RefillDeps
  extends Pick<
    WorkerDeps,
    'db' | 'jobs' | 'operator' | 'previousOperator' | 'noncePool' | 'prices' | 'clock' | 'log' | 'signal'
  > {
  readonly chain: ChainView;
}

/**
 * Job `refill-nonces`: makes the pool of durable nonces of each operator in use larger ahead of demand, and smaller after it.
 * Each admitted project has a share of its own, all others have one together. A nonce's row exists before its account. A new
 * nonce is available when its account is confirmed. A nonce that was leased becomes available again only after a finalized
 * read shows a new value: an approval signed on the old value can then never land. Nonces of a previous operator without
 * projects move to the present one, and the rent of those that were being closed goes to it.
 */
export async function refillNonces(deps: RefillDeps): Promise<void> {
  const { previousOperator: previous } = deps;
  await recordAuthorities(deps);
  await dissolveShares(deps.db);
  if (previous === null) return refill(deps);
  await moveNonces(deps, previous);
  const isInUse = await isOperatorInUse(deps.db, previous.address);
  const ofPrevious = { ...deps, operator: previous };
  // An operator without SOL must not keep the other from its nonces.
  const refills = await Promise.allSettled([refill(deps), isInUse ? refill(ofPrevious) : createPlanned(ofPrevious)]);
  if (!isInUse) await closeRetired(deps, previous);
  for (const result of refills) if (result.status === 'rejected') throw result.reason;
}

/**
 * Stores the operators of nonces that an earlier release created, which their addresses tell. It removes the nonces of any
 * other operator from the pool: no approval may be built on a nonce that no operator of this service can advance.
 */
async function recordAuthorities({ db, operator, previousOperator, log }: RefillDeps): Promise<void> {
  const own = [operator, previousOperator].flatMap((signer) => signer?.address ?? []);
  const foreign: Address[] = [];
  for (const { address, seed } of await findNoncesWithoutAuthority(db)) {
    const derived = await Promise.all(own.map((authority) => nonceAddress(authority, seed)));
    const authority = own[derived.indexOf(address)];
    if (authority === undefined) foreign.push(address);
    else await setNonceAuthority(db, address, { from: null, to: authority });
  }
  if (foreign.length === 0) return;
  const forgotten = await forgetNonces(db, foreign);
  log.warn({ forgotten, operator: operator.address }, 'nonces of another operator removed from the pool');
}

/**
 * Gives the nonces of a previous operator to the present one, once no project has the previous one. An approval that was
 * signed on one of them becomes invalid by that, because it names the previous authority.
 */
async function moveNonces(deps: RefillDeps, from: TransactionPartialSigner): Promise<void> {
  const { db, jobs, chain, clock, operator, log } = deps;
  await withholdNonces(db, from.address);
  const withheld = await findNonces(db, 'refreshing', from.address);
  const addresses = withheld.map(({ address }) => address);
  if (addresses.length === 0) return;
  const { slot: readFrom } = await chain.finalizedBlock();
  // In this order, one of them has what moves meanwhile.
  const held = await readNonces(chain, from.address, addresses, 'finalized');
  const moved = await readNonces(chain, operator.address, addresses, 'finalized');
  await setNoncesFinalized(db, moved);
  for (const address of moved.keys())
    await setNonceAuthority(db, address, { from: from.address, to: operator.address });
  if (moved.size > 0) log.info({ moved: moved.size, from: from.address, to: operator.address }, 'nonces moved');
  if (moved.size === addresses.length || (await isOperatorInUse(db, from.address))) return;
  const missing = withheld.filter(({ address }) => !held.has(address) && !moved.has(address));
  const unseen = missing.filter(({ readSlot }) => readSlot > readFrom);
  if (unseen.length > 0) chain.leaveNode();
  const isTaken = (nonce: PooledNonce) => nonce.isFinalized && !unseen.includes(nonce);
  const taken = missing.filter(isTaken).map(({ address }) => address);
  await forgetTaken(deps, from.address, taken);
  if (moved.size + taken.length === addresses.length) return;
  // An account that a fork may take away must stay with the operator that would create it again.
  const movable = withheld.filter(({ isFinalized }) => isFinalized).map(({ address }) => address);
  const unmoved = await readNonces(chain, from.address, movable, 'confirmed');
  await sendInGroups(deps, [...unmoved.keys()], from, (nonceAccount) =>
    getAuthorizeNonceAccountInstruction({
      nonceAccount,
      nonceAuthority: from,
      newNonceAuthority: operator.address,
    }),
  );
  const startAfter = new Date(clock.now().getTime() + RETRY_MS);
  await jobs.enqueue(db, { type: 'refill-nonces' }, { startAfter });
}

/**
 * Removes nonces that never come back: a thief of an operator's key has closed them or given them to another authority, or
 * this service has closed them before its database was restored.
 */
async function forgetTaken({ db, log }: RefillDeps, authority: Address, taken: readonly Address[]): Promise<void> {
  if (taken.length === 0) return;
  // Leased ones stay until their batch has ended.
  if ((await forgetNonces(db, taken)) === 0) return;
  log.warn({ authority, taken }, 'nonces whose accounts are closed, or not the operator’s any more, were removed');
}

/** Fills the shares of an operator, reclaims its used nonces, and closes those that are not needed any more. */
async function refill(deps: RefillDeps): Promise<void> {
  const { db, operator, noncePool } = deps;
  const { address: authority } = operator;
  for (const demand of await findNonceDemand(db, authority)) {
    const { share, available } = demand;
    const { free, max, surplus } = planShare(demand, noncePool);
    await planNonces(db, { target: free, max, authority, share, addressOf: (seed) => nonceAddress(authority, seed) });
    if (surplus > 0) await retireAvailable(db, { authority, share, count: Math.min(surplus, available) });
  }
  // Creations may lack SOL. What costs none, or brings rent back, must not wait for it.
  const [created] = await Promise.allSettled([createPlanned(deps)]);
  await reclaimUsed(deps);
  await closeRetired(deps, operator);
  if (created.status === 'rejected') throw created.reason;
}

/**
 * Decides how many free nonces a share should have, and how many available ones are too many. A share has at least its
 * least number. Ahead of demand it has twice as many as were leased within the last minute, because demand that grows is not
 * to wait for creations, and beside that one for each init that waits. It keeps what ten minutes needed.
 */
export function planShare(
  { share, leased, available, leasedLately, leasedBefore, waiting }: NonceDemand,
  { size, max, perAdmitted }: NoncePool,
): { readonly free: number; readonly max: number; readonly surplus: number } {
  const least = share === null ? size : perAdmitted;
  const most = Math.max(max, least);
  const room = Math.max(0, most - leased);
  const free = Math.min(Math.max(least, 2 * leasedLately) + waiting, room);
  const kept = Math.min(Math.max(free, leasedBefore), room);
  // A few too many cost less than closing and creating them again.
  const surplus = available > kept * 1.25 + 1 ? available - kept : 0;
  return { free, max: most, surplus };
}

/** A refill creates as many at most; another one follows it at once, and sees what admitted projects need by then. */
const MAX_CREATED = 64;

/**
 * Creates the accounts of recorded nonces, those of admitted projects first. They are available as soon as they are
 * confirmed, because an init does not wait until they are finalized (13 s).
 * @throws Error if the operator cannot pay for all of them, after those that it can pay for are available.
 */
async function createPlanned(deps: RefillDeps): Promise<void> {
  const { db, jobs, chain, operator, clock, signal } = deps;
  const recorded = await findNonces(db, 'creating', operator.address);
  const planned = await forgetForeign(deps, recorded.slice(0, MAX_CREATED));
  const unpaid = await createPayable(deps, planned);
  const paid = planned.filter(({ seed }) => !unpaid.seeds.includes(seed));
  if (recorded.length > paid.length && unpaid.seeds.length === 0) await jobs.enqueue(db, { type: 'refill-nonces' });
  const addresses = paid.map(({ address }) => address);
  for (let [created, polls] = [0, 0]; created < paid.length; polls += 1) {
    const missing = paid.length - created;
    if (polls === MAX_CREATED_POLLS) {
      throw new Error(`${missing} of ${paid.length} new nonce accounts of ${operator.address} cannot be read.`);
    }
    const values = await readNonces(chain, operator.address, addresses, 'confirmed');
    // `from` 0 skips every nonce that was read before: only a finalized value may follow another one.
    await setNoncesAvailable(db, values, { from: 0n, to: await chain.slot() });
    created = values.size;
    if (created < paid.length) await clock.sleep(RETRY_MS / 10, signal);
  }
  await followCreated(deps);
  requirePaid(deps, unpaid);
}

/**
 * Removes those of the operator's nonces at whose addresses the cluster has finalized something else, or they would keep the
 * others from being created.
 * @returns the others.
 */
async function forgetForeign(deps: RefillDeps, nonces: readonly PooledNonce[]): Promise<readonly PooledNonce[]> {
  const { address: authority } = deps.operator;
  if (nonces.length === 0) return nonces;
  const addresses = nonces.map(({ address }) => address);
  const finalized = await deps.chain.accounts(addresses, { commitment: 'finalized' });
  const foreign = finalized.flatMap((account) => (account && isForeign(account, authority) ? [account.address] : []));
  await forgetTaken(deps, authority, foreign);
  return nonces.filter(({ address }) => !foreign.includes(address));
}

/** Creates the accounts of these nonces, as far as the operator can pay them beside its reserve. */
async function createPayable(deps: RefillDeps, nonces: readonly PooledNonce[]): Promise<Unpaid> {
  if (nonces.length === 0) return { seeds: [], missingLamports: 0n };
  const seeds = nonces.map(({ seed }) => seed);
  return createNonceAccounts({ ...deps, ...deps.prices, reserveLamports: OPERATOR_RESERVE_LAMPORTS }, seeds);
}

/** Fails the job, which is then tried again, if the operator could not pay for all accounts. */
function requirePaid({ operator }: RefillDeps, { seeds, missingLamports }: Unpaid): void {
  if (seeds.length === 0) return;
  throw new Error(
    `The operator ${operator.address} lacks ${missingLamports} lamports for ${seeds.length} new nonce accounts and its reserve.`,
  );
}

/** Ten seconds. An account that is not shown then was taken away, by a fork or with the operator's key. */
const MAX_CREATED_POLLS = 50;

/**
 * Follows new accounts until they are finalized, and creates one again that a fork took away. An approval signed on its lost
 * value can never land: execute then asks for a signature on the new one, as after every other advance.
 */
async function followCreated(deps: RefillDeps): Promise<void> {
  const { db, jobs, chain, operator, clock } = deps;
  const created = await findUnfinalizedNonces(db, operator.address);
  if (created.length === 0) return;
  const addresses = created.map(({ address }) => address);
  const finalized = await readNonces(chain, operator.address, addresses, 'finalized');
  await setNoncesFinalized(db, finalized);
  const pending = await forgetForeign(
    deps,
    created.filter(({ address }) => !finalized.has(address)),
  );
  if (pending.length === 0) return;
  requirePaid(deps, await createPayable(deps, pending));
  const startAfter = new Date(clock.now().getTime() + RETRY_MS);
  await jobs.enqueue(db, { type: 'refill-nonces' }, { startAfter });
}

/** Reads finalized values, and between which slots the cluster had finalized them. */
async function readFinalized(
  chain: ChainView,
  operator: Address,
  nonces: readonly PooledNonce[],
): Promise<{ readonly values: ReadonlyMap<Address, Nonce>; readonly slots: ReadSlots }> {
  const addresses = nonces.map(({ address }) => address);
  // A view never goes back: the values are at least as new as the first slot, and no newer than the last one.
  const { slot: from } = await chain.finalizedBlock();
  const values = await readNonces(chain, operator, addresses, 'finalized');
  const { slot: to } = await chain.finalizedBlock();
  return { values, slots: { from, to } };
}

/**
 * Makes used nonces available again with their new values. A nonce with an unchanged value belonged to a batch that ended
 * before its approval was sent. It is advanced, which voids that approval, and is reclaimed by a later job. A value that may
 * be older than the stored one waits for a newer state. A nonce without an account of the operator's leaves the pool, or no
 * other one would ever be reclaimed.
 */
async function reclaimUsed(deps: RefillDeps): Promise<void> {
  const { db, jobs, chain, operator, clock } = deps;
  // A job follows the others until their accounts are finalized.
  const used = (await findNonces(db, 'refreshing', operator.address)).filter(({ isFinalized }) => isFinalized);
  if (used.length === 0) return;
  const { values, slots } = await readFinalized(chain, operator.address, used);
  const unmoved: Address[] = [];
  const gone: Address[] = [];
  const moved = new Map<Address, Nonce>();
  const unseen = used.filter(({ readSlot }) => readSlot > slots.from);
  for (const { address, value: leasedValue } of used.filter((nonce) => !unseen.includes(nonce))) {
    const value = values.get(address);
    if (value === undefined) gone.push(address);
    else if (value === leasedValue) unmoved.push(address);
    else moved.set(address, value);
  }
  await setNoncesAvailable(db, moved, slots);
  await forgetTaken(deps, operator.address, gone);
  if (unseen.length > 0) chain.leaveNode();
  if (unmoved.length > 0) await advanceUnused(deps, unmoved);
  if (unmoved.length + unseen.length === 0) return;
  const startAfter = new Date(clock.now().getTime() + RETRY_MS);
  await jobs.enqueue(db, { type: 'refill-nonces' }, { startAfter });
}

/**
 * Advances nonces whose value is unchanged at `confirmed` too; the others only await finalization. Each transaction has the
 * nonce itself as its lifetime, so it lands once however often it is sent. On a recent block, a second one could land after
 * the nonce was lent again, and make an approval invalid that a person is about to sign.
 */
async function advanceUnused(deps: RefillDeps, addresses: readonly Address[]): Promise<void> {
  const { chain, operator, db } = deps;
  const used = await findNonces(db, 'refreshing', operator.address);
  const leased = new Map(used.map(({ address, value }) => [address, value]));
  const confirmed = await readNonces(chain, operator.address, addresses, 'confirmed');
  const unused = [...confirmed].filter(([address, nonce]) => nonce === leased.get(address));
  if (unused.length === 0) return;
  const empty = await emptyMessage({ ...deps, ...deps.prices });
  const advance = async ([nonceAccountAddress, nonce]: readonly [Address, Nonce]) => {
    // The lifetime is the advance: it is the first instruction of each transaction on a nonce.
    const lifetime = { nonce, nonceAccountAddress, nonceAuthorityAddress: operator.address };
    const { wire } = await signTransaction(empty, lifetime, [operator]);
    await chain.send(wire);
  };
  for (const some of chunksOf(unused, MAX_NONCE_SENDS)) await Promise.all(some.map(advance));
}

/**
 * Closes nonce accounts of an authority that are not needed any more, which gives their rent to the operator. Their rows stay
 * until a finalized read shows no account: until then nothing else may use them. A read that may be older than the account
 * shows nothing.
 */
async function closeRetired(deps: RefillDeps, authority: TransactionPartialSigner): Promise<void> {
  const { db, jobs, chain, clock, operator, log } = deps;
  const retired = await findNonces(db, 'closing', authority.address);
  if (retired.length === 0) return;
  const { slot: readFrom } = await chain.finalizedBlock();
  const seen = retired.filter(({ readSlot }) => readSlot <= readFrom).map(({ address }) => address);
  if (seen.length < retired.length) chain.leaveNode();
  const finalized = await chain.accounts(seen, { commitment: 'finalized' });
  const closed = seen.filter((_, i) => finalized[i] === null);
  if (closed.length > 0) log.info({ closed: await forgetNonces(db, closed) }, 'nonce accounts closed');
  const there = seen.filter((address) => !closed.includes(address));
  const held = await readNonces(chain, authority.address, there, 'finalized');
  const left = there.filter((address) => held.has(address));
  const taken = there.filter((address) => !held.has(address));
  await forgetTaken(deps, authority.address, taken);
  if (left.length + retired.length === seen.length) return;
  const lamports = new Map<Address, bigint>();
  for (const account of await chain.accounts(left)) if (account) lamports.set(account.address, account.lamports);
  await sendInGroups(deps, [...lamports.keys()], authority, (nonceAccount) =>
    getWithdrawNonceAccountInstruction({
      nonceAccount,
      recipientAccount: operator.address,
      nonceAuthority: authority,
      withdrawAmount: lamports.get(nonceAccount) ?? 0n,
    }),
  );
  const startAfter = new Date(clock.now().getTime() + RETRY_MS);
  await jobs.enqueue(db, { type: 'refill-nonces' }, { startAfter });
}

/** Sends one instruction for each nonce, many in a transaction. The operator pays; `authority` is the nonces' signer. */
async function sendInGroups(
  deps: RefillDeps,
  addresses: readonly Address[],
  authority: TransactionPartialSigner,
  instructionOf: (nonceAccount: Address) => Instruction,
): Promise<void> {
  if (addresses.length === 0) return;
  const { chain, operator } = deps;
  const empty = await emptyMessage({ ...deps, ...deps.prices });
  for (const some of chunksOf(addresses, NONCES_PER_TRANSACTION)) {
    const message = appendTransactionMessageInstructions(some.map(instructionOf), empty);
    const signers = authority.address === operator.address ? [operator] : [operator, authority];
    const { wire } = await signTransaction(message, await chain.latestBlockhash(), signers);
    await chain.send(wire);
  }
}

/** About 350 bytes with two signatures, plus at most 75 for each: far below a transaction's limit of 1,232. */
const NONCES_PER_TRANSACTION = 10;
