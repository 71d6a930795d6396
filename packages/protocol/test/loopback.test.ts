import assert from 'node:assert/strict';
import { it } from 'node:test';
import { isLoopbackHost } from '../src/index.ts';

it('isLoopbackHost() knows this machine by its addresses and its name only', () => {
  const hostOf = (url: string) => new URL(url).hostname;
  for (const url of [
    'http://localhost:4000',
    'http://127.0.0.1',
    'http://127.8.0.9:1',
    'http://[::1]:4000',
    'http://2130706433',
  ]) {
    assert.equal(isLoopbackHost(hostOf(url)), true, url);
  }
  for (const url of [
    'http://127.0.0.1.example',
    'http://localhost.example',
    'http://10.0.0.1',
    'http://[::2]',
    'http://127.example',
  ]) {
    assert.equal(isLoopbackHost(hostOf(url)), false, url);
  }
});
