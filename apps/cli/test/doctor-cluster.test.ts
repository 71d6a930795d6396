import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { type Localnet, startLocalnet } from '@flywheel/localnet';
import * as service from '@flywheel/service';
import { SQUADS_PROGRAM_ADDRESS, SQUADS_PROGRAM_DATA_ADDRESS, UPGRADEABLE_LOADER_ADDRESS } from '@flywheel/squads';
import { randomAddress } from '@flywheel/testing/records';
import { getAddressEncoder } from '@solana/kit';
import type { Topic } from '../src/commands/doctor/check.ts';
import { checkDatabaseClock } from '../src/commands/doctor/clocks.ts';
import { checkCluster } from '../src/commands/doctor/cluster.ts';
import { checkNonceAccounts } from '../src/commands/doctor/funds.ts';
import { checkSettings } from '../src/commands/doctor/settings.ts';
import { AS_MAINNET, type Lies, MAINNET_GENESIS, startLyingNode } from './lying-node.ts';

const [operator, company] = [randomAddress(), randomAddress()];
const programFile = process.env.FLYWHEEL_SQUADS_PROGRAM ?? '';
const skip = existsSync(programFile) ? false : 'FLYWHEEL_SQUADS_PROGRAM names no file of the real program';
const SLOTS = 99n;

