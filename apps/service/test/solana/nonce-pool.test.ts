import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { waitUntil } from '@flywheel/testing/batches';
import { realClock } from '@flywheel/testing/clock';
import { openTestDatabase, quietLog } from '@flywheel/testing/postgres';
import { newProject, storeProject } from '@flywheel/testing/records';
import { finalizeSlots, pauseSlots, resumeSlots } from '@flywheel/testing/slots';
import {
  type Address,
  type Base64EncodedWireTransaction,
  decompileTransactionMessage,
  generateKeyPairSigner,
  getBase64Encoder,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
  getTransactionMessageComputeUnitPrice,
  type KeyPairSigner,
  type Nonce,
} from '@solana/kit';
import {
  getAuthorizeNonceAccountInstruction,
  getNonceSize,
  getWithdrawNonceAccountInstruction,
} from '@solana-program/system';
import { refillNonces } from '../../src/batches/jobs/nonce-pool.ts';
import { OPERATOR_RESERVE_LAMPORTS } from '../../src/batches/jobs/setup.ts';
import type { Clock } from '../../src/model/clock.ts';
import type { ChainView } from '../../src/solana/chain.ts';
import { readNonces } from '../../src/solana/nonces.ts';
import { signatureOf } from '../../src/solana/transactions.ts';
import type { Db } from '../../src/store/db.ts';
import { reportWaiters, retireAvailable } from '../../src/store/nonce-demand.ts';
import { findNonces, findUnfinalizedNonces } from '../../src/store/nonces.ts';
import { type Cluster, land, startCluster } from './cluster.ts';

const MAX_COMPUTE_UNIT_PRICE = 5_000n;

let cluster: Cluster;
before(async () => {
  cluster = await startCluster();
});
after(() => cluster.localnet.stop());

