import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  airdrop,
  burn,
  createFlywheelClient,
  type FlywheelClient,
  isFlywheelError,
  pipeline,
  runBatch,
} from '@flywheel/sdk';
import {
  BATCH_CANCELLED,
  type Collector,
  type CollectorOptions,
  type CollectorStore,
  createCollector,
  createVolatileMemoryStore,
  endSignedBatches,
  type SignedBatch,
} from '@flywheel/sdk/collector';
import { waitUntil } from '@flywheel/testing/batches';
import { tokenBalance } from '@flywheel/testing/chain';
import { ENGINES, type GatedWorld, holdSends, openGatedWorld } from '@flywheel/testing/gate';
import { createOwnMint, freeze, mintTo, type OwnMint } from '@flywheel/testing/mints';
import { createProject, type TestProject } from '@flywheel/testing/project';
import { type Address, address, generateKeyPairSigner } from '@solana/kit';
import { event } from './open-collector.ts';

const [, ENGINE] = ENGINES;
const NOTHING_EXECUTED = { total: 1, totalSuccessful: 0, totalFailed: 1, successfulExecutions: [] };

describe('a wallet that signs unattended, verifying on chain', () => {
  let world: GatedWorld;
  let mint: OwnMint;
  let project: TestProject;
  before(async () => {
    world = await openGatedWorld(ENGINE.environment);
    mint = await createOwnMint(world, false);
    project = await createProject(world, { mint: mint.address, vaultBaseUnits: 0n });
    await mintTo(world, mint, address(project.vaultAddress), 10n ** 12n);
  });
  after(() => world.stop());

  /** A recipient who has a token account and no tokens. */
  async function newRecipient(): Promise<Address> {
    const { address: owner } = await generateKeyPairSigner();
    await mintTo(world, mint, owner, 0n);
    return owner;
  }

  const balance = (owner: Address) => tokenBalance(world, mint.address, owner);

  /** Counts the transactions that the wallet signs. */
  function countingWallet() {
    const { signTransactions } = project.wallet;
    const counted = { signatures: 0 };
    const wallet: typeof project.wallet = {
      ...project.wallet,
      signTransactions: (...asked) => {
        counted.signatures += 1;
        return signTransactions(...asked);
      },
    };
    return { wallet, counted };
  }

  function open(
    fetchOf: typeof fetch,
    approval: CollectorOptions['approval'],
    options: Partial<CollectorOptions> = {},
  ): Promise<Collector> {
    return createCollector({
      client: createFlywheelClient({ url: world.url, apiKey: project.apiKey, fetch: fetchOf, maxAttempts: 1 }),
      ...{ store: createVolatileMemoryStore(), approval, isLocalCluster: true },
      ...{ maxAgeMs: 0, retryMs: [10, 100] },
      ...options,
    });
  }

  /** Resolves when the collector has stopped, with its error. */
  async function errorOf({ stopped }: Collector): Promise<unknown> {
    await waitUntil(
      'the collector to stop',
      async () => stopped.error,
      (error) => error !== null,
    );
    return stopped.error;
  }

  /**
   * Like a service that has forgotten its first batch after the wallet has signed: each init but the first creates another one.
   * @param lost what is lost of the execution before: its answer, or its request, so that nothing is executed.
   */
  function forgettingFetch(lost: 'answer' | 'request'): typeof fetch {
    let inits = 0;
    return async (input, init) => {
      const { pathname } = new URL(String(input));
      if (pathname.endsWith('/init')) {
        inits += 1;
        const headers = new Headers(init?.headers);
        if (inits > 1) headers.set('x-idempotency-key', crypto.randomUUID());
        return fetch(input, { ...init, headers });
      }
      const unavailable = Response.json({ error: 'ERR_UNAVAILABLE', message: 'Later.' }, { status: 503 });
      const isExecute = pathname.endsWith('/execute');
      if (isExecute && lost === 'request') return unavailable;
      const response = await fetch(input, init);
      return !isExecute || response.status >= 400 ? response : unavailable;
    };
  }

  /** Ends the signed batches of a store, again until what has ended them is final. */
  function untilOver(store: CollectorStore): Promise<readonly SignedBatch[]> {
    return waitUntil(
      'the signed batches to be over',
      () => endSignedBatches(store, { rpcUrl: world.localnet.url }),
      (found) => found.every(({ state }) => state === 'over'),
    );
  }

  it('pays an executed batch once that the service reports as failed', async () => {
    const recipient = await newRecipient();
    const { wallet, counted } = countingWallet();
    const lying: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      // Each answer of the service is a JSON object.
      const body = (await response.clone().json()) as Readonly<Record<string, unknown>>;
      if (body.status !== 'EXECUTED') return response;
      const failed = { ...NOTHING_EXECUTED, failedRecipient: { pipeline: 0, action: 0, recipient, reason: 'Frozen.' } };
      const key = 'result' in body ? 'result' : 'executeResult';
      return Response.json({ ...body, status: 'FAILED', [key]: failed });
    };
    const collector = await open(lying, { wallet, verify: { rpcUrl: world.localnet.url } });
    await collector.collect(event('a', recipient));
    const error = await errorOf(collector);
    assert.ok(isFlywheelError(error, 'ERR_CHAIN_MISMATCH'), String(error));
    assert.match(error.message, /has executed 1 pipelines on chain; the service says 0/);
    const status = await collector.status('a');
    assert.deepEqual([status?.state, status?.isInBatch], ['pending', true]);
    assert.equal(counted.signatures, 1);
    assert.equal(await balance(recipient), 1_000_000n);
    await collector.stop();
  });

  it('signs no second batch for the key of a batch that it has signed', async () => {
    const recipient = await newRecipient();
    const { wallet, counted } = countingWallet();
    const collector = await open(forgettingFetch('answer'), { wallet, verify: { rpcUrl: world.localnet.url } });
    await collector.collect(event('b', recipient));
    const error = await errorOf(collector);
    assert.ok(isFlywheelError(error, 'ERR_CHAIN_MISMATCH'), String(error));
    assert.match(error.message, /the service now asks for index/);
    assert.equal(counted.signatures, 1);
    assert.equal(await balance(recipient), 1_000_000n);
    await collector.stop();
  });

  it('takes from the chain what a forgotten batch has paid', async () => {
    const recipient = await newRecipient();
    const verify = { rpcUrl: world.localnet.url };
    const store = createVolatileMemoryStore();
    const options = { store, mergeAirdrops: true, maxAgeMs: 50 };
    const stopped = await open(forgettingFetch('answer'), { wallet: project.wallet, verify }, options);
    await Promise.all(['f1', 'f2'].map((id) => stopped.collect(event(id, recipient))));
    assert.ok(isFlywheelError(await errorOf(stopped), 'ERR_CHAIN_MISMATCH'));
    const [batch] = await store.readBatches();
    const ended = await untilOver(store);
    assert.deepEqual(ended, [{ ...batch?.signed, state: 'over', paid: 2, unpaid: 0 }]);
    assert.deepEqual(await endSignedBatches(store, verify), []);

    const collector = await open(fetch, { wallet: project.wallet, verify }, options);
    await collector.idle();
    for (const id of ['f1', 'f2']) {
      const status = await collector.status(id);
      assert.deepEqual([status?.state, status?.batchId], ['paid', batch?.signed?.batchId]);
      assert.match(status?.mergedPayload ?? '', /merged:v1/);
    }
    assert.equal(await balance(recipient), 2_000_000n);
    await collector.stop();
  });

  it('pays the events of a forgotten batch again once Squads cannot execute it', async () => {
    const recipient = await newRecipient();
    const verify = { rpcUrl: world.localnet.url };
    const store = createVolatileMemoryStore();
    const stopped = await open(forgettingFetch('request'), { wallet: project.wallet, verify }, { store });
    await stopped.collect(event('g', recipient));
    assert.ok(isFlywheelError(await errorOf(stopped), 'ERR_CHAIN_MISMATCH'));
    const [{ state, unpaid } = {}, ...others] = await endSignedBatches(store, verify);
    assert.deepEqual([state, unpaid, others], ['executable', 1, []]);
    const [{ signed = null } = {}] = await store.readBatches();
    assert.ok(signed);

    const client = createFlywheelClient({ url: world.url, apiKey: project.apiKey });
    await client.cancelBatch(signed.batchId);
    const ended = await untilOver(store);
    assert.deepEqual(ended, [{ ...signed, state: 'over', paid: 0, unpaid: 1 }]);
    const collector = await open(fetch, { wallet: project.wallet, verify }, { store });
    await collector.idle();
    assert.equal((await collector.status('g'))?.state, 'paid');
    assert.equal(await balance(recipient), 1_000_000n);
    await collector.stop();
  });

  it('pays nothing again when the service refuses a batch that was signed', async () => {
    const recipient = await newRecipient();
    const { wallet, counted } = countingWallet();
    let inits = 0;
    const problem = { code: 'ERR_INVALID_REQUEST', message: 'Bad.', place: 'pipelines[0].actions[0]' };
    const lying: typeof fetch = async (input, init) => {
      const { pathname } = new URL(String(input));
      if (pathname.endsWith('/init')) inits += 1;
      if (inits > 1) {
        return Response.json({ error: problem.code, message: problem.message, problems: [problem] }, { status: 400 });
      }
      const response = await fetch(input, init);
      const isAnswered = !pathname.endsWith('/execute') || response.status >= 400;
      return isAnswered ? response : Response.json({ error: 'ERR_UNAVAILABLE', message: 'Later.' }, { status: 503 });
    };
    const collector = await open(lying, { wallet, verify: { rpcUrl: world.localnet.url } });
    await collector.collect(event('c', recipient));
    const error = await errorOf(collector);
    assert.ok(isFlywheelError(error, 'ERR_CHAIN_MISMATCH'), String(error));
    assert.equal((await collector.status('c'))?.state, 'pending');
    assert.equal(counted.signatures, 1);
    await collector.stop();
  });

  it('leaves to a person the events of a batch that is cancelled while the company decides', async () => {
    const recipient = await newRecipient();
    const { apiKey, wallet, vaultAddress } = await createProject(world, {
      ...{ mint: mint.address, vaultBaseUnits: 0n, approvalMode: 'manual' },
    });
    await mintTo(world, mint, address(vaultAddress), 10n ** 12n);
    const client = createFlywheelClient({ url: world.url, apiKey });
    const collector = await createCollector({
      ...{ client, store: createVolatileMemoryStore(), isLocalCluster: true, maxAgeMs: 0 },
      approval: { wallet, verify: { rpcUrl: world.localnet.url } },
      onAlarm: (alarm) => {
        if (alarm.kind === 'waiting' && alarm.code === 'AWAITS_COMPANY') client.cancelBatch(alarm.batchId ?? '');
      },
    });
    await collector.collect(event('h', recipient));
    await collector.idle();
    const status = await collector.status('h');
    assert.deepEqual([status?.state, status?.reason?.code], ['quarantined', BATCH_CANCELLED]);
    assert.equal(await balance(recipient), 0n);
    await collector.stop();
  });

  it('pays the rest of a batch that has failed midway, after the chain shows its end', async () => {
    const [frozen, other] = await Promise.all([newRecipient(), newRecipient()]);
    const token = await mintTo(world, mint, frozen, 0n);
    let midway: Promise<void> | undefined;
    // A second attempt resumes the batch, and casts the vote in the multisig in which the first one has signed.
    let isLost = false;
    const losing: typeof fetch = async (...asked) => {
      const response = await fetch(...asked);
      if (isLost || !String(asked[0]).endsWith('/execute') || response.status !== 200) return response;
      isLost = true;
      return Response.json({ error: 'ERR_UNAVAILABLE', message: 'Later.' }, { status: 503 });
    };
    const collector = await open(
      losing,
      {
        wallet: project.wallet,
        verify: { rpcUrl: world.localnet.url },
        onProgress: (progress) => {
          if (progress.stage === 'setUp') midway ??= freezeMidway(BigInt(progress.batch.batchIndex), token);
        },
      },
      { maxItems: 5, maxAgeMs: 600_000 },
    );
    // Two of these fill a transaction, so that the execution has a middle.
    const actions = [burn(1), burn(1), burn(1), airdrop(frozen, 1), airdrop(other, 1)];
    await Promise.all(
      actions.map((action, i) =>
        collector.collect({
          ...event(`d${i}`, other),
          actions: [...Array.from({ length: 20 }, () => burn(1)), action],
        }),
      ),
    );
    await collector.idle();
    await midway;
    const states = await Promise.all([0, 1, 2, 3, 4].map(async (i) => (await collector.status(`d${i}`))?.state));
    assert.deepEqual(states, ['paid', 'paid', 'paid', 'quarantined', 'paid']);
    assert.equal(await balance(other), 1_000_000n);
    assert.equal(await balance(frozen), 0n);
    await collector.stop();
  });

  it('sends the rest of a run only if the chain agrees that it is not executed', async () => {
    const recipient = await newRecipient();
    const client = createFlywheelClient({ url: world.url, apiKey: project.apiKey });
    const lying: FlywheelClient = {
      ...client,
      getBatch: async (...asked) => {
        const batch = await client.getBatch(...asked);
        return batch.status === 'EXECUTED' ? { ...batch, status: 'FAILED', executeResult: NOTHING_EXECUTED } : batch;
      },
    };
    const pipelines = [pipeline('WATCH_AD', { adId: 'run' }, airdrop(recipient, 1))];
    const options = { wallet: project.wallet, verify: { rpcUrl: world.localnet.url }, sendRest: true };
    const { id } = await runBatch(lying, pipelines, options);
    // Its accounts are then closed, and only the history of the chain shows what was executed.
    await waitUntil(
      'the accounts to be closed',
      async () => (await client.getBatch(id, { include: ['ledger'] })).ledger,
      (ledger) => ledger?.isComplete === true,
    );
    await assert.rejects(runBatch(lying, pipelines, options), (error) => isFlywheelError(error, 'ERR_CHAIN_MISMATCH'));
    assert.equal(await balance(recipient), 1_000_000n);
  });

  async function freezeMidway(batchIndex: bigint, tokenAccount: Address): Promise<void> {
    const hold = holdSends(world, ENGINE, project, batchIndex);
    await hold.reached;
    await freeze(world, mint, tokenAccount);
    hold.release();
    world.gate.clear();
  }
});
