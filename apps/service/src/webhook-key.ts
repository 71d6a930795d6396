import { randomBytes } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Config, ConfigError } from './config.ts';
import { parseWebhookKey } from './setting-types.ts';
import { writeNewFile } from './solana/new-file.ts';

/**
 * Reads the key from which webhook secrets are derived; null if none is configured, and webhooks are unavailable. On the
 * local cluster a missing key is generated.
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

/**
 * Finds out if the configured file holds a key.
 * @returns a sentence, which quotes no part of the key; null if it does, or if no file is configured.
 */
export async function findWebhookKeyIssue({ webhookKeyFile }: Pick<Config, 'webhookKeyFile'>): Promise<string | null> {
  if (webhookKeyFile === null) return null;
  try {
    await readKey(webhookKeyFile);
    return null;
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
}

const KEY_BYTES = 32;

/** Concurrent starts on one directory end up with the same key. */
async function provideKey(directory: string): Promise<string> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const path = join(directory, 'webhook.key');
  await writeNewFile(path, `${randomBytes(KEY_BYTES).toString('base64')}\n`);
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
  // Do not quote the value: it may be a key all the same.
  if (key === null) throw new ConfigError([`WEBHOOK_KEY_FILE ${path} must hold base64 of at least 32 bytes.`]);
  return key;
}
