import { once } from 'node:events';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import {
  BATCH_DISCRIMINATOR,
  batchDecoder,
  batchEncoder,
  DISCRIMINATOR_BYTES,
  hasDiscriminator,
  MULTISIG_DISCRIMINATOR,
  multisigDecoder,
  multisigEncoder,
} from '@flywheel/squads';
import type { Decoder, Encoder, ReadonlyUint8Array } from '@solana/kit';

export interface RpcNode {
  readonly url: string;
  stop(): void;
}

/** Starts an RPC node that alters the accounts that it answers. */
export function openAlteringProxy(rpcUrl: string, alter: (account: Buffer) => Buffer): Promise<RpcNode> {
  return openProxy(rpcUrl, (answer) => alterAccounts(answer, alter));
}

/** Starts an RPC node that answers something else than another one. */
export async function openProxy(rpcUrl: string, alter: (answer: string) => string): Promise<RpcNode> {
  const proxy = createServer(async (request, response) => {
    const body = await text(request);
    const answer = await fetch(rpcUrl, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    response.setHeader('content-type', 'application/json').end(alter(await answer.text()));
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const address = proxy.address();
  if (address === null || typeof address === 'string') throw new Error('The proxy has no port.');
  return { url: `http://127.0.0.1:${address.port}`, stop: () => proxy.close() };
}

/** Anchor's discriminator of a proposal; its status follows its multisig and its index. */
const PROPOSAL = Buffer.from([26, 94, 189, 187, 116, 136, 53, 33]);
const STATUS_OFFSET = 8 + 32 + 8;
const DRAFT = 0;

/** Shows a proposal as a draft. */
export function asDraft(account: Buffer): Buffer {
  if (!account.subarray(0, PROPOSAL.length).equals(PROPOSAL)) return account;
  account.writeUInt8(DRAFT, STATUS_OFFSET);
  return account;
}

/** Alters every multisig that is shown. */
export const alterMultisig = alterSquads(MULTISIG_DISCRIMINATOR, multisigDecoder, multisigEncoder);

/** Alters every batch that is shown. */
export const alterBatch = alterSquads(BATCH_DISCRIMINATOR, batchDecoder, batchEncoder);

/** Alters the accounts of one kind as their fields say. */
export function alterSquads<Fields>(
  discriminator: ReadonlyUint8Array,
  decoder: Decoder<Fields>,
  encoder: Encoder<Fields>,
): (change: (fields: Fields) => Fields) => (account: Buffer) => Buffer {
  return (change) => (account) => {
    if (!hasDiscriminator(account, discriminator)) return account;
    const changed = encoder.encode(change(decoder.decode(account, DISCRIMINATOR_BYTES)));
    return Buffer.concat([account.subarray(0, DISCRIMINATOR_BYTES), Uint8Array.from(changed)]);
  };
}

function alterAccounts(answer: string, alter: (account: Buffer) => Buffer): string {
  return answer.replaceAll(
    /"([A-Za-z0-9+/]{64,}={0,2})"/g,
    (_, base64: string) => `"${alter(Buffer.from(base64, 'base64')).toString('base64')}"`,
  );
}
