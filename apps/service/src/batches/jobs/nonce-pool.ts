import {
  type Address,
  appendTransactionMessageInstructions,
  createTransactionMessage,
  type Nonce,
  setTransactionMessageFeePayer,
} from '@solana/kit';
import { getAdvanceNonceAccountInstruction } from '@solana-program/system';
import type { ChainView } from '../../solana/chain.ts';
import { createNonceAccounts, nonceAddress, readNonces } from '../../solana/nonces.ts';
import { signTransaction } from '../../solana/transactions.ts';
import {
  findNonces,
  forgetNonces,
  type PooledNonce,
  planNonces,
  type ReadSlots,
  setNonceAvailable,
} from '../../store/nonces.ts';
import type { WorkerDeps } from '../deps.ts';

/** Time after which the new value of a used nonce is expected to be finalized. */
const RETRY_MS = 2_000;

interface RefillDeps
  extends Pick<WorkerDeps, 'db' | 'jobs' | 'operator' | 'noncePoolSize' | 'clock' | 'log' | 'signal'> {
  readonly chain: ChainView;
}

/**
 * Job `refill-nonces`: keeps the pool of durable nonces at its size. A nonce's row exists before its account. A nonce that
 * was leased becomes available again only after a finalized read shows a new value: an approval signed on the old value
 * can then never land.
 */
export async function refillNonces(deps: RefillDeps): Promise<void> {
  await planNonces(deps.db, {
    target: deps.noncePoolSize,
    addressOf: (seed) => nonceAddress(deps.operator.address, seed),
  });
  await createPlanned(deps);
  await reclaimUsed(deps);
}

/**
 * Removes the nonces of a previous operator from the pool. The present operator cannot advance them, so no approval may
 * be built on one. Their rent still belongs to the previous operator.
 */
export async function forgetForeignNonces({
  db,
  operator,
  log,
}: Pick<WorkerDeps, 'db' | 'operator' | 'log'>): Promise<void> {
  const pooled = await Promise.all(
    (['creating', 'available', 'refreshing'] as const).map((state) => findNonces(db, state)),
  );
  const isOwn = async ({ address, seed }: PooledNonce) => address === (await nonceAddress(operator.address, seed));
  const own = await Promise.all(pooled.flat().map(isOwn));
  const foreign = pooled.flat().filter((_, i) => !own[i]);
  if (foreign.length === 0) return;
  const forgotten = await forgetNonces(
    db,
    foreign.map(({ address }) => address),
  );
  log.warn({ forgotten, operator: operator.address }, 'nonces of another operator removed from the pool');
}

async function createPlanned(deps: RefillDeps): Promise<void> {
  const { db, chain, operator, clock, signal } = deps;
  const planned = await findNonces(db, 'creating');
  if (planned.length === 0) return;
  await createNonceAccounts(
    deps,
    planned.map(({ seed }) => seed),
  );
  for (;;) {
    const { values, slots } = await readFinalized(chain, operator.address, planned);
    for (const [address, value] of values) await setNonceAvailable(db, address, value, slots);
    if (values.size === planned.length) return;
    await clock.sleep(RETRY_MS / 10, signal);
  }
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
 * be older than the stored one waits for a newer state.
 */
async function reclaimUsed(deps: RefillDeps): Promise<void> {
  const { db, jobs, chain, operator, clock } = deps;
  const used = await findNonces(db, 'refreshing');
  if (used.length === 0) return;
  const { values, slots } = await readFinalized(chain, operator.address, used);
  const unmoved: Address[] = [];
  const unseen = used.filter(({ readSlot }) => readSlot > slots.from);
  for (const { address, value: leasedValue } of used.filter((nonce) => !unseen.includes(nonce))) {
    const value = values.get(address);
    if (value === undefined) throw new Error(`The nonce account ${address} is closed or has another authority.`);
    if (value === leasedValue) unmoved.push(address);
    else await setNonceAvailable(db, address, value, slots);
  }
  if (unseen.length > 0) chain.leaveNode();
  if (unmoved.length > 0) await advanceUnused(deps, unmoved);
  if (unmoved.length + unseen.length === 0) return;
  const startAfter = new Date(clock.now().getTime() + RETRY_MS);
  await jobs.enqueue(db, { type: 'refill-nonces' }, { startAfter });
}

/** Advances nonces whose value is unchanged at `confirmed` too; the others only await finalization. */
async function advanceUnused({ chain, operator, db }: RefillDeps, addresses: readonly Address[]): Promise<void> {
  const leased = new Map((await findNonces(db, 'refreshing')).map(({ address, value }) => [address, value]));
  const confirmed = await readNonces(chain, operator.address, addresses, 'confirmed');
  const unused = addresses.filter((address) => confirmed.get(address) === leased.get(address));
  for (let i = 0; i < unused.length; i += ADVANCES_PER_TRANSACTION) {
    const message = appendTransactionMessageInstructions(
      unused
        .slice(i, i + ADVANCES_PER_TRANSACTION)
        .map((nonceAccount) => getAdvanceNonceAccountInstruction({ nonceAccount, nonceAuthority: operator })),
      setTransactionMessageFeePayer(operator.address, createTransactionMessage({ version: 0 })),
    );
    const { wire } = await signTransaction(message, await chain.latestBlockhash(), [operator]);
    await chain.send(wire);
  }
}

/** About 250 bytes plus 40 for each: far below a transaction's limit of 1,232. */
const ADVANCES_PER_TRANSACTION = 10;