describe('flywheel doctor, of a cluster', () => {
  let localnet: Localnet;
  before(async () => {
    localnet = await startLocalnet({ slotMs: 0, squadsProgram: 'emulation' });
    await localnet.bank.airdrop(operator, 1_000_000_000n);
    await localnet.warp({ slots: SLOTS });
  });
  after(() => localnet?.stop());

  interface Run {
    readonly lies?: Lies;
    readonly expected?: string;
    readonly settings?: Readonly<Record<string, string>>;
    readonly cluster?: Localnet;
  }

  /** Checks a node with these lies. @returns the checks of a topic that did not pass, as `state: text → remedy`. */
  async function check(
    topic: Topic,
    { lies = {}, expected, settings, cluster = localnet }: Run = {},
  ): Promise<string[]> {
    await using node = await startLyingNode(cluster.url, lies);
    const config = service.parseConfig({
      ...{ SOLANA_RPC_URL: node.url, OPERATOR_ADDRESS: operator, COMPANY_ADDRESS: company },
      ...{ JITO_BLOCK_ENGINE_URL: node.url, ...settings },
    });
    const { checks } = await checkCluster([node.url], { config, service, expected: expected ?? null, operator });
    const shown = checks.map(({ state, text, remedy, ...rest }) => {
      assert.match(text, /[.:]$/);
      return { ...rest, state, line: `${state}: ${text}${remedy === null ? '' : ` → ${remedy}`}` };
    });
    // The cluster's time moves by `warp` only, so a busy machine leaves it behind.
    const others = shown.filter(({ topic: of, state }) => of !== topic && of !== 'clock' && state !== 'ok');
    if (!('getGenesisHash' in lies)) assert.deepEqual(others, []);
    return shown.filter((shownCheck) => shownCheck.topic === topic).map(({ line }) => line);
  }

  it('passes every check of a node of a cluster that has all that the service needs', async () => {
    const lines = await check('cluster');
    assert.match(lines[0] ?? '', /^ok: 127\.0\.0\.1:\d+ answers: a private cluster, version \S+, slot 99\.$/);
  });

  it('says which cluster it is, and fails if it is not the one that is named', async () => {
    const mainnet = { lies: AS_MAINNET };
    assert.deepEqual(await check('genesis', mainnet), [`ok: The cluster is mainnet, genesis ${MAINNET_GENESIS}.`]);
    assert.match((await check('genesis', { ...mainnet, expected: 'mainnet' }))[0] ?? '', /^ok/);
    assert.match((await check('genesis', { ...mainnet, expected: MAINNET_GENESIS }))[0] ?? '', /^ok/);
    assert.deepEqual(await check('genesis', { ...mainnet, expected: 'devnet' }), [
      `failure: The cluster is mainnet, not devnet: its genesis is ${MAINNET_GENESIS}. → Set SOLANA_RPC_URL to a node of devnet before a process starts.`,
    ]);
    assert.match(
      (await check('genesis', { expected: 'mainnet' }))[0] ?? '',
      /^failure: The cluster is none of mainnet, devnet and testnet, not mainnet: its genesis is \w+\. →/,
    );
  });

  it('fails if a setting says that mainnet is a local cluster, or sends browsers to another cluster', async () => {
    const [local] = await check('genesis', { lies: AS_MAINNET, settings: { SOLANA_CLUSTER_IS_LOCAL: '1' } });
    assert.match(local ?? '', /^failure: SOLANA_CLUSTER_IS_LOCAL is 1, but the cluster is mainnet\. → Unset it/);
    const elsewhere = await check('genesis', {
      lies: AS_MAINNET,
      settings: { PUBLIC_SOLANA_RPC_URL: localnet.url },
    });
    assert.match(
      elsewhere[1] ?? '',
      /^failure: PUBLIC_SOLANA_RPC_URL is of another cluster than 127\S+: genesis \w+, not 5eykt/,
    );
    const silent = await check('genesis', { settings: { PUBLIC_SOLANA_RPC_URL: 'http://127.0.0.1:4/secret-key' } });
    assert.match(silent[1] ?? '', /^warning: PUBLIC_SOLANA_RPC_URL does not answer this machine: 127\.0\.0\.1:4 is /);
    assert.doesNotMatch(silent.join(), /secret/);
  });

  it('fails without the Squads program, and with another one on mainnet', async () => {
    assert.match(
      (await check('program', { lies: withAccounts({}) }))[0] ?? '',
      /^failure: The cluster \(a private cluster\) has no Squads program SQDS\w+\. → Every public cluster has it/,
    );
    const other = withAccounts(programAccounts({ authority: false }));
    const pattern =
      /: The Squads program is not the one of mainnet: its SHA-256 is [0-9a-f]{64}, not d4866083\w+\. → Do not/;
    assert.match((await check('program', { lies: other }))[0] ?? '', new RegExp(`^warning${pattern.source}`));
    const [onMainnet] = await check('program', { lies: { ...other, ...AS_MAINNET } });
    assert.match(onMainnet ?? '', new RegExp(`^failure${pattern.source}`));
    const unreadable = withAccounts({
      [SQUADS_PROGRAM_ADDRESS]: programAccounts({ authority: false })[SQUADS_PROGRAM_ADDRESS],
    });
    assert.match(
      (await check('program', { lies: unreadable }))[0] ?? '',
      /^warning: The bytes of .* cannot be read: Fy3\w+ is not/,
    );
  });

  it('passes the deployed Squads program, and fails if somebody can replace it', { skip }, async (t) => {
    const cluster = await startLocalnet({ slotMs: 0, squadsProgram: programFile });
    t.after(() => cluster.stop());
    await cluster.warp({ slots: SLOTS });
    const [line] = await check('program', { cluster });
    assert.match(line ?? '', /^ok: The Squads program is the one of mainnet and immutable: SHA-256 d4866083\w+\.$/);
    const replaceable: Lies = {
      ...AS_MAINNET,
      getMultipleAccounts: ([addresses], truth) => {
        if (!isOnly(addresses, SQUADS_PROGRAM_DATA_ADDRESS)) return null;
        const { context, value } = truth as { context: unknown; value: [{ data: [string, string] }] };
        const bytes = Buffer.from(value[0].data[0], 'base64');
        bytes[12] = 1;
        bytes.fill(7, 13, 45);
        return { result: { context, value: [{ ...value[0], data: [bytes.toString('base64'), 'base64'] }] } };
      },
    };
    const [risky] = await check('program', { cluster, lies: replaceable });
    assert.match(risky ?? '', /^failure: The Squads program is the one of mainnet, but \w+ can replace it\. →/);
  });

  it('warns if transaction version 1 is not active, and fails if the node cannot read one', async (t) => {
    const cluster = await startLocalnet({ slotMs: 0, squadsProgram: 'emulation', v1: false });
    t.after(() => cluster.stop());
    await cluster.warp({ slots: SLOTS });
    const [inactive] = await check('version-1', { cluster });
    assert.match(inactive ?? '', /^warning: Transaction version 1 is not active here: the service sends version 0/);
    const lies: Lies = {
      simulateTransaction: ([wire]) =>
        wire === '' ? null : { error: { code: -32602, message: 'unsupported version' } },
    };
    const [unread] = await check('version-1', { lies });
    assert.match(
      unread ?? '',
      /^failure: .* is active, but 127\S+ does not simulate one: unsupported version \(-32602\)\. →/,
    );
  });

  it('warns of a clock that differs from the cluster’s or the database’s', async (t) => {
    const cluster = await startLocalnet({ slotMs: 0, squadsProgram: 'emulation' });
    t.after(() => cluster.stop());
    await cluster.warp({ seconds: 3_600n });
    await cluster.warp({ slots: 2n });
    const [line] = await check('clock', { cluster });
    assert.match(line ?? '', /^warning: This machine’s clock is (59 min|1 h) behind the cluster’s\. → Synchronize /);
    const { state, text } = checkDatabaseClock({ clockAheadMs: -60_000 });
    assert.deepEqual([state, text], ['warning', 'This machine’s clock is 1 min behind PostgreSQL’s.']);
  });

  it('names every method that the node refuses, and why', async () => {
    const lies: Lies = {
      getRecentPrioritizationFees: () => ({ error: { code: -32601, message: 'Method not found' } }),
      sendTransaction: () => ({ status: 403, error: { code: -32000, message: 'not in your plan' } }),
    };
    const [line] = await check('methods', { lies });
    assert.match(
      line ?? '',
      /^failure: The node refuses 2 of the 13 methods that the service calls: getRecentPrioritizationFees \(Method not found \(-32601\)\), sendTransaction \(127\S+ answered HTTP 403: .*not in your plan.*\)\. → Ask the provider/,
    );
  });

  it('fails if a node keeps no transactions, and warns if it has lost some or reaches back too little', async () => {
    localnet.faults.set({ kind: 'forgetHistory', method: '*', slots: 0 });
    const [none] = await check('history');
    localnet.faults.clear();
    assert.match(
      none ?? '',
      /^failure: The node keeps no transactions: .*\(-32011\)\. → Add a node with a longer history/,
    );
    const signature = '2'.repeat(88);
    const lost = await check('history', {
      lies: { getSignaturesForAddress: () => ({ result: [{ signature, err: null }] }) },
    });
    assert.match(
      lost[0] ?? '',
      /^warning: The node lists 2{88} among the operator’s transactions, and does not have it\. →/,
    );
    const short = await check('history', {
      lies: { getSlot: () => ({ result: 900_000 }), getFirstAvailableBlock: () => ({ result: 450_000 }) },
    });
    assert.match(
      short[0] ?? '',
      /^warning: The node has the transactions of the last 2 d only; a batch may stay open for 7 d\. →/,
    );
  });

  it('warns of requests that are refused at once, and says what the provider announces', async () => {
    let count = 0;
    const headers = { 'x-ratelimit-rps-limit': '5' };
    const lies: Lies = {
      getSlot: (_, truth) => {
        count += 1;
        const isRefused = count > 8;
        return isRefused ? { status: 429, result: 'slow down', headers } : { result: truth, headers };
      },
    };
    const [line] = await check('limits', { lies });
    assert.match(
      line ?? '',
      /^warning: The node refused 6 of 10 requests at once: .*HTTP 429.*\. It announces x-ratelimit-rps-limit 5\. → Use a plan/,
    );
  });

  it('warns of commitments that are far apart, or of nodes of different heights behind one URL', async () => {
    const at = (slots: Readonly<Record<string, number>>): Lies => ({
      getSlot: ([config]) => ({
        result: slots[(config as { commitment: string } | undefined)?.commitment ?? 'finalized'],
      }),
    });
    const [slow] = await check('commitment', { lies: at({ processed: 1_000, confirmed: 990, finalized: 800 }) });
    assert.match(
      slow ?? '',
      /^warning: The node has its confirmed slot 10 and its finalized slot 200 behind the newest\. → Usual/,
    );
    const [mixed] = await check('commitment', { lies: at({ processed: 900, confirmed: 990, finalized: 960 }) });
    assert.match(
      mixed ?? '',
      /^warning: The node answered slot 960 as finalized, then 990 as confirmed, then 900 as processed: nodes of different/,
    );
  });

  it('fails if the block engine does not answer or is of another cluster, and warns if none is set on mainnet', async () => {
    const silent = await check('block-engine', { settings: { JITO_BLOCK_ENGINE_URL: 'http://127.0.0.1:4/uuid-1234' } });
    assert.match(
      silent[0] ?? '',
      /^failure: The block engine 127\.0\.0\.1:4 does not answer: getTipAccounts: .*ECONNREFUSED/,
    );
    assert.doesNotMatch(silent[0] ?? '', /uuid/);
    const account = randomAddress();
    const [foreign] = await check('block-engine', { lies: { getTipAccounts: () => ({ result: [account] }) } });
    assert.match(
      foreign ?? '',
      new RegExp(`^failure: .* names 1 tip account, of which ${account} does not exist on this`),
    );
    const [without] = await check('block-engine', { lies: AS_MAINNET, settings: { JITO_BLOCK_ENGINE_URL: '' } });
    assert.match(without ?? '', /^warning: JITO_BLOCK_ENGINE_URL is not set: transactions are sent in order over RPC/);
    const floor = (landed_tips_50th_percentile: number): Lies => ({
      '': () => ({ result: [{ landed_tips_50th_percentile }] }),
    });
    const [high] = await check('block-engine', { lies: floor(0.001) });
    assert.match(
      high ?? '',
      /^warning: .* half of its bundles tip 1,000,000 lamports or more, and MAX_TIP_LAMPORTS is 100,000\./,
    );
    const [unknown] = await check('block-engine', { lies: { '': () => ({ status: 404, result: [] }) } });
    assert.match(unknown ?? '', /^warning: .* but its tip floor cannot be read/);
  });

  it('fails if the nonces of the database are not on the cluster', async () => {
    const { node } = await checkCluster([localnet.url], {
      config: service.parseConfig({}),
      ...{ service, operator, expected: null },
    });
    assert.ok(node);
    const freeNonces = [{ operator, address: randomAddress() }];
    const [found] = await checkNonceAccounts({ node, operator, freeNonces, readNonces: service.readNonces });
    assert.equal(found?.state, 'failure');
    assert.match(
      found?.text ?? '',
      /^1 of 1 nonce of the database are not the operator’s on this cluster, e\.g\. \w+\.$/,
    );
  });

  it('warns of an address without TLS or proxy, and of missing metrics, unless the cluster is local', () => {
    const statesOf = (settings: Readonly<Record<string, string>>) => {
      const config = service.parseConfig({
        ...{ SOLANA_RPC_URL: 'https://rpc.example', OPERATOR_ADDRESS: operator, COMPANY_ADDRESS: company },
        ...{ REGISTRATION: 'closed', COMPANY_OPERATORS: company, ...settings },
      });
      return checkSettings(config, { genesisHash: 'x' }, service).map(({ state }) => state);
    };
    assert.deepEqual(statesOf({}), ['ok', 'warning', 'warning']);
    assert.deepEqual(statesOf({ SOLANA_CLUSTER_IS_LOCAL: '1' }), ['ok', 'ok', 'ok']);
    const proxied = { METRICS_PORT: '9090', TRUST_PROXY: '10.0.0.5' };
    assert.deepEqual(statesOf({ ...proxied, PUBLIC_URL: 'http://flywheel.example' }), ['ok', 'warning', 'ok']);
    const https = { PUBLIC_URL: 'https://flywheel.example' };
    assert.deepEqual(statesOf({ ...proxied, ...https, TRUST_PROXY: '' }), ['ok', 'warning', 'ok']);
    assert.deepEqual(statesOf({ ...proxied, ...https }), ['ok', 'ok', 'ok']);
  });
});

