import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { realClock } from '@flywheel/testing/clock';
import { generateKeyPairSigner } from '@solana/kit';
import {
  getAdvanceNonceAccountInstruction,
  getAuthorizeNonceAccountInstruction,
  getNonceSize,
  getTransferSolInstruction,
} from '@solana-program/system';
import { createNonceAccounts, nonceAddress, readNonces } from '../../src/solana/nonces.ts';
import { type Cluster, land, startCluster } from './cluster.ts';

let cluster: Cluster;
before(async () => {
  cluster = await startCluster();
});
after(() => cluster.localnet.stop());

function deps() {
  return {
    chain: cluster.chain,
    clock: realClock,
    operator: cluster.payer,
    reserveLamports: 0n,
    maxComputeUnitPrice: 5_000n,
  };
}

async function addressesOf(seeds: readonly string[]) {
  return Promise.all(seeds.map((seed) => nonceAddress(cluster.payer.address, seed)));
}

async function read(seeds: readonly string[]) {
  return readNonces(cluster.chain, cluster.payer.address, await addressesOf(seeds), 'confirmed');
}

describe('nonceAddress', () => {
  it('depends only on operator and seed', async () => {
    const [one, other] = [cluster.payer.address, (await generateKeyPairSigner()).address];
    assert.equal(await nonceAddress(one, 'nonce-1'), await nonceAddress(one, 'nonce-1'));
    assert.notEqual(await nonceAddress(one, 'nonce-1'), await nonceAddress(one, 'nonce-2'));
    assert.notEqual(await nonceAddress(one, 'nonce-1'), await nonceAddress(other, 'nonce-1'));
  });

  it('accepts seeds of up to 32 bytes', async () => {
    await nonceAddress(cluster.payer.address, 'x'.repeat(32));
    await assert.rejects(nonceAddress(cluster.payer.address, 'x'.repeat(33)));
  });
});

describe('createNonceAccounts', () => {
  it('creates the requested number, however many fit one transaction, with a value each', async () => {
    const seeds = Array.from({ length: 12 }, (_, i) => `${'seed'.repeat(7)}-${String(i).padStart(3, '0')}`);
    assert.ok(seeds.every((seed) => seed.length === 32));
    await createNonceAccounts(deps(), seeds);
    const values = await read(seeds);
    assert.deepEqual([...values.keys()], await addressesOf(seeds));
    assert.ok([...values.values()].every((value) => value.length >= 32));
  });

  it('keeps existing accounts and creates the rest', async () => {
    await createNonceAccounts(deps(), ['again-1']);
    const before = await read(['again-1']);
    await createNonceAccounts(deps(), ['again-1', 'again-2']);
    const after = await read(['again-1', 'again-2']);
    assert.equal(after.size, 2);
    const [address] = await addressesOf(['again-1']);
    assert.ok(address);
    assert.equal(after.get(address), before.get(address));
  });

  it('creates an account at an address that already holds lamports', async () => {
    const seeds = Array.from({ length: 6 }, (_, i) => `prefunded-${i}`);
    const addresses = await addressesOf(seeds);
    // Below, at and above the rent of a nonce account.
    const gifts = [890_880n, 1_000_000n, 1_447_680n, 2_000_000n, 890_880n, 890_880n];
    await land(
      cluster,
      addresses.map((destination, i) =>
        getTransferSolInstruction({ source: cluster.payer, destination, amount: gifts[i] ?? 0n }),
      ),
    );
    await createNonceAccounts(deps(), seeds);
    assert.equal((await read(seeds)).size, 6);
  });

  it('rejects an address whose nonce has another authority', async () => {
    await createNonceAccounts(deps(), ['given-away']);
    const [nonceAccount] = await addressesOf(['given-away']);
    assert.ok(nonceAccount);
    const newNonceAuthority = (await generateKeyPairSigner()).address;
    await land(cluster, [
      getAuthorizeNonceAccountInstruction({ nonceAccount, nonceAuthority: cluster.payer, newNonceAuthority }),
    ]);
    assert.equal((await read(['given-away'])).size, 0);
    await assert.rejects(createNonceAccounts(deps(), ['given-away']), /seed given-away, holds 80 bytes/);
  });

  it('creates those that the operator can pay, and answers what is missing for the others', async () => {
    const poor = await generateKeyPairSigner();
    const rent = await cluster.chain.minimumBalanceForRentExemption(getNonceSize());
    await cluster.localnet.bank.airdrop(poor.address, rent + 1_000_000n);
    const unpaid = await createNonceAccounts({ ...deps(), operator: poor }, ['payable', 'unpayable']);
    assert.deepEqual(unpaid, { seeds: ['unpayable'], missingLamports: rent - 1_000_000n });
    const addresses = await Promise.all(['payable', 'unpayable'].map((seed) => nonceAddress(poor.address, seed)));
    const values = await readNonces(cluster.chain, poor.address, addresses, 'confirmed');
    assert.deepEqual([...values.keys()], addresses.slice(0, 1));
  });
});

describe('readNonces', () => {
  it('reads the new value after a nonce was advanced, and null for other accounts', async () => {
    await createNonceAccounts(deps(), ['advanced']);
    const [nonceAccount] = await addressesOf(['advanced']);
    assert.ok(nonceAccount);
    const before = (await read(['advanced'])).get(nonceAccount);
    await land(cluster, [getAdvanceNonceAccountInstruction({ nonceAccount, nonceAuthority: cluster.payer })]);
    const asked = [nonceAccount, cluster.payer.address, (await generateKeyPairSigner()).address];
    const values = await readNonces(cluster.chain, cluster.payer.address, asked, 'confirmed');
    assert.deepEqual([...values.keys()], [nonceAccount]);
    assert.notEqual(values.get(nonceAccount), before);
  });
});