describe('refillNonces', () => {
  it('follows demand: it creates what waiting inits need, and closes it afterwards, with the rent back', async () => {
    const { db } = await openTestDatabase();
    const { payer } = cluster;
    const project = newProject();
    const { multisig } = project.flywheel;
    await storeProject(db, {
      ...project,
      flywheel: { ...project.flywheel, multisig: { ...multisig, operator: payer.address } },
    });
    const before = await lamportsOf(payer.address);
    const process = randomUUID();
    await reportWaiters(db, process, new Map([[multisig.address, 6]]));
    await refill(db, payer, { size: 2 });
    const created = await findNonces(db, 'available');
    assert.equal(created.length, 8);

    await reportWaiters(db, process, new Map());
    await refillUntil(db, payer, { size: 2 }, async () => (await countNonces(db)) === 2);
    const kept = await findNonces(db, 'available');
    const accounts = await cluster.chain.accounts(created.map(({ address }) => address));
    assert.deepEqual(
      accounts.flatMap((account) => account?.address ?? []),
      kept.map(({ address }) => address),
    );
    assertFeesOnly(before - (await rentOf(2)) - (await lamportsOf(payer.address)));
  });

  it('closes what a previous operator without projects was closing, and gives its rent to the present one', async () => {
    const { db } = await openTestDatabase();
    const previous = await generateKeyPairSigner();
    await cluster.localnet.bank.airdrop(previous.address, 1_000_000_000n);
    await refill(db, previous, { size: 3 });
    await finalizeSlots(cluster);
    await refill(db, previous, { size: 3 });
    await retireAvailable(db, { authority: previous.address, share: null, count: 1 });
    assert.equal((await findNonces(db, 'closing', previous.address)).length, 1);
    const [ofPrevious, ofPresent] = [await lamportsOf(previous.address), await lamportsOf(cluster.payer.address)];
    await refillUntil(db, cluster.payer, { size: 0, previous }, async () => (await countNonces(db)) === 0);
    assert.equal(await lamportsOf(previous.address), ofPrevious);
    assertFeesOnly(ofPresent + (await rentOf(3)) - (await lamportsOf(cluster.payer.address)));
  });

  it('moves and closes the others if a thief of the previous operator’s key has taken nonces', async () => {
    const { db } = await openTestDatabase();
    const previous = await generateKeyPairSigner();
    await cluster.localnet.bank.airdrop(previous.address, 1_000_000_000n);
    await refill(db, previous, { size: 4 });
    await finalizeSlots(cluster);
    await refill(db, previous, { size: 4 });
    await retireAvailable(db, { authority: previous.address, share: null, count: 2 });
    const { address: newNonceAuthority } = await generateKeyPairSigner();
    for (const state of ['available', 'closing'] as const) {
      const [taken] = await findNonces(db, state, previous.address);
      assert.ok(taken);
      const accounts = { nonceAccount: taken.address, nonceAuthority: previous, newNonceAuthority };
      await land(cluster, [getAuthorizeNonceAccountInstruction(accounts)], [previous]);
    }
    await finalizeSlots(cluster);
    const ofPresent = await lamportsOf(cluster.payer.address);
    const isMoved = async () => (await findNonces(db, 'available', cluster.payer.address)).length === 1;
    await refillUntil(db, cluster.payer, { size: 0, previous }, isMoved);
    assert.equal(await countNonces(db), 1);
    assertFeesOnly(ofPresent + (await rentOf(1)) - (await lamportsOf(cluster.payer.address)));
  });

  it('replaces nonces that a thief of the operator’s key has taken before they were recorded as finalized', async () => {
    const { db } = await openTestDatabase();
    const operator = await generateKeyPairSigner();
    await cluster.localnet.bank.airdrop(operator.address, 1_000_000_000n);
    await refill(db, operator, { size: 3 });
    const [created, followed] = await findNonces(db, 'available');
    assert.ok(created && followed);
    await db
      .updateTable('nonces')
      .set({ state: 'creating', value: null, read_slot: 0n })
      .where('address', '=', created.address)
      .execute();
    const { address: newNonceAuthority } = await generateKeyPairSigner();
    for (const { address: nonceAccount } of [created, followed]) {
      const accounts = { nonceAccount, nonceAuthority: operator, newNonceAuthority };
      await land(cluster, [getAuthorizeNonceAccountInstruction(accounts)], [operator]);
    }
    await finalizeSlots(cluster);
    const findAvailable = async () => (await findNonces(db, 'available')).map(({ address }) => address);
    const isReplaced = async () =>
      (await findAvailable()).length === 3 && !(await findAvailable()).includes(followed.address);
    await refillUntil(db, operator, { size: 3 }, isReplaced);
    assert.equal(await countNonces(db), 3);
  });

  it('keeps nonces whose accounts a node that is behind does not show, and closes and moves them later', async () => {
    const { db } = await openTestDatabase();
    const previous = await generateKeyPairSigner();
    await cluster.localnet.bank.airdrop(previous.address, 1_000_000_000n);
    await refill(db, previous, { size: 2 });
    await finalizeSlots(cluster);
    await refill(db, previous, { size: 2 });
    await retireAvailable(db, { authority: previous.address, share: null, count: 1 });
    const view = cluster.chain.view();
    const chain: ChainView = {
      ...view,
      finalizedBlock: async () => ({ ...(await view.finalizedBlock()), slot: 0n }),
      accounts: async (addresses) => addresses.map(() => null),
    };
    await refill(db, cluster.payer, { size: 0, previous, chain });
    assert.equal(await countNonces(db), 2);
    const ofPresent = await lamportsOf(cluster.payer.address);
    const isMoved = async () => (await findNonces(db, 'available', cluster.payer.address)).length === 1;
    await refillUntil(db, cluster.payer, { size: 0, previous }, isMoved);
    assertFeesOnly(ofPresent + (await rentOf(1)) - (await lamportsOf(cluster.payer.address)));
  });

  it('reclaims the others if the account of a used nonce is gone, as after a restore of the database', async () => {
    const { db } = await openTestDatabase();
    const operator = await generateKeyPairSigner();
    await cluster.localnet.bank.airdrop(operator.address, 1_000_000_000n);
    await refill(db, operator, { size: 2 });
    await finalizeSlots(cluster);
    await refill(db, operator, { size: 2 });
    const [gone, used] = await findNonces(db, 'available', operator.address);
    assert.ok(gone && used);
    const accounts = { nonceAccount: gone.address, recipientAccount: operator.address, nonceAuthority: operator };
    await land(
      cluster,
      [getWithdrawNonceAccountInstruction({ ...accounts, withdrawAmount: await rentOf(1) })],
      [operator],
    );
    await finalizeSlots(cluster);
    await db.updateTable('nonces').set({ state: 'refreshing' }).execute();
    const findAvailable = () => findNonces(db, 'available', operator.address);
    await refillUntil(db, operator, { size: 1 }, async () => (await findAvailable()).length > 0);
    assert.deepEqual(
      (await findAvailable()).map(({ address }) => address),
      [used.address],
    );
    assert.equal(await countNonces(db), 1);
  });

  it('creates only what the operator pays above its reserve, and reclaims used nonces meanwhile', async () => {
    const { db } = await openTestDatabase();
    const operator = await generateKeyPairSigner();
    await cluster.localnet.bank.airdrop(operator.address, OPERATOR_RESERVE_LAMPORTS + (await rentOf(4)));
    await refill(db, operator, { size: 1 });
    await finalizeSlots(cluster);
    await refill(db, operator, { size: 1 });
    await db
      .updateTable('nonces')
      .set({ state: 'refreshing', value: 'used' as Nonce })
      .execute();
    // Fees have taken a part of the three rents.
    await assert.rejects(refill(db, operator, { size: 10 }), /lacks \d+ lamports for 7 new nonce accounts/);
    assert.equal((await findNonces(db, 'available')).length, 3);
    const left = await lamportsOf(operator.address);
    assert.ok(left > OPERATOR_RESERVE_LAMPORTS, `${left} lamports`);
    await finalizeSlots(cluster);
    await assert.rejects(refill(db, operator, { size: 10 }), /lacks \d+ lamports for 7 new nonce accounts/);
    assert.equal(await lamportsOf(operator.address), left);
    await cluster.localnet.bank.airdrop(operator.address, await rentOf(7));
    await refill(db, operator, { size: 10 });
    assert.equal((await findNonces(db, 'available')).length, 10);
  });

  it('advances an unused nonce once, though it sends a transaction again before it sees the first one land', async () => {
    const { db } = await openTestDatabase();
    const { payer, chain, localnet } = cluster;
    await refill(db, payer, { size: 1 });
    await finalizeSlots(cluster);
    await refill(db, payer, { size: 1 });
    await db.updateTable('nonces').set({ state: 'refreshing' }).execute();
    const [nonce] = await findNonces(db, 'refreshing');
    assert.ok(nonce);
    await pauseSlots(cluster);
    const sent: Base64EncodedWireTransaction[] = [];
    const send = async (wire: Base64EncodedWireTransaction) => {
      sent.push(wire);
      return signatureOf(wire);
    };
    const holding = { ...chain.view(), send };
    for (let refills = 0; refills < 2; refills++) {
      await refill(db, payer, { size: 0, chain: holding });
      for (let slots = 0; slots < 3; slots++) localnet.warp();
    }
    assert.equal(sent.length, 2);
    const values = new Set<string>();
    for (const wire of sent) {
      // A node that simulates first refuses the second one.
      await chain.send(wire).catch(() => undefined);
      for (let slots = 0; slots < 3; slots++) localnet.warp();
      values.add((await readNonces(chain, payer.address, [nonce.address], 'confirmed')).get(nonce.address) ?? 'none');
    }
    await resumeSlots(cluster);
    assert.equal(values.size, 1);
    assert.ok(!values.has(nonce.value ?? 'none'));
  });

  it('advances unused nonces without waiting for each', async () => {
    const { db } = await openTestDatabase();
    const { payer } = cluster;
    for (let refills = 0; refills < 2; refills++) {
      await refill(db, payer, { size: 3 });
      await finalizeSlots(cluster);
    }
    await db.updateTable('nonces').set({ state: 'refreshing' }).execute();
    let sends = 0;
    const send = async (wire: Base64EncodedWireTransaction) => {
      sends += 1;
      await waitUntil(
        'the other transactions',
        async () => sends,
        (count) => count === 3,
        { timeoutMs: 20_000 },
      );
      return signatureOf(wire);
    };
    await refill(db, payer, { size: 0, chain: { ...cluster.chain.view(), send } });
    assert.equal(sends, 3);
  });

  it('creates, advances and closes nonces at the price that others pay, up to the maximum', async () => {
    const { db } = await openTestDatabase();
    const { payer } = cluster;
    const view = cluster.chain.view();
    const prices: (bigint | undefined)[] = [];
    const chain: ChainView = {
      ...view,
      recentPrioritizationFees: async () => [2n * MAX_COMPUTE_UNIT_PRICE],
      send: async (wire) => {
        prices.push(computeUnitPriceOf(wire));
        return view.send(wire);
      },
    };
    const refillFinalized = async (size: number) => {
      await refill(db, payer, { size, chain });
      await finalizeSlots(cluster);
    };
    for (let refills = 0; refills < 2; refills++) await refillFinalized(2);
    await retireAvailable(db, { authority: payer.address, share: null, count: 1 });
    await db.updateTable('nonces').set({ state: 'refreshing' }).where('state', '=', 'available').execute();
    await refillFinalized(0);
    assert.deepEqual(prices, [MAX_COMPUTE_UNIT_PRICE, MAX_COMPUTE_UNIT_PRICE, MAX_COMPUTE_UNIT_PRICE]);
  });

  it('throws if a new account is taken before it is read, instead of waiting for it', async () => {
    const { db } = await openTestDatabase();
    const view = cluster.chain.view();
    const accounts = async ([first, ...others]: readonly Address[]) =>
      first === cluster.payer.address
        ? [...(await view.accounts([first])), ...others.map(() => null)]
        : [first, ...others].map(() => null);
    const chain = { ...view, accounts };
    const clock = { ...realClock, sleep: () => setImmediate() };
    await assert.rejects(refill(db, cluster.payer, { size: 2, chain, clock }), /2 of 2 new nonce accounts/);
  });

  it('makes a nonce available before its account is finalized, and creates it again if a fork takes it away', async () => {
    const { db } = await openTestDatabase();
    const { payer, chain, localnet } = cluster;
    await pauseSlots(cluster);
    const readValue = async () => {
      const [planned] = await findNonces(db, 'creating');
      const [available] = await findNonces(db, 'available');
      const address = (planned ?? available)?.address;
      return address && (await readNonces(chain, payer.address, [address], 'confirmed')).get(address);
    };
    const refilled = refill(db, payer, { size: 1 });
    while ((await readValue()) === undefined) await localnet.warp();
    await refilled;
    const [nonce] = await findNonces(db, 'available');
    assert.deepEqual([nonce?.value, nonce?.isFinalized], [await readValue(), false]);

    while ((await readValue()) !== undefined) localnet.fork();
    await resumeSlots(cluster);
    await refillUntil(
      db,
      payer,
      { size: 1 },
      async () => (await findUnfinalizedNonces(db, payer.address)).length === 0,
    );
    const [again] = await findNonces(db, 'available');
    assert.equal(again?.address, nonce?.address);
    assert.equal(again?.value, await readValue());
  });
});

