import assert from 'node:assert/strict';
import { chmod, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { parseConfig } from '../../src/config.ts';
import { openWebhookKey } from '../../src/webhook-key.ts';
import { createWebhookSecrets } from '../../src/webhooks/secrets.ts';

describe('the key of webhooks', () => {
  let directory: string;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'flywheel-webhook-key-'));
  });
  after(() => rm(directory, { recursive: true }));
  const configOf = (environment: Readonly<Record<string, string>> = {}) =>
    parseConfig({ FLYWHEEL_DATA_DIR: directory, ...environment });

  it('is created once on the local cluster, also by simultaneous starts, and readable only by its owner', async () => {
    const keys = await Promise.all(Array.from({ length: 5 }, () => openWebhookKey(configOf(), { isLocal: true })));
    const [key] = keys;
    assert.equal(key?.length, 32);
    for (const same of [...keys, await openWebhookKey(configOf(), { isLocal: true })]) assert.deepEqual(same, key);
    assert.deepEqual(await readdir(join(directory, 'keys')), ['webhook.key']);
    const { mode } = await stat(join(directory, 'keys', 'webhook.key'));
    assert.equal(mode & 0o777, 0o600);
  });

  it('is missing on other clusters unless a variable or a file names it', async () => {
    assert.equal(await openWebhookKey(configOf(), { isLocal: false }), null);
    const bytes = new Uint8Array(48).fill(3);
    const text = Buffer.from(bytes).toString('base64');
    const file = join(directory, 'key');
    await writeFile(file, `${text}\n`);
    assert.deepEqual(await openWebhookKey(configOf({ WEBHOOK_KEY_FILE: file }), { isLocal: false }), bytes);
    assert.deepEqual(await openWebhookKey(configOf({ WEBHOOK_KEY: text }), { isLocal: false }), bytes);
  });

  it('that is unreadable or invalid is reported by its file and never by its content', async () => {
    const file = join(directory, 'none');
    const open = () => openWebhookKey(configOf({ WEBHOOK_KEY_FILE: file }), { isLocal: true });
    await assert.rejects(open(), /WEBHOOK_KEY_FILE .*none cannot be read/);
    await writeFile(file, 'aHVudGVyMg==');
    await chmod(file, 0o600);
    await assert.rejects(
      open(),
      (error: Error) => /must hold base64 of at least 32/.test(error.message) && !/aHV/.test(error.message),
    );
  });

  it('yields a secret for each endpoint and version, equal in every process and different for other keys', () => {
    const [one, same, other] = [1, 1, 2].map((byte) => createWebhookSecrets(new Uint8Array(32).fill(byte)));
    assert.ok(one && same && other);
    assert.match(one.show('endpoint', 1), /^whsec_[\w+/]{43}=$/);
    assert.equal(one.show('endpoint', 1), same.show('endpoint', 1));
    const all = [one.show('endpoint', 1), one.show('endpoint', 2), one.show('elsewhere', 1), other.show('endpoint', 1)];
    assert.equal(new Set(all).size, 4);
  });
});
