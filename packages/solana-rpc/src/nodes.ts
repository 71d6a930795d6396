import type { RpcTransport } from '@solana/kit';
import { RpcError } from './rpc-error.ts';
import { createRpcTransport, type TransportOptions } from './transport.ts';

export interface NodesOptions extends Omit<TransportOptions, 'url'> {
  /** One URL for each node of one cluster, the preferred one first. */
  readonly urls: readonly string[];
}

/** Several nodes of one cluster. One that cannot answer is asked last from then on. */
export interface Nodes {
  /** Sends every call to the first node that can answer. Only for calls that no other call depends on. */
  readonly failover: RpcTransport;
  /** Each node by itself, for what every node should receive. */
  readonly each: readonly RpcTransport[];
  /** Chooses one node for all calls of a decision. A call that it cannot answer fails; the next choice is another node. */
  pin(): RpcTransport;
}

/**
 * Creates a transport for each URL. Nodes of a cluster are not at the same slot, so that a decision must not mix them.
 * @throws RangeError if there is no URL, or one is not valid.
 *
 * @example
 * const nodes = createNodes({ urls: ['https://one.example', 'https://two.example'] });
 * const slot = await callRpc(nodes.failover, 'getSlot');
 */
export function createNodes({ urls, ...options }: NodesOptions): Nodes {
  if (urls.length === 0) throw new RangeError('At least one RPC URL is needed.');
  // With another node to go to, a second attempt is enough.
  const { maxAttempts = urls.length > 1 ? 2 : undefined } = options;
  const each = urls.map((url) => createRpcTransport({ ...options, url, ...(maxAttempts && { maxAttempts }) }));
  let ordered: readonly RpcTransport[] = each;
  const isUnable = (node: RpcTransport, error: unknown): boolean => {
    if (!isNodeFailure(error)) return false;
    ordered = [...ordered.filter((other) => other !== node), node];
    return true;
  };
  return {
    each,
    pin: () => {
      const [node] = ordered;
      if (!node) throw new RangeError('At least one RPC URL is needed.');
      return async (request) => {
        try {
          return await node(request);
        } catch (error) {
          isUnable(node, error);
          throw error;
        }
      };
    },
    failover: async (request) => {
      let failure: unknown;
      for (const node of ordered) {
        try {
          return await node(request);
        } catch (error) {
          if (!isUnable(node, error)) throw error;
          failure ??= error;
        }
      }
      throw failure;
    },
  };
}

/** Codes of errors by which a node says that it is unhealthy or behind (rpc-client-api, custom_error.rs). */
const NODE_UNHEALTHY = -32005;
export const MIN_CONTEXT_SLOT_NOT_REACHED = -32016;

/** True for an error about the node; false for one about the call, which every node would answer. */
function isNodeFailure(error: unknown): boolean {
  if (!(error instanceof RpcError)) return false;
  if (error.reason !== 'node-error') return true;
  return error.code === NODE_UNHEALTHY || error.code === MIN_CONTEXT_SLOT_NOT_REACHED;
}