function isOnly(addresses: unknown, address: string): boolean {
  return Array.isArray(addresses) && addresses.length === 1 && addresses[0] === address;
}

type Account = Readonly<Record<string, unknown>>;

/** Squads accounts that replace those of the cluster: the program, its data and its config account. */
function withAccounts(accounts: Readonly<Record<string, Account | undefined>>): Lies {
  return {
    getMultipleAccounts: ([addresses], truth) => {
      const asked = addresses as string[];
      if (!asked.includes(SQUADS_PROGRAM_ADDRESS) && !asked.includes(SQUADS_PROGRAM_DATA_ADDRESS)) return null;
      const { context, value } = truth as { context: unknown; value: (Account | null)[] };
      const answered = asked.map((address, index) => {
        const isOfSquads = value[index]?.owner === SQUADS_PROGRAM_ADDRESS || address.startsWith('SQDS');
        return accounts[address] ?? (isOfSquads ? null : (value[index] ?? null));
      });
      return { result: { context, value: answered } };
    },
  };
}

/** A program that is not Squads, at its address. */
function programAccounts({ authority }: { readonly authority: boolean }): Readonly<Record<string, Account>> {
  const loaded = { lamports: 1, owner: UPGRADEABLE_LOADER_ADDRESS, rentEpoch: 0 };
  const pointer = [2, 0, 0, 0, ...getAddressEncoder().encode(SQUADS_PROGRAM_DATA_ADDRESS)];
  const header = [3, 0, 0, 0, ...new Uint8Array(8), Number(authority), ...new Uint8Array(32)];
  const base64 = (bytes: readonly number[]) => [Buffer.from(bytes).toString('base64'), 'base64'];
  return {
    [SQUADS_PROGRAM_ADDRESS]: { ...loaded, data: base64(pointer), executable: true, space: 36 },
    [SQUADS_PROGRAM_DATA_ADDRESS]: {
      ...loaded,
      data: base64([...header, 127, 69, 76, 70]),
      executable: false,
      space: 49,
    },
  };
}
