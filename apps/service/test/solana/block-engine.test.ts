import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { bundleIdOf } from '@flywheel/protocol';
import { instantClock, realClock } from '@flywheel/testing/clock';
import { address, generateKeyPairSigner } from '@solana/kit';
import { getTransferSolInstruction, parseTransferSolInstruction } from '@solana-program/system';
import { parseConfig } from '../../src/config.ts';
import { newShare } from '../../src/model/fair-gate.ts';
import { createBundleSender } from '../../src/solana/bundles.ts';
import { type Cluster, sign, startCluster } from './cluster.ts';
import { type Answer, type HttpServer, type Request, startHttpServer } from './http-server.ts';

let cluster: Cluster;
const servers: HttpServer[] = [];
before(async () => {
  cluster = await startCluster();
});
after(async () => {
  await cluster.localnet.stop();
  await Promise.all(servers.map((server) => server.stop()));
});

const TIP_ACCOUNTS = ['96gYZGLnJYVFmbjzopPSU6QiEV5fGqZNyN9nmNhvrZU5', 'HFqU5x63VTqvQss8hp11i4wVV8bD44PvwucfZ2bU7gRe'];
const BUNDLE_ID = 'b31e5fae4923f345218403ac1ab242b46a72d4f2a38d131f474255ae88f1ec9a';

/** An engine itself knows until when a bundle can land. */
const NO_HEIGHT = 0n;

/** Highest prices, as a service without settings has them. */
const { maxTipLamports, maxComputeUnitPrice } = parseConfig({});
const PRICES = { maxTipLamports, maxComputeUnitPrice };

/** Starts a block engine that answers as `answer` says; null is its normal answer. */
async function engineThat(answer: (request: Request, count: number) => Answer | null, maxTip = maxTipLamports) {
  const server = await startHttpServer((request, count) => {
    const given = answer(request, count);
    if (given) return given;
    if (request.body.method === 'getTipAccounts') return { result: TIP_ACCOUNTS };
    return { status: 404 };
  });
  servers.push(server);
  const clock = instantClock();
  const warnings: string[] = [];
  const sender = createBundleSender({
    chain: cluster.chain,
    blockEngineUrl: server.url,
    clock,
    random: () => 0.99,
    // The interval of an engine on another machine.
    requestIntervalMs: 1_000,
    log: { warn: (_fields, message) => warnings.push(message) },
    ...PRICES,
    maxTipLamports: maxTip,
  });
  return { server, clock, sender, warnings };
}

function floorOf(sol: unknown): Answer {
  return { status: 200, text: JSON.stringify([{ landed_tips_50th_percentile: sol }]) };
}

async function bundle(amounts: readonly bigint[]) {
  const transactions = await Promise.all(
    amounts.map((amount) =>
      sign(cluster, [
        getTransferSolInstruction({ source: cluster.payer, destination: address(TIP_ACCOUNTS[0] ?? ''), amount }),
      ]),
    ),
  );
  return {
    wires: transactions.map(({ wire }) => wire),
    bundleId: bundleIdOf(transactions.map(({ signature }) => signature)),
  };
}

