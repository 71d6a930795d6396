import { randomBytes } from 'node:crypto';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Config, ConfigError, parseWebhookKey } from './config.ts';

/**
 * The key that webhooks’ secrets are derived from; null where none is configured, and there are no webhooks. On the local
 * cluster one is made when missing.
 */
export async function openWebhookKey(
  config: Config,
  { isLocal }: { readonly isLocal: boolean },
): Promise<Uint8Array | null> {
  const { webhookKey, webhookKeyFile, dataDirectory } = config;
  if (webhookKey !== null) return webhookKey;
  if (webhookKeyFile !== null) return readKey(webhookKeyFile);
  return isLocal ? readKey(await provideKey(join(dataDirectory, 'keys'))) : null;
}

const KEY_BYTES = 32;

/** Two starts at once on one directory end up with one key. */
async function provideKey(directory: string): Promise<string> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const path = join(directory, 'webhook.key');
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  const text = `${randomBytes(KEY_BYTES).toString('base64')}\n`;
  await writeFile(draft, text, { mode: 0o600, flag: 'wx', flush: true });
  try {
    // Unlike a rename, a link fails where there is one, and nobody reads half of it.
    await link(draft, path);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  } finally {
    await rm(draft);
  }
  return path;
}

async function readKey(path: string): Promise<Uint8Array> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (cause) {
    throw new ConfigError([`WEBHOOK_KEY_FILE ${path} cannot be read: ${String(cause)}.`]);
  }
  const key = parseWebhookKey(text.trim());
  // Not quoted: it may be a key all the same.
  if (key === null) throw new ConfigError([`WEBHOOK_KEY_FILE ${path} holds no base64 of at least 32 bytes.`]);
  return key;
}
