import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { isApiError } from '@flywheel/api';
import { json, startTestServer, WALLET } from '@flywheel/testing/test-server';
import { countedAddress, createAddressLimits } from '../../src/http/operations/address-limits.ts';
import { createApiKey } from '../../src/projects/api-key.ts';

const isRateLimited = (error: unknown) => isApiError(error, 'ERR_RATE_LIMITED');
const UNLIMITED = { requests: 1_000_000, seconds: 60 };

describe('an address', () => {
  it('is counted as itself if it is IPv4, and by its /64 network if it is IPv6', () => {
    for (const [given, counted] of [
      ['192.0.2.7', '192.0.2.7'],
      ['::ffff:192.0.2.7', '192.0.2.7'],
      ['::FFFF:c000:207', '192.0.2.7'],
      ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
      ['2001:0DB8:0001:0002:ffff::1', '2001:db8:1:2::/64'],
      ['2001:db8::1', '2001:db8:0:0::/64'],
      ['::1', '0:0:0:0::/64'],
      ['fe80::1%eth0', 'fe80:0:0:0::/64'],
      ['192.0.2.7:50412', '192.0.2.7'],
      ['[2001:db8:1:2::5]:50412', '2001:db8:1:2::/64'],
      ['[::ffff:192.0.2.7]', '192.0.2.7'],
      ['no address', 'unknown'],
    ] as const) {
      assert.equal(countedAddress(given), counted, given);
    }
  });

  it('has the requests of a window, and waits for the next one', () => {
    let time = 0;
    const limits = createAddressLimits(
      { any: { requests: 2, seconds: 10 }, heavy: UNLIMITED, unknownCredentials: UNLIMITED },
      { now: () => new Date(time) },
    );
    const isCounted = (address: string) => {
      try {
        limits.count('any', address);
        return true;
      } catch (error) {
        assert.ok(isApiError(error, 'ERR_RATE_LIMITED') && error.context.retryAfterSeconds <= 10);
        return false;
      }
    };
    assert.deepEqual([isCounted('a'), isCounted('a'), isCounted('a'), isCounted('b')], [true, true, false, true]);
    time = 10_000;
    assert.equal(isCounted('a'), true);
  });
});