describe('the tip', () => {
  async function tipAt(floor: Answer | null, maxTip?: bigint, attempt?: number) {
    const engine = await engineThat(({ path }) => (path.endsWith('/tip_floor') ? floor : null), maxTip);
    const tip = await engine.sender.tip(cluster.payer.address, attempt);
    assert.ok(tip?.accounts && tip.data);
    const { accounts, data } = parseTransferSolInstruction({ ...tip, accounts: tip.accounts, data: tip.data });
    return { ...engine, from: accounts.source.address, to: accounts.destination.address, lamports: data.amount };
  }

  it('goes from the payer to one of the engine’s accounts, and is the median of landed tips', async () => {
    const { from, to, lamports, warnings } = await tipAt(floorOf(0.0000361965));
    assert.equal(from, cluster.payer.address);
    assert.equal(to, TIP_ACCOUNTS[1]);
    assert.equal(lamports, 36_197n);
    assert.deepEqual(warnings, []);
  });

  it('is at least 1,000 lamports and at most the maximum', async () => {
    assert.equal((await tipAt(floorOf(1e-9))).lamports, 1_000n);
    assert.equal((await tipAt(floorOf(0.5))).lamports, 100_000n);
    assert.equal((await tipAt(floorOf(0.5), 5_000n)).lamports, 5_000n);
  });

  it('doubles after each lost bundle, up to the maximum', async () => {
    for (const [attempt, lamports] of [10_000n, 20_000n, 40_000n, 80_000n, 100_000n, 100_000n].entries()) {
      assert.equal((await tipAt(floorOf(0.00001), 100_000n, attempt)).lamports, lamports);
    }
    assert.equal((await tipAt(floorOf(0.00001), 100_000n, 1_000_000)).lamports, 100_000n);
  });

  it('is the minimum, with a warning, if the tip floor cannot be read', async () => {
    for (const floor of [null, floorOf('much'), floorOf(2), { status: 200, text: '[]' }, { status: 500 }]) {
      const { lamports, warnings } = await tipAt(floor);
      assert.equal(lamports, 1_000n);
      assert.deepEqual(warnings, ['cannot read the tip floor; using the last one']);
    }
  });

  it('reads the tip accounts once', async () => {
    const { sender, server } = await engineThat(() => null);
    await sender.tip(cluster.payer.address);
    await sender.tip(cluster.payer.address);
    assert.equal(server.requests.filter(({ body }) => body.method === 'getTipAccounts').length, 1);
  });

  it('rejects tip accounts that are not addresses', async () => {
    const { sender } = await engineThat(() => ({ result: ['elsewhere'] }));
    await assert.rejects(sender.tip(cluster.payer.address), /getTipAccounts: unexpected answer: .*is not an address/);
  });
});

