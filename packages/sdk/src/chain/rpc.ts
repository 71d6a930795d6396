import { address, MAX_MULTIPLE_ACCOUNTS } from '@flywheel/protocol';
import { callRpc, chooseNode, createRpcTransport, RpcError, type RpcUrl } from '@flywheel/solana-rpc';
import { type Address, getBase64Encoder, type ReadonlyUint8Array, type RpcTransport } from '@solana/kit';
import type { CallOptions } from '../client.ts';
import { FlywheelError } from '../errors.ts';

export interface ChainAccount {
  readonly address: Address;
  /** The program that owns the account. */
  readonly programAddress: Address;
  readonly data: ReadonlyUint8Array;
}

export type Commitment = 'confirmed' | 'finalized';

export interface ReadOptions extends CallOptions {
  /** `confirmed` by default. */
  readonly commitment?: Commitment;
}

/**
 * Reads accounts from a node; null for an account that does not exist.
 * @throws FlywheelError as `askRpc`.
 */
export async function readAccounts(
  rpcUrl: string,
  addresses: readonly Address[],
  { commitment = 'confirmed', signal }: ReadOptions = {},
): Promise<(ChainAccount | null)[]> {
  const pages = Array.from({ length: Math.ceil(addresses.length / MAX_MULTIPLE_ACCOUNTS) }, (_, page) =>
    addresses.slice(page * MAX_MULTIPLE_ACCOUNTS, (page + 1) * MAX_MULTIPLE_ACCOUNTS),
  );
  const read = await Promise.all(
    pages.map(async (page) => {
      const config = { encoding: 'base64', commitment };
      const value = fieldOf(await askRpc(rpcUrl, GET_ACCOUNTS, [page, config], signal), 'value');
      return page.map((asked, i) => toAccount(asked, fieldOf(value, i)));
    }),
  );
  return read.flat();
}

/**
 * Calls a reading method of a Solana node directly, without the service. The result is not checked.
 * @throws FlywheelError `ERR_UNREACHABLE`, `ERR_TIMED_OUT`, or `ERR_UNEXPECTED_REPLY` if the node answers with an error.
 * @throws the signal's reason if it is aborted.
 */
export async function askRpc(
  rpcUrl: string,
  method: string,
  params: readonly unknown[],
  signal?: AbortSignal,
): Promise<unknown> {
  return askTransport(createRpcTransport({ url: rpcUrl, timeoutMs: RPC_TIMEOUT_MS }), method, params, signal);
}

/** Calls a method as `askRpc` does, over a transport that is used for many calls. */
export async function askTransport(
  transport: RpcTransport,
  method: string,
  params: readonly unknown[],
  signal?: AbortSignal,
): Promise<unknown> {
  try {
    return await callRpc(transport, method, params, signal);
  } catch (cause) {
    if (!(cause instanceof RpcError)) throw cause;
    throw new FlywheelError({
      code: toCode(cause),
      // Only a node's own message does not name the host.
      message: `${method}: ${cause.reason === 'node-error' ? `${cause.host} answered: ` : ''}${cause.message}`,
      status: cause.status,
      cause,
    });
  }
}

/**
 * Reads the hash that identifies a node's cluster.
 * @param rpcUrl a Solana node, or several of one cluster: the first healthy one answers.
 * @throws FlywheelError if the node does not answer.
 */
export async function readGenesisHash(rpcUrl: RpcUrl, { signal }: CallOptions = {}): Promise<string> {
  const hash = await askRpc(await chooseNode(rpcUrl, signal), 'getGenesisHash', [], signal);
  if (typeof hash !== 'string') throw unexpectedAnswer('getGenesisHash', hash);
  return hash;
}

/** Returns a field of a node's answer; undefined if there is none. */
export function fieldOf(value: unknown, name: string | number): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? Reflect.get(value, name)
    : undefined;
}

/** Creates the error of an answer that does not have the shape that the method documents. */
export function unexpectedAnswer(method: string, value: unknown): FlywheelError {
  // Every account has an integer above 2^53, its rentEpoch.
  const text = JSON.stringify(value, (_key, part: unknown) => (typeof part === 'bigint' ? String(part) : part));
  const quoted = text?.slice(0, MAX_QUOTED_CHARACTERS);
  const message = `The node answered ${method} with something that this client does not know: ${quoted}`;
  return new FlywheelError({ code: 'ERR_UNEXPECTED_REPLY', message });
}

const GET_ACCOUNTS = 'getMultipleAccounts';
/** For one attempt. A public node may be slow; the caller is a person or a job that can wait. */
export const RPC_TIMEOUT_MS = 20_000;
const MAX_QUOTED_CHARACTERS = 200;

function toAccount(asked: Address, value: unknown): ChainAccount | null {
  if (value === null) return null;
  const [owner, data] = [fieldOf(value, 'owner'), fieldOf(fieldOf(value, 'data'), 0)];
  if (typeof owner !== 'string' || typeof data !== 'string') throw unexpectedAnswer(GET_ACCOUNTS, value);
  return { address: asked, programAddress: address(owner), data: getBase64Encoder().encode(data) };
}

function toCode({ reason }: RpcError): 'ERR_UNREACHABLE' | 'ERR_TIMED_OUT' | 'ERR_UNEXPECTED_REPLY' {
  switch (reason) {
    case 'unreachable':
      return 'ERR_UNREACHABLE';
    case 'timeout':
      return 'ERR_TIMED_OUT';
    case 'http-status':
    case 'invalid-answer':
    case 'node-error':
      return 'ERR_UNEXPECTED_REPLY';
    default:
      return reason satisfies never;
  }
}