describe('an unknown credential', () => {
  it('costs no query beyond a number for each address, whose known clients are still served', async () => {
    let queries = 0;
    const limits = createAddressLimits(
      { any: UNLIMITED, heavy: UNLIMITED, unknownCredentials: { requests: 3, seconds: 60 } },
      { now: () => new Date(0) },
    );
    await using server = await startTestServer({
      addressLimits: limits,
      trustedProxies: ['127.0.0.1'],
      findOpenSession: async () => {
        queries += 1;
        return null;
      },
    });
    const path = '/v1/flywheel/batch/current';
    const from = (ip: string) => ({ 'x-forwarded-for': ip });
    assert.equal((await server.fetch(path, { headers: from('192.0.2.7') })).status, 200);
    const statuses: number[] = [];
    for (let i = 0; i < 5; i++) {
      const { apiKey } = createApiKey(new Uint8Array(32).fill(i));
      statuses.push((await server.fetch(path, { apiKey, headers: from('192.0.2.7') })).status);
    }
    assert.deepEqual(statuses, [404, 404, 404, 429, 429]);
    const { apiKey } = createApiKey(new Uint8Array(32).fill(9));
    const limited = await server.fetch(path, { apiKey, headers: from('192.0.2.7') });
    assert.equal(limited.headers.get('retry-after'), '60');
    assert.equal((await server.fetch(path, { headers: from('192.0.2.7') })).status, 200, 'a key that has worked');
    assert.equal((await server.fetch(path, { apiKey, headers: from('192.0.2.8') })).status, 404, 'another address');
    for (let i = 0; i < 6; i++) {
      const cookie = { cookie: `flywheel_session=${i}` };
      await server.fetch('/console/api/session', { headers: { ...from(`2001:db8::${i}`), ...cookie } });
    }
    assert.equal(queries, 3, 'cookies of one /64 network count together');
  });

  it('is not counted if it turns out to work, however many simultaneous requests have it', async () => {
    const limits = createAddressLimits(
      { any: UNLIMITED, heavy: UNLIMITED, unknownCredentials: { requests: 3, seconds: 60 } },
      { now: () => new Date(0) },
    );
    const search = (credential: string) => limits.requireSearch('a', credential);
    const simultaneous = Array.from({ length: 100 }, () => search('first'));
    (await search('second'))(true);
    for (const record of simultaneous) (await record)(true);
    for (const credential of ['x', 'y', 'z']) (await search(credential))(false);
    await assert.rejects(search('fourth'), isRateLimited);
    (await search('first'))(true);
  });

  it('is counted each time if it turns out not to work, also for simultaneous requests', async () => {
    const limits = createAddressLimits(
      { any: UNLIMITED, heavy: UNLIMITED, unknownCredentials: { requests: 3, seconds: 60 } },
      { now: () => new Date(0) },
    );
    let searches = 0;
    const search = async () => {
      const record = await limits.requireSearch('a', 'unknown');
      searches += 1;
      await setImmediate();
      record(false);
    };
    const ended = await Promise.allSettled(Array.from({ length: 100 }, search));
    assert.equal(searches, 3);
    for (const each of ended)
      if (each.status === 'rejected') assert.ok(isRateLimited(each.reason), String(each.reason));
  });

  it('is not counted if the search fails, so that valid ones are served when the database is back', async () => {
    const limits = createAddressLimits(
      { any: UNLIMITED, heavy: UNLIMITED, unknownCredentials: { requests: 1, seconds: 60 } },
      { now: () => new Date(0) },
    );
    const fail = async () => {
      throw new Error('The database is away.');
    };
    await using server = await startTestServer({ addressLimits: limits, findOpenSession: fail, findKeyHolder: fail });
    const cookie = { cookie: 'flywheel_session=x' };
    for (let i = 0; i < 2; i++) {
      assert.equal((await server.fetch('/console/api/session', { headers: cookie })).status, 500);
      assert.equal((await server.fetch('/v1/flywheel/batch/current')).status, 500);
    }
  });

  it('is counted as soon as it works no more', async () => {
    const limits = createAddressLimits(
      { any: UNLIMITED, heavy: UNLIMITED, unknownCredentials: { requests: 1, seconds: 60 } },
      { now: () => new Date(0) },
    );
    (await limits.requireSearch('a', 'revoked'))(true);
    (await limits.requireSearch('a', 'revoked'))(false);
    await assert.rejects(limits.requireSearch('a', 'revoked'), isRateLimited);
  });

  it('is not counted if it is missing or mistyped, which costs no query', async () => {
    const limits = createAddressLimits(
      { any: UNLIMITED, heavy: UNLIMITED, unknownCredentials: { requests: 1, seconds: 60 } },
      { now: () => new Date(0) },
    );
    await using server = await startTestServer({ addressLimits: limits });
    for (const apiKey of [null, 'fwk_short', 'fwk_short']) {
      assert.equal((await server.fetch('/v1/flywheel/batch/current', { apiKey })).status, 401);
    }
  });
});

describe('an operation that makes much work', () => {
  it('is limited by address before the session is read', async () => {
    let queries = 0;
    const limits = createAddressLimits(
      { any: UNLIMITED, heavy: { requests: 1, seconds: 60 }, unknownCredentials: UNLIMITED },
      { now: () => new Date(0) },
    );
    await using server = await startTestServer({
      addressLimits: limits,
      findOpenSession: async () => {
        queries += 1;
        return { wallet: WALLET, expiresAt: new Date() };
      },
    });
    const request = json({}, { cookie: 'flywheel_session=x' });
    const answers = [
      await server.fetch('/console/api/registrations', request),
      await server.fetch('/console/api/registrations', request),
    ];
    assert.deepEqual(
      answers.map(({ status }) => status),
      [400, 429],
    );
    assert.equal(queries, 1);
  });
});