describe('the bundle sender', () => {
  it('sends base64 to the engine’s bundle path', async () => {
    const { wires, bundleId } = await bundle([1n, 2n]);
    const { sender, server, warnings } = await engineThat(() => ({ result: bundleId }));
    await sender.send(wires, NO_HEIGHT);
    const [request] = server.requests;
    assert.equal(request?.path, '/api/v1/bundles');
    assert.equal(request?.body.method, 'sendBundle');
    assert.deepEqual(request?.body.params, [wires, { encoding: 'base64' }]);
    assert.deepEqual(warnings, []);
    assert.equal(sender.isAtomic, true);
  });

  it('retries after 429 and 503, at least a second later', async () => {
    const { wires, bundleId } = await bundle([1n]);
    const { sender, server, clock } = await engineThat((_request, count) =>
      count === 1
        ? { status: 429, headers: { 'retry-after': '2' } }
        : count === 2
          ? { status: 503 }
          : { result: bundleId },
    );
    await sender.send(wires, NO_HEIGHT);
    assert.equal(server.requests.length, 3);
    assert.ok(clock.sleeps.includes(2_000));
    assert.ok(clock.sleeps.filter((ms) => ms === 1_000).length >= 2);
  });

  it('fails after four attempts', async () => {
    const { sender, server } = await engineThat(() => ({ status: 429, text: 'globally rate limited' }));
    const { wires } = await bundle([1n]);
    await assert.rejects(
      sender.send(wires, NO_HEIGHT),
      /sendBundle: .* HTTP 429: globally rate limited \(attempt 4 of 4\)/,
    );
    assert.equal(server.requests.length, 4);
  });

  it('throws the engine’s error message, whatever the HTTP status', async () => {
    const error = { code: -32602, message: 'bundle contains an expired blockhash' };
    const { wires } = await bundle([1n]);
    const whole = JSON.stringify({ jsonrpc: '2.0', id: 1, error });
    for (const answer of [{ error }, { status: 400, text: whole }]) {
      const { sender, server } = await engineThat(() => answer);
      await assert.rejects(sender.send(wires, NO_HEIGHT), /sendBundle: .*bundle contains an expired blockhash/);
      assert.equal(server.requests.length, 1);
    }
  });

  it('accepts a bundle that is already on chain', async () => {
    const error = { code: -32602, message: 'bundle contains an already processed transaction' };
    const { sender } = await engineThat(() => ({ error }));
    await sender.send((await bundle([1n])).wires, NO_HEIGHT);
  });

  it('warns of an engine that returns another bundle ID', async () => {
    const { sender, warnings } = await engineThat(() => ({ result: 'other' }));
    await sender.send((await bundle([1n])).wires, NO_HEIGHT);
    assert.equal(warnings.length, 1);
  });

  it('keeps its interval between the requests of one call', async () => {
    const events: unknown[] = [];
    const { server } = await engineThat(() => {
      events.push('request');
      return { result: null };
    });
    const clock = {
      ...realClock,
      sleep: async (ms: number) => {
        await realClock.sleep(20);
        events.push(ms);
      },
    };
    const options = { ...PRICES, chain: cluster.chain, blockEngineUrl: server.url, clock, requestIntervalMs: 1_000 };
    // A status that is not found in flight takes a second request.
    await createBundleSender(options).status(BUNDLE_ID);
    assert.equal(events.filter((event) => event === 'request').length, 2);
    // The interval begins when the first request is sent, and may be over before that arrives.
    assert.ok(events.includes(1_000) && events.indexOf(1_000) < events.lastIndexOf('request'), events.join(', '));
  });

  it('gives no turn while requests of earlier turns wait for their interval', async () => {
    const { server } = await engineThat(({ body }) => ({ result: body.method }));
    const sleeping: (() => void)[] = [];
    const clock = { ...realClock, sleep: () => new Promise<void>((resolve) => sleeping.push(resolve)) };
    const passInterval = async () => {
      for (const wake of sleeping.splice(0)) wake();
      await new Promise(setImmediate);
    };
    const options = { ...PRICES, chain: cluster.chain, blockEngineUrl: server.url, clock, requestIntervalMs: 1_000 };
    const sender = createBundleSender(options);
    const { wires } = await bundle([1n]);
    const never = new AbortController().signal;
    await sender.awaitTurn(newShare(0), never);
    const sending = Promise.all([1, 2, 3].map(() => sender.send(wires, NO_HEIGHT)));
    let hasTurn = false;
    const next = sender.awaitTurn(newShare(0), never).then(() => {
      hasTurn = true;
    });
    await new Promise(setImmediate);
    await passInterval();
    assert.equal(hasTurn, false);
    await passInterval();
    await next;
    await Promise.all([sending, passInterval()]);
    assert.equal(server.requests.length, 3);
  });

  it('lets a bundle go before the second request for a status', async () => {
    let [readings, readingsAtRequest] = [0, Number.POSITIVE_INFINITY];
    const { server } = await engineThat(() => {
      readingsAtRequest = Math.min(readings, readingsAtRequest);
      return { result: null };
    });
    const sleeping: (() => void)[] = [];
    const clock = {
      now: () => {
        readings += 1;
        return realClock.now();
      },
      sleep: () => new Promise<void>((resolve) => sleeping.push(resolve)),
    };
    const options = { ...PRICES, chain: cluster.chain, blockEngineUrl: server.url, clock, requestIntervalMs: 1_000 };
    const sender = createBundleSender(options);
    const status = sender.status(BUNDLE_ID);
    // The second request reads the clock when it begins to wait for its turn, after the answer to the first.
    while (readings <= readingsAtRequest) await realClock.sleep(5);
    let hasTurn = false;
    const turn = sender.awaitTurn(newShare(0), new AbortController().signal).then(() => {
      hasTurn = true;
    });
    const passInterval = async () => {
      for (const wake of sleeping.splice(0)) wake();
      await new Promise(setImmediate);
    };
    await passInterval();
    assert.equal(hasTurn, true);
    await passInterval();
    await Promise.all([turn, passInterval()]);
    assert.equal(await status, 'unknown');
  });

  it('keeps no interval with an engine on this machine', async () => {
    const { server } = await engineThat(() => ({ result: null }));
    const clock = instantClock();
    await createBundleSender({ ...PRICES, chain: cluster.chain, blockEngineUrl: server.url, clock }).status(BUNDLE_ID);
    assert.equal(server.requests.length, 2);
    assert.deepEqual(clock.sleeps, []);
  });
});

