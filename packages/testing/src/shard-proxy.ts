import { fileURLToPath } from 'node:url';
import { runHaProxy } from './haproxy.ts';
import { findFreePort } from './postgres-pair.ts';

/** A shard as the proxy reaches it. */
export interface ShardAddress {
  /** URL of its `serve` process. */
  readonly url: string;
  /** URL of its metrics, beside which its directory is. */
  readonly metricsUrl: string;
}

/** HAProxy in front of two shards, with the settings of `deploy/haproxy`. */
export interface ShardProxy {
  readonly url: string;
  stop(): Promise<void>;
}

const DEPLOY = fileURLToPath(new URL('../../../deploy/haproxy/', import.meta.url));

/** @param more variables of `deploy/haproxy/shards.cfg`. */
export async function startShardProxy(
  [first, second]: readonly [ShardAddress, ShardAddress],
  more: Readonly<Record<string, string>> = {},
): Promise<ShardProxy> {
  const listen = `127.0.0.1:${await findFreePort()}`;
  const url = `http://${listen}`;
  const environment = {
    LISTEN: listen,
    DIRECTORY_LUA: `${DEPLOY}directory.lua`,
    DIRECTORIES: [first, second].map(({ metricsUrl }) => new URL(metricsUrl).origin).join(' '),
    SHARD_1: new URL(first.url).host,
    SHARD_2: new URL(second.url).host,
    SESSION_COOKIE: 'flywheel_session',
    ...more,
  };
  const isReady = () =>
    fetch(`${url}/health/live`).then(
      ({ ok }) => ok,
      () => false,
    );
  return { url, stop: await runHaProxy([`${DEPLOY}shards.cfg`], environment, isReady) };
}
