import assert from 'node:assert/strict';
import { test } from 'node:test';
import { networkOf } from '../../src/http/wire/client-network.ts';

test('a client is counted by its IPv4 address, or by the first 64 bits of its IPv6 address', () => {
  for (const [ip, network] of [
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:0:1::7', '2001:db8:0:1::/64'],
    ['2001:0db8:0000:0001:ffff:0:0:9', '2001:db8:0:1::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
  ] as const) {
    assert.equal(networkOf(ip), network);
  }
});
