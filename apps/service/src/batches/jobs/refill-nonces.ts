import {
  type Address,
  appendTransactionMessageInstructions,
  createTransactionMessage,
  setTransactionMessageFeePayer,
} from '@solana/kit';
import { getAdvanceNonceAccountInstruction } from '@solana-program/system';
import { createNonceAccounts, nonceAddress, readNonces } from '../../solana/nonces.ts';
import { signTransaction } from '../../solana/transactions.ts';
import {
  findNonces,
  forgetNonces,
  type PooledNonce,
  planNonces,
  setNonceAvailable,
} from '../../store/landing/nonces.ts';
import type { WorkerDeps } from '../deps.ts';

/** How soon after a nonce was used its new value may be final. */
const RETRY_MS = 2_000;

/**
 * Keeps the pool of durable nonces at its size. A row exists before its account does; a nonce that was leased comes back
 * only after a finalized read shows a new value, so that no approval ever signed on the old one can still land.
 */
export async function refillNonces(deps: WorkerDeps): Promise<void> {
  await planNonces(deps.db, {
    target: deps.noncePoolSize,
    addressOf: (seed) => nonceAddress(deps.operator.address, seed),
  });
  await createPlanned(deps);
  await takeBackUsed(deps);
}

/**
 * When the operator was replaced, its nonces can be advanced by nobody here: no approval may be built on one. Their rent
 * stays its own.
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
  log.warn({ forgotten, operator: operator.address }, 'nonces of another operator forgotten');
}

async function createPlanned(deps: WorkerDeps): Promise<void> {
  const { db, chain, operator, clock, signal } = deps;
  const planned = await findNonces(db, 'creating');
  if (planned.length === 0) return;
  await createNonceAccounts(
    deps,
    planned.map(({ seed }) => seed),
  );
  for (;;) {
    const values = await readNonces(
      chain,
      operator.address,
      planned.map(({ address }) => address),
      'finalized',
    );
    for (const [address, value] of values) await setNonceAvailable(db, address, value);
    if (values.size === planned.length) return;
    await clock.sleep(RETRY_MS / 10, signal);
  }
}

/**
 * What was leased comes back on its new value. One whose value has not moved belonged to a batch that ended before its
 * approval was sent: it is advanced, so that the approval is void, and comes back by a later run.
 */
async function takeBackUsed(deps: WorkerDeps): Promise<void> {
  const { db, jobs, chain, operator, clock } = deps;
  const used = await findNonces(db, 'refreshing');
  if (used.length === 0) return;
  const values = await readNonces(
    chain,
    operator.address,
    used.map(({ address }) => address),
    'finalized',
  );
  const unmoved: Address[] = [];
  for (const { address, value: leasedValue } of used) {
    const value = values.get(address);
    if (value === undefined) throw new Error(`The nonce account ${address} is gone or no longer the operator’s.`);
    if (value === leasedValue) unmoved.push(address);
    else await setNonceAvailable(db, address, value);
  }
  if (unmoved.length === 0) return;
  await advanceUnused(deps, unmoved);
  const startAfter = new Date(clock.now().getTime() + RETRY_MS);
  await jobs.enqueue(db, { type: 'refill-nonces' }, { startAfter });
}

/** Those whose approval has landed have moved already at `confirmed`, and only wait to be final. */
async function advanceUnused({ chain, operator, db }: WorkerDeps, addresses: readonly Address[]): Promise<void> {
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

/** 40 bytes each beside about 250: far below a transaction’s 1,232. */
const ADVANCES_PER_TRANSACTION = 10;