interface RefillOptions {
  readonly size: number;
  readonly previous?: KeyPairSigner;
  readonly chain?: ChainView;
  readonly clock?: Clock;
}

function refill(
  db: Db,
  operator: KeyPairSigner,
  { size, previous, chain = cluster.chain.view(), clock = realClock }: RefillOptions,
): Promise<void> {
  return refillNonces({
    ...{ db, operator, chain, clock, log: quietLog, signal: new AbortController().signal },
    previousOperator: previous ?? null,
    noncePool: { size, max: 100, perAdmitted: 0 },
    prices: { maxTipLamports: 0n, maxComputeUnitPrice: MAX_COMPUTE_UNIT_PRICE },
    jobs: { enqueue: async () => undefined, enqueueAll: async () => undefined },
  });
}

/** Refills as the job does that each refill requests, with everything finalized that the one before has sent. */
async function refillUntil(
  db: Db,
  operator: KeyPairSigner,
  options: RefillOptions,
  isReached: () => Promise<boolean>,
): Promise<void> {
  for (let round = 0; !(await isReached()); round++) {
    assert.ok(round < 10, 'ten refills were not enough');
    await refill(db, operator, options);
    await finalizeSlots(cluster);
  }
}

function computeUnitPriceOf(wire: Base64EncodedWireTransaction): bigint | undefined {
  const { messageBytes } = getTransactionDecoder().decode(getBase64Encoder().encode(wire));
  const message = decompileTransactionMessage(getCompiledTransactionMessageDecoder().decode(messageBytes));
  assert.ok(message.version === 0);
  return getTransactionMessageComputeUnitPrice(message);
}

async function countNonces(db: Db): Promise<number> {
  return (await db.selectFrom('nonces').select('address').execute()).length;
}

async function lamportsOf(address: Address): Promise<bigint> {
  const [account] = await cluster.chain.accounts([address]);
  return account?.lamports ?? 0n;
}

async function rentOf(nonces: number): Promise<bigint> {
  return BigInt(nonces) * (await cluster.chain.minimumBalanceForRentExemption(getNonceSize()));
}

function assertFeesOnly(lamports: bigint): void {
  assert.ok(lamports > 0n && lamports < 200_000n, `${lamports} lamports`);
}
