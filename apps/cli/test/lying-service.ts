import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import type { World } from '@flywheel/testing/world';
import type { Base64EncodedWireTransaction } from '@solana/kit';

/** Changes the answers of the paths that match. */
export interface Lie {
  readonly path: RegExp;
  /** Null for no answer: the connection is closed. */
  readonly change: (answer: string) => Promise<string> | string | null;
}

export interface LyingService {
  readonly url: string;
  /** Tells this lie from now on; null tells the truth. */
  tell(lie: Lie | null): void;
  stop(): void;
}

/** Starts a proxy of a world's service that changes its answers, and uses every signature of a registration that it gets. */
export async function openLyingService(world: Pick<World, 'url' | 'rpc'>): Promise<LyingService> {
  let told: Lie | null = null;
  const proxy = createServer(async (incoming, response) => {
    const body = await text(incoming);
    if (incoming.url?.endsWith('/confirm')) await broadcast(world, JSON.parse(body).signedTransaction);
    const { origin } = new URL(world.url);
    const outgoing = request(`${origin}${incoming.url}`, { method: incoming.method, headers: incoming.headers });
    outgoing.end(body);
    const [answer]: IncomingMessage[] = await once(outgoing, 'response');
    if (!answer) throw new Error('The service gave no answer.');
    let changed: string | null = await text(answer);
    if (told?.path.test(incoming.url ?? '')) changed = await told.change(changed);
    if (changed === null) {
      response.destroy();
      return;
    }
    const { 'content-length': _length, 'content-encoding': _encoding, ...headers } = answer.headers;
    response.writeHead(answer.statusCode ?? 500, headers).end(changed);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const address = proxy.address();
  if (address === null || typeof address === 'string') throw new Error('The proxy has no port.');
  return {
    url: `http://127.0.0.1:${address.port}`,
    tell: (lie) => {
      told = lie;
    },
    stop: () => proxy.close(),
  };
}

async function broadcast({ rpc }: Pick<World, 'rpc'>, signed: Base64EncodedWireTransaction): Promise<void> {
  const config = { encoding: 'base64', preflightCommitment: 'confirmed' } as const;
  // A transaction that does not land takes nothing.
  await rpc
    .sendTransaction(signed, config)
    .send()
    .catch(() => null);
}
