import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openTestDatabase } from '@flywheel/testing/postgres';
import { storeProject } from '@flywheel/testing/records';
import { queueEvent, startTestDelivering, storeEndpoint, untilNewest } from '@flywheel/testing/webhook-deliveries';
import { openReceiver } from '@flywheel/testing/webhook-receiver';
import { systemClock } from '../../src/clock.ts';
import { post } from '../../src/webhooks/post.ts';
import { findUrlIssue, guardedLookup } from '../../src/webhooks/receiver-address.ts';

const PUBLIC = { allowPrivate: false };
const ANYWHERE = { allowPrivate: true };

const INSIDE = [
  '127.0.0.1',
  '127.9.9.9',
  '0.0.0.0',
  '10.1.2.3',
  '100.64.0.1',
  '100.100.100.200',
  '100.127.255.255',
  '168.63.129.16',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '192.0.0.192',
  '192.0.2.1',
  '192.88.99.1',
  '198.18.0.1',
  '198.19.255.255',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::127.0.0.1',
  '::ffff:127.0.0.1',
  '::ffff:10.0.0.1',
  '::ffff:169.254.169.254',
  '::ffff:1.1.1.1',
  '64:ff9b::7f00:1',
  '64:ff9b:1::7f00:1',
  '100::1',
  '2002:7f00:1::',
  '2001:0:1::',
  '2001:1ff::1',
  '2001:db8::1',
  '3fff::1',
  '5f00::1',
  'fc00::1',
  'fd00:ec2::254',
  'fe80::1',
  'febf::1',
  'fec0::1',
  'feff::1',
  'ff02::1',
];
const OUTSIDE = [
  '1.1.1.1',
  '172.15.0.1',
  '172.32.0.1',
  '100.63.0.1',
  '100.128.0.1',
  '2001:200::1',
  '2606:4700:4700::1111',
];
const bracketed = (address: string) => (address.includes(':') ? `[${address}]` : address);

describe('a receiver’s URL', () => {
  for (const address of INSIDE) {
    it(`cannot name ${address} unless private addresses are allowed`, () => {
      const url = `https://${bracketed(address)}/hook`;
      assert.match(findUrlIssue(url, PUBLIC) ?? '', /is not a public address/);
      assert.equal(findUrlIssue(url, ANYWHERE), null);
    });
  }
  for (const address of OUTSIDE) {
    it(`can name ${address}`, () =>
      assert.equal(findUrlIssue(`https://${bracketed(address)}:8443/a?b=c`, PUBLIC), null));
  }

  const FAULTY: readonly (readonly [url: string, fault: RegExp])[] = [
    ['http://example.com/', /must begin with https/],
    ['ftp://example.com/', /must begin with https/],
    ['file:///etc/passwd', /must begin with https/],
    ['https://user@example.com/', /user or password/],
    ['https://:secret@example.com/', /user or password/],
    ['https://example.com/#part', /fragment/],
    ['example.com', /is not a URL/],
    ['', /is not a URL/],
    [`https://example.com/${'a'.repeat(2_029)}`, /has 2049 characters; it may have 2048/],
    // URL parsers read these as 127.0.0.1.
    ['https://2130706433/', /127\.0\.0\.1, which is not a public/],
    ['https://0x7f.1/', /127\.0\.0\.1, which is not a public/],
    ['https://017700000001/', /127\.0\.0\.1, which is not a public/],
    ['https://127.1/', /127\.0\.0\.1, which is not a public/],
    ['https://①②⑦.0.0.1/', /127\.0\.0\.1, which is not a public/],
    ['https://[::ffff:7f00:1]/', /is not a public/],
  ];
  for (const [url, fault] of FAULTY) {
    it(`is rejected: ${url.slice(0, 60)}`, () => assert.match(findUrlIssue(url, PUBLIC) ?? '', fault));
  }

  it('can be http only if private addresses are allowed, and never another scheme', () => {
    assert.equal(findUrlIssue('http://127.0.0.1:3000/', ANYWHERE), null);
    assert.match(findUrlIssue('ftp://127.0.0.1/', ANYWHERE) ?? '', /must begin with https/);
  });
});

const UNREACHABLE = 'receiver.example leads to no public address.';

describe('a receiver’s host name', () => {
  const resolving = (...addresses: string[]) =>
    guardedLookup(PUBLIC, async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })));
  const resolveHost = (lookup: ReturnType<typeof guardedLookup>, all = true) =>
    new Promise((resolve, reject) => {
      lookup('receiver.example', { all }, (error, found) => (error ? reject(error) : resolve(found)));
    });

  for (const address of INSIDE) {
    it(`is not connected to if it resolves to ${address}`, async () => {
      for (const all of [true, false]) {
        await assert.rejects(resolveHost(resolving(address), all), { message: UNREACHABLE });
      }
    });
  }

  it('is connected to at its public address if it resolves to public and private ones', async () => {
    const lookup = resolving('10.0.0.1', '1.1.1.1', '::1');
    assert.deepEqual(await resolveHost(lookup), [{ address: '1.1.1.1', family: 4 }]);
    assert.equal(await resolveHost(lookup, false), '1.1.1.1');
  });

  it('is reported alike whether it is private, without an address or unknown, which would map the names of your network', async () => {
    const failing = (code: string) =>
      guardedLookup(PUBLIC, () =>
        Promise.reject(Object.assign(new Error(`queryA ${code} receiver.example`), { code })),
      );
    for (const lookup of [resolving('10.96.12.7', '::1'), resolving(), failing('ENODATA'), failing('ENOTFOUND')]) {
      await assert.rejects(resolveHost(lookup), { message: UNREACHABLE });
    }
    await assert.rejects(resolveHost(failing('ETIMEOUT')), /queryA ETIMEOUT/);
  });

  it('is resolved once: the connection uses the checked address', async () => {
    await using receiver = await openReceiver();
    const answers = ['127.0.0.1', '10.0.0.1'];
    let lookups = 0;
    const lookup = guardedLookup(ANYWHERE, async () => [{ address: answers[lookups++] ?? '', family: 4 }]);
    const url = `http://rebinding.example:${new URL(receiver.url).port}/hook`;
    const deps = { rules: ANYWHERE, lookup, timeoutMs: 60_000 };
    const answer = await post(deps, { url, headers: {}, body: '{}' }, new AbortController().signal);
    assert.deepEqual([answer.status, lookups, receiver.received.length], [204, 1, 1]);
    assert.equal(receiver.received[0]?.headers.host, new URL(url).host);
  });
});

describe('a delivery to a private address', () => {
  const urls = (port: string) => [
    `https://127.0.0.1:${port}/hook`,
    `https://[::ffff:127.0.0.1]:${port}/hook`,
    `https://localhost:${port}/hook`,
    `http://127.0.0.1:${port}/hook`,
  ];

  it('is never made, however its URL was stored, by address or by name', async () => {
    const database = await openTestDatabase();
    const { db } = database;
    await using receiver = await openReceiver();
    const lookup = guardedLookup(PUBLIC, async () => [{ address: '127.0.0.1', family: 4 }]);
    startTestDelivering(database, { clock: systemClock, rules: PUBLIC, lookup });
    const project = await storeProject(db);
    for (const url of urls(new URL(receiver.url).port)) {
      const endpointId = await storeEndpoint(db, project, url);
      await queueEvent(db, project);
      const { lastStatus, lastError } = await untilNewest(db, endpointId, ({ state }) => state === 'failed');
      assert.equal(lastStatus, null);
      assert.match(lastError ?? '', /no public address|not a public address|must begin with https/);
    }
    assert.equal(receiver.received.length, 0);
  });
});