describe('the status of a bundle', () => {
  const inflight = (status: string) => ({
    result: { context: { slot: 1 }, value: [{ bundle_id: BUNDLE_ID, status, landed_slot: null }] },
  });
  async function statusOf(ofInflight: Answer, ofLanded: Answer = { result: null }) {
    const { sender } = await engineThat(({ body }) =>
      body.method === 'getInflightBundleStatuses' ? ofInflight : ofLanded,
    );
    return sender.status(BUNDLE_ID);
  }

  it('is the engine’s while the bundle is in flight', async () => {
    assert.equal(await statusOf(inflight('Pending')), 'pending');
    assert.equal(await statusOf(inflight('Landed')), 'landed');
    assert.equal(await statusOf(inflight('Failed')), 'failed');
  });

  it('comes from landed bundles if it is not in flight, and is unknown if it is not among these either', async () => {
    const landed = (confirmation: object) => ({
      result: { context: { slot: 1 }, value: [{ bundle_id: BUNDLE_ID, slot: 1, err: { Ok: null }, ...confirmation }] },
    });
    assert.equal(await statusOf(inflight('Invalid')), 'unknown');
    assert.equal(await statusOf({ result: null }), 'unknown');
    assert.equal(await statusOf(inflight('Invalid'), landed({ confirmation_status: 'finalized' })), 'landed');
    assert.equal(await statusOf(inflight('Invalid'), landed({ confirmationStatus: 'confirmed' })), 'landed');
    assert.equal(await statusOf(inflight('Invalid'), landed({ confirmation_status: 'processed' })), 'pending');
    assert.equal(await statusOf(inflight('Invalid'), { result: { value: [null] } }), 'unknown');
  });

  it('is an error if the engine’s answer is invalid', async () => {
    await assert.rejects(statusOf(inflight('Perhaps')), /getInflightBundleStatuses: unexpected answer/);
  });
});

describe('the local cluster’s block engine', () => {
  it('lands a bundle with its tip, under the ID that the service computes', async () => {
    const { localnet, chain, payer } = cluster;
    const warnings: string[] = [];
    const sender = createBundleSender({
      ...PRICES,
      chain,
      blockEngineUrl: localnet.blockEngineUrl,
      clock: realClock,
      requestIntervalMs: 0,
      log: { warn: (_fields, message) => warnings.push(message) },
    });
    const tip = await sender.tip(payer.address);
    assert.ok(tip);
    const destination = (await generateKeyPairSigner()).address;
    const first = await sign(cluster, [getTransferSolInstruction({ source: payer, destination, amount: 1_000_000n })]);
    const last = await sign(cluster, [tip]);
    await sender.send([first.wire, last.wire], NO_HEIGHT);
    const bundleId = bundleIdOf([first.signature, last.signature]);
    while ((await sender.status(bundleId)) === 'pending') await realClock.sleep(10);
    assert.equal(await sender.status(bundleId), 'landed');
    await localnet.warp();
    assert.equal((await chain.accounts([destination]))[0]?.lamports, 1_000_000n);
    assert.deepEqual(warnings, []);
  });

  it('lands nothing of a bundle with a failing transaction', async () => {
    const { localnet, chain, payer } = cluster;
    const sender = createBundleSender({
      ...PRICES,
      chain,
      blockEngineUrl: localnet.blockEngineUrl,
      clock: realClock,
      requestIntervalMs: 0,
    });
    const tip = await sender.tip(payer.address);
    assert.ok(tip);
    const destination = (await generateKeyPairSigner()).address;
    const good = await sign(cluster, [
      getTransferSolInstruction({ source: payer, destination, amount: 1_000_000n }),
      tip,
    ]);
    const bad = await sign(cluster, [getTransferSolInstruction({ source: payer, destination, amount: 10n ** 15n })]);
    await sender.send([good.wire, bad.wire], NO_HEIGHT);
    const bundleId = bundleIdOf([good.signature, bad.signature]);
    while ((await sender.status(bundleId)) === 'pending') await realClock.sleep(10);
    assert.equal(await sender.status(bundleId), 'failed');
    assert.deepEqual((await chain.signatureOutcomes([good.signature, bad.signature])).outcomes, ['unknown', 'unknown']);
  });
});
