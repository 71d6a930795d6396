import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { send } from '@flywheel/testing/client';
import { requireOk } from '@flywheel/testing/project';
import { openWorld, type World } from '@flywheel/testing/world';
import { createEnvironment, type EnvironmentDeps } from '../../src/projects/environment.ts';

/** Genesis hashes of each cluster, as getGenesisHash answers. */
const MAINNET = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d';
const DEVNET = 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG';
const SOME_LOCAL = '4sGjMW1sUnHzSxGspuhpqLDx6wiyjNtZAMdL4VZHirAn';

const DEPS = {
  rpcUrl: 'http://127.0.0.1:8899',
  publicRpcUrl: null,
  isClusterLocal: true,
  explorerUrl: 'https://explorer.solana.com',
  registration: 'open',
} as const;

const read = (genesisHash: string, deps: Partial<Omit<EnvironmentDeps, 'chain'>> = {}) =>
  createEnvironment({ ...DEPS, chain: { genesisHash: async () => genesisHash }, ...deps })();

describe('GET environment', () => {
  let world: World;
  before(async () => {
    world = await openWorld();
  });
  after(() => world.stop());
  const get = async () => requireOk(await send(world.url, 'GET', '/console/api/environment'));

  it('answers without a session where the local cluster is and how explorer links are built', async () => {
    assert.deepEqual(await get(), {
      cluster: 'localnet',
      isLocal: true,
      rpcUrl: world.localnet.url,
      webSocketUrl: world.localnet.url.replace('http:', 'ws:'),
      publicUrl: world.url,
      explorer: {
        url: 'https://explorer.solana.com',
        query: `?cluster=custom&customUrl=${encodeURIComponent(world.localnet.url)}`,
      },
      squadsProgram: 'SQDS4ep65T869zMMBKyuUq6aD6EgTu8psMjkvj52pCf',
      registration: 'open',
    });
  });

  it('answers what the operator has set', async () => {
    await world.restart({
      PUBLIC_URL: 'https://flywheel.example',
      PUBLIC_SOLANA_RPC_URL: 'https://rpc.example/solana',
      EXPLORER_URL: 'https://explorer.example/',
      SOLANA_CLUSTER_IS_LOCAL: '',
      REGISTRATION: 'approval',
    });
    const { isLocal, publicUrl, rpcUrl, webSocketUrl, explorer } = await get();
    assert.equal(isLocal, false);
    assert.equal(publicUrl, 'https://flywheel.example');
    assert.equal(rpcUrl, 'https://rpc.example/solana');
    assert.equal(webSocketUrl, 'wss://rpc.example/solana');
    assert.equal(explorer.url, 'https://explorer.example');
  });
});

describe('createEnvironment', () => {
  it('never answers a URL with user, path or query, which may contain keys', async () => {
    for (const rpcUrl of [
      'https://me:secret@rpc.example',
      'https://rpc.example/secret',
      'https://rpc.example/?api-key=secret',
      'https://rpc.example/#secret',
    ]) {
      assert.equal((await read(MAINNET, { rpcUrl })).rpcUrl, 'https://api.mainnet-beta.solana.com');
      assert.equal((await read(DEVNET, { rpcUrl })).rpcUrl, 'https://api.devnet.solana.com');
      assert.equal((await read(SOME_LOCAL, { rpcUrl })).rpcUrl, 'https://rpc.example');
    }
  });

  it('answers the service’s own URL if that is bare, with the next port for a validator’s WebSockets', async () => {
    const bare = await read(DEVNET, { rpcUrl: 'https://rpc.example/' });
    assert.deepEqual([bare.rpcUrl, bare.webSocketUrl], ['https://rpc.example', 'wss://rpc.example']);
    const validator = await read(DEVNET, { rpcUrl: 'http://10.0.0.7:8899' });
    assert.equal(validator.webSocketUrl, 'ws://10.0.0.7:8900');
  });

  it('is local only if the process knows it, and never on a public cluster', async () => {
    const isLocal = async (genesisHash: string, isClusterLocal: boolean) =>
      (await read(genesisHash, { isClusterLocal })).isLocal;
    assert.equal(await isLocal(SOME_LOCAL, true), true);
    // A private cluster that a tunnel shows on this machine.
    assert.equal(await isLocal(SOME_LOCAL, false), false);
    assert.equal(await isLocal(DEVNET, true), false);
  });

  it('asks the cluster once for all who ask at the same time, and again after an error', async () => {
    let requests = 0;
    const genesisHash = async () => {
      requests += 1;
      if (requests === 1) throw new Error('unreachable');
      return DEVNET;
    };
    const environment = createEnvironment({ ...DEPS, chain: { genesisHash } });
    const failed = await Promise.allSettled([environment(), environment()]);
    assert.deepEqual(
      failed.map(({ status }) => status),
      ['rejected', 'rejected'],
    );
    for (const { cluster } of await Promise.all([environment(), environment()])) assert.equal(cluster, 'devnet');
    assert.equal(requests, 2);
  });

  it('names the cluster by its genesis hash, and links to it', async () => {
    const [mainnet, devnet] = [await read(MAINNET), await read(DEVNET)];
    assert.deepEqual([mainnet.cluster, mainnet.isLocal, mainnet.explorer.query], ['mainnet', false, '']);
    assert.deepEqual([devnet.cluster, devnet.isLocal, devnet.explorer.query], ['devnet', false, '?cluster=devnet']);
  });
});
