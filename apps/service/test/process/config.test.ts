import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ConfigError, parseConfig, parseDatabaseConfig } from '../../src/config.ts';
import { describeReady } from '../../src/main.ts';

const ADDRESS = '11111111111111111111111111111111';

describe('describeReady', () => {
  it('shows a given RPC node by its host, and the local cluster whole', () => {
    const app = { url: 'http://127.0.0.1:4000', metricsUrl: null };
    const given = describeReady({
      ...app,
      rpcUrl: 'https://user:secret@rpc.example/v2/key?api-key=secret',
      program: null,
    });
    assert.equal(given.rpcUrl, 'rpc.example');
    const local = describeReady({ ...app, rpcUrl: 'http://127.0.0.1:8899', program: 'emulation' });
    assert.equal(local.rpcUrl, 'http://127.0.0.1:8899');
  });
});

describe('readConfig', () => {
  it('accepts an empty environment: everything has a default, rate limits included', () => {
    const { host, port, databaseUrl, solanaRpcUrls, blockEngineUrl, rateLimits, batchExpirySeconds } = parseConfig({});
    assert.deepEqual([host, port], ['127.0.0.1', 4000]);
    assert.deepEqual([databaseUrl, solanaRpcUrls, blockEngineUrl], [null, null, null]);
    assert.deepEqual(rateLimits.init, { requests: 10, seconds: 60 });
    assert.deepEqual(rateLimits.execute, { requests: 10, seconds: 60 });
    assert.deepEqual(rateLimits.get, { requests: 10, seconds: 1 });
    assert.deepEqual(rateLimits.current, { requests: 10, seconds: 1 });
    assert.equal(batchExpirySeconds, 7 * 86_400);
  });

  it('reads values as they are written, and an empty variable as unset', () => {
    const config = parseConfig({ PORT: '0', LOCALNET_PORT: '', RATE_LIMIT_GET: '3/7', DATABASE_URL: '', OTHER: 'x' });
    assert.deepEqual([config.port, config.localnet.port, config.databaseUrl], [0, 8899, null]);
    assert.deepEqual(config.rateLimits.get, { requests: 3, seconds: 7 });
    const { trustedProxies } = parseConfig({ TRUST_PROXY: '10.0.0.0/8, ::1' });
    assert.deepEqual(trustedProxies, ['10.0.0.0/8', '::1']);
  });

  it('takes a part of a request a second for a worker, so that several can share what an agreement allows', () => {
    const { blockEngineRequestsPerSecond } = parseConfig({ BLOCK_ENGINE_REQUESTS_PER_SECOND: '0.5' });
    assert.equal(blockEngineRequestsPerSecond, 0.5);
  });

  const faults: readonly (readonly [name: string, value: string, fault: RegExp])[] = [
    ['PORT', '65536', /^PORT is "65536"; it takes ports from 0 to 65535\.$/],
    ['PORT', '-1', /^PORT is "-1"; it takes/],
    ['PORT', '4000.5', /^PORT is "4000.5"; it takes/],
    ['PORT', '0x10', /^PORT is "0x10"; it takes/],
    ['PORT', ' 4000', /^PORT is " 4000"; it takes/],
    ['LOCALNET_PORT', 'any', /^LOCALNET_PORT is "any"; it takes ports/],
    ['LOCALNET_SLOT_MS', '9', /^LOCALNET_SLOT_MS is "9"; it takes milliseconds from 10/],
    ['DATABASE_URL', 'localhost', /^DATABASE_URL must be a URL that starts with postgres:\/\/ or postgresql:\/\/\.$/],
    ['DATABASE_URL', 'mysql://localhost/flywheel', /^DATABASE_URL must be a URL that starts with postgres/],
    ['SOLANA_RPC_URL', 'devnet', /^SOLANA_RPC_URL must be a URL that starts with http:\/\/ or https:\/\/\.$/],
    ['SOLANA_RPC_URL', 'ws://localhost', /^SOLANA_RPC_URL must be a URL/],
    ['SOLANA_RPC_URL', 'ws://one,ws://two', /^SOLANA_RPC_URL must be a URL/],
    ['JITO_BLOCK_ENGINE_URL', 'jito', /^JITO_BLOCK_ENGINE_URL must be a URL/],
    ['OPERATOR_ADDRESS', 'me', /^OPERATOR_ADDRESS is "me"; it takes a base58 address of 32 bytes\.$/],
    ['RATE_LIMIT_INIT', '10', /^RATE_LIMIT_INIT is "10"; it takes requests\/seconds, e\.g\. 10\/60\.$/],
    ['RATE_LIMIT_EXECUTE', '0/60', /^RATE_LIMIT_EXECUTE is "0\/60"/],
    ['RATE_LIMIT_GET', '10/0', /^RATE_LIMIT_GET is "10\/0"/],
    ['RATE_LIMIT_CURRENT', '1e3/1', /^RATE_LIMIT_CURRENT is "1e3\/1"/],
    ['BATCH_EXPIRY_SECONDS', '0', /^BATCH_EXPIRY_SECONDS is "0"; it takes seconds from 1/],
    ['BLOCK_ENGINE_REQUESTS_PER_SECOND', '0', /^BLOCK_.+ is "0"; it takes requests from 0\.1 to 1000, e\.g\. 0\.5\.$/],
    ['BLOCK_ENGINE_REQUESTS_PER_SECOND', '.5', /^BLOCK_.+ is "\.5"; it takes requests/],
    ['FLYWHEEL_OFFLINE', 'yes', /^FLYWHEEL_OFFLINE is "yes"; it may be 0 or 1\.$/],
    ['TRUST_PROXY', 'true', /^TRUST_PROXY names "true"; it takes addresses and networks like 10\.0\.0\.0\/8/],
    ['TRUST_PROXY', '10.0.0.0/8,::1/129', /^TRUST_PROXY names "::1\/129"/],
    ['WEBHOOK_KEY', 'c2hvcnQ=', /^WEBHOOK_KEY must be base64 of at least 32 bytes; make one with openssl rand/],
    ['WEBHOOK_KEY', '*'.repeat(64), /^WEBHOOK_KEY must be base64 of at least 32 bytes/],
    ['WEBHOOK_ALLOW_PRIVATE', 'yes', /^WEBHOOK_ALLOW_PRIVATE is "yes"; it may be 0 or 1\.$/],
    ['LOG_LEVEL', 'loud', /^LOG_LEVEL is "loud"; it may be fatal, error, warn, info, debug, trace or silent\.$/],
  ];
  for (const [name, value, fault] of faults) {
    it(`rejects ${name}=${value} in one sentence`, () => {
      const [sentence, ...others] = faultsOf({ [name]: value, ...keysFor(name) });
      assert.match(sentence ?? '', fault);
      assert.deepEqual(others, []);
    });
  }

  it('reports all issues at once, a sentence each', () => {
    const names = faultsOf({ PORT: 'x', LOG_LEVEL: 'y', RATE_LIMIT_GET: 'z' }).map(
      (sentence) => sentence.split(' ')[0],
    );
    assert.deepEqual(names.toSorted(), ['LOG_LEVEL', 'PORT', 'RATE_LIMIT_GET']);
  });

  it('never quotes secrets', () => {
    const [sentence] = faultsOf({ DATABASE_URL: 'mysql://flywheel:hunter2@localhost' });
    assert.doesNotMatch(sentence ?? '', /hunter2/);
    assert.doesNotMatch(faultsOf({ WEBHOOK_KEY: 'aHVudGVyMg==' })[0] ?? '', /aHVudGVyMg/);
  });

  it('needs no signers for commands that only use the database', () => {
    const config = parseDatabaseConfig({
      SOLANA_RPC_URL: 'https://rpc.example',
      DATABASE_URL: 'postgres://db.example/x',
    });
    assert.equal(config.databaseUrl, 'postgres://db.example/x');
    assert.throws(() => parseDatabaseConfig({ DATABASE_URL: 'nonsense' }), ConfigError);
  });

  it('allows webhooks to private addresses only on the local cluster, unless set', () => {
    const elsewhere = { SOLANA_RPC_URL: 'https://rpc.example', ...keysFor('SOLANA_RPC_URL') };
    assert.deepEqual(
      [{}, elsewhere, { WEBHOOK_ALLOW_PRIVATE: '0' }, { ...elsewhere, WEBHOOK_ALLOW_PRIVATE: '1' }].map(
        (given) => parseConfig(given).webhooksMayBePrivate,
      ),
      [true, false, false, true],
    );
  });

  it('knows only its own cluster as a local one, wherever another one is reached, unless set', () => {
    const tunnelled = { SOLANA_RPC_URL: 'http://127.0.0.1:8899', ...keysFor('SOLANA_RPC_URL') };
    assert.deepEqual(
      [{}, tunnelled, { SOLANA_CLUSTER_IS_LOCAL: '0' }, { ...tunnelled, SOLANA_CLUSTER_IS_LOCAL: '1' }].map(
        (given) => parseConfig(given).isClusterLocal,
      ),
      [true, false, false, true],
    );
  });

  it('lets strangers spend 1 SOL in a day where the company decides who is served, and never more than they may lock, unless set', () => {
    const spent = (environment: Record<string, string>) => parseConfig(environment).caps.spentUnadmittedLamports;
    assert.equal(spent({}), 100_000_000_000n);
    assert.equal(spent({ MAX_LOCKED_LAMPORTS_UNADMITTED: '7000000000' }), 7_000_000_000n);
    for (const REGISTRATION of ['approval', 'closed']) {
      assert.equal(spent({ REGISTRATION }), 1_000_000_000n);
      assert.equal(spent({ REGISTRATION, MAX_LOCKED_LAMPORTS_UNADMITTED: '7000' }), 7_000n);
      assert.equal(spent({ REGISTRATION, MAX_SPENT_LAMPORTS_UNADMITTED: '2000000000' }), 2_000_000_000n);
    }
  });

  it('rejects two variables for the key of webhooks', () => {
    const key = Buffer.alloc(32, 1).toString('base64');
    assert.deepEqual(parseConfig({ WEBHOOK_KEY: key }).webhookKey, new Uint8Array(32).fill(1));
    assert.match(faultsOf({ WEBHOOK_KEY: key, WEBHOOK_KEY_FILE: 'key' })[0] ?? '', /both set/);
  });

  it('rejects one role for serve and work: each start would take from it what the other one needs', () => {
    const one = { DATABASE_SERVE_ROLE: 'flywheel', DATABASE_WORK_ROLE: 'flywheel' };
    assert.deepEqual(faultsOf(one), [
      'DATABASE_SERVE_ROLE and DATABASE_WORK_ROLE are both flywheel; give each process a role of its own.',
    ]);
    assert.match(faultsOf({ DATABASE_SERVE_ROLE: 'flywheel_work' })[0] ?? '', /are both flywheel_work/);
    parseConfig({ DATABASE_SERVE_ROLE: 'flywheel_work', DATABASE_URL: 'postgres://db.example/x' });
  });

  it('requires both signers on other clusters, by file or by address', () => {
    const SOLANA_RPC_URL = 'https://rpc.example';
    assert.deepEqual(
      faultsOf({ SOLANA_RPC_URL }).map((sentence) => sentence.split(' is not set')[0]),
      ['OPERATOR_SIGNER', 'COMPANY_SIGNER'],
    );
    for (const sentence of faultsOf({ SOLANA_RPC_URL })) {
      assert.match(
        sentence,
        /SOLANA_RPC_URL is set, so the service uses that cluster .*: unset SOLANA_RPC_URL for a local/,
      );
    }
    parseConfig({ SOLANA_RPC_URL, OPERATOR_SIGNER: 'operator.json', COMPANY_SIGNER: 'company.json' });
    parseConfig({ SOLANA_RPC_URL, OPERATOR_ADDRESS: ADDRESS, COMPANY_ADDRESS: ADDRESS });
  });
});

/** One issue at a time: variables that this one needs are valid. */
function keysFor(name: string): Record<string, string> {
  return name === 'SOLANA_RPC_URL' ? { OPERATOR_ADDRESS: ADDRESS, COMPANY_ADDRESS: ADDRESS } : {};
}

function faultsOf(environment: Readonly<Record<string, string>>): string[] {
  try {
    parseConfig(environment);
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    return error.message.split('\n');
  }
  throw new Error(`Taken as it is: ${JSON.stringify(environment)}`);
}
