import type { RpcTransport } from '@solana/kit';
import {
  BLOCK_CLEANED_UP,
  BLOCK_NOT_AVAILABLE,
  BLOCK_STATUS_NOT_AVAILABLE_YET,
  FILTER_TRANSACTION_NOT_FOUND,
  INTERNAL_ERROR,
  KEY_EXCLUDED_FROM_SECONDARY_INDEX,
  LONG_TERM_STORAGE_SLOT_SKIPPED,
  LONG_TERM_STORAGE_UNREACHABLE,
  MIN_CONTEXT_SLOT_NOT_REACHED,
  NO_SLOT_HISTORY,
  NODE_UNHEALTHY,
  SLOT_SKIPPED,
  TRANSACTION_HISTORY_NOT_AVAILABLE,
} from './error-codes.ts';
import { RpcError } from './rpc-error.ts';
import { callRpc, createRpcTransport, type TransportOptions } from './transport.ts';

/** URL of a node; or URLs of several nodes of one cluster, the preferred one first. */
export type RpcUrl = string | readonly string[];

export interface NodesOptions extends Omit<TransportOptions, 'url' | 'maxAttempts'> {
  /** One URL for each node of one cluster, the preferred one first. */
  readonly urls: readonly string[];
  /** Attempts at each node, the first included; 4 by default with one URL, 2 with several. */
  readonly maxAttempts?: number;
}

/** Several nodes of one cluster. One that cannot answer is asked last from then on. */
export interface Nodes {
  /** Sends every call to the first node that can answer. Only for calls that no other call depends on. */
  readonly failover: RpcTransport;
  /** Each node by itself, for what every node should receive. */
  readonly each: readonly RpcTransport[];
  /** Lists each node by itself, the preferred one first. */
  inOrder(): readonly RpcTransport[];
  /**
   * Chooses one node for all calls of a decision. A call that it cannot answer fails; the next choice is another node.
   * @param subject what the decision is about: nodes that were left for it are not chosen again before all others.
   */
  pin(subject?: string): PinnedNode;
}

/** One node, chosen for all calls of a decision. */
export interface PinnedNode {
  /** The same for every choice of this node. */
  readonly transport: RpcTransport;
  /** Host and port of the node. */
  readonly host: string;
  /**
   * Remembers that this node's answers were not enough to decide about the subject. Other subjects are not concerned.
   * @returns the host of the node that is chosen next; null if every node has been left, and the first is chosen again.
   */
  leave(): string | null;
}

/** Subjects whose nodes are remembered. Each is an open question that one node could not answer, so there are few. */
const MAX_SUBJECTS = 1_000;

/**
 * Creates a transport for each URL. Nodes of a cluster are not at the same slot, and do not keep the same history, so that a
 * decision must not mix them.
 * @throws RangeError if there is no URL, or one is not valid.
 *
 * @example
 * const nodes = createNodes({ urls: ['https://one.example', 'https://two.example'] });
 * const slot = await callRpc(nodes.failover, 'getSlot');
 */
export function createNodes({ urls, ...options }: NodesOptions): Nodes {
  // With another node to go to, a second attempt is enough.
  const { maxAttempts = urls.length > 1 ? 2 : undefined } = options;
  const each = urls.map((url): Node => {
    const transport = createRpcTransport({ ...options, url, ...(maxAttempts && { maxAttempts }) });
    return { transport, host: new URL(url).host };
  });
  let ordered: readonly Node[] = each;
  const left = new Map<string, ReadonlySet<Node>>();

  const demote = (node: Node, error: RpcError) => {
    const [first] = ordered;
    ordered = [...ordered.filter((other) => other !== node), node];
    const [next] = ordered;
    if (first !== node || next === undefined || next === node) return;
    options.log?.warn(
      { host: node.host, nextHost: next.host, err: error },
      'the RPC node cannot answer; asking another one',
    );
  };
  const guard = (node: Node): RpcTransport => {
    return async (request) => {
      try {
        return await node.transport(request);
      } catch (error) {
        if (isNodeFailure(error)) demote(node, error);
        throw error;
      }
    };
  };
  const transports = new Map(each.map((node) => [node, guard(node)]));
  const guarded = (node: Node): RpcTransport => transports.get(node) ?? guard(node);
  const firstOf = (subject: string): Node => {
    const node = ordered.find((candidate) => !left.get(subject)?.has(candidate)) ?? ordered[0];
    if (!node) throw new RangeError('At least one RPC URL is needed.');
    return node;
  };
  firstOf('');
  return {
    each: each.map(({ transport }) => transport),
    inOrder: () => ordered.map(guarded),
    pin: (subject = '') => {
      const node = firstOf(subject);
      return {
        transport: guarded(node),
        host: node.host,
        leave: () => {
          const nodes = new Set(left.get(subject)).add(node);
          left.delete(subject);
          if (nodes.size === each.length) return null;
          left.set(subject, nodes);
          const [oldest] = left.keys();
          if (left.size > MAX_SUBJECTS && oldest !== undefined) left.delete(oldest);
          return firstOf(subject).host;
        },
      };
    },
    failover: async (request) => {
      let failure: unknown;
      for (const node of ordered) {
        try {
          return await node.transport(request);
        } catch (error) {
          if (isNodeFailure(error)) demote(node, error);
          else if (!isSlotMissing(error)) throw error;
          failure ??= error;
        }
      }
      throw failure;
    },
  };
}

/**
 * Asks one node after the other until one knows the answer; null if none does. Only for what is the same on every node that
 * has it, like a transaction: a node keeps a part of the history.
 * @throws the first error, if no node has answered; the signal's reason as soon as it is aborted.
 *
 * @example
 * const found = await firstKnown(urls, (url) => callRpc(createRpcTransport({ url }), 'getTransaction', [signature]));
 */
export async function firstKnown<TNode, TAnswer>(
  nodes: readonly TNode[],
  read: (node: TNode) => Promise<TAnswer | null>,
  signal?: AbortSignal,
): Promise<TAnswer | null> {
  const errors: unknown[] = [];
  for (const node of nodes) {
    try {
      const known = await read(node);
      if (known !== null) return known;
    } catch (error) {
      signal?.throwIfAborted();
      errors.push(error);
    }
  }
  if (errors.length === nodes.length) throw errors[0];
  return null;
}

/** A healthy node answers within two seconds. */
const HEALTH_TIMEOUT_MS = 5_000;

/**
 * Chooses one node for all calls of a decision, because nodes are not at the same slot: the first healthy one of a list. If
 * none is, the first is chosen, and its error is shown. A single URL is not checked.
 * @throws RangeError if there is no URL, or one is not valid; the signal's reason if it is aborted.
 *
 * @example
 * const url = await chooseNode(['https://one.example', 'https://two.example']);
 */
export async function chooseNode(rpcUrl: RpcUrl, signal?: AbortSignal): Promise<string> {
  const [first, ...others] = urlsOf(rpcUrl);
  if (first === undefined) throw new RangeError('At least one RPC URL is needed.');
  if (others.length === 0) return first;
  for (const url of [first, ...others]) {
    const transport = createRpcTransport({ url, timeoutMs: HEALTH_TIMEOUT_MS, maxAttempts: 1 });
    try {
      await callRpc(transport, 'getHealth', [], signal);
      return url;
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
    }
  }
  return first;
}

/** The URLs as a list. */
export function urlsOf(rpcUrl: RpcUrl): readonly string[] {
  return typeof rpcUrl === 'string' ? [rpcUrl] : rpcUrl;
}

interface Node {
  readonly transport: RpcTransport;
  readonly host: string;
}

/** Codes of errors by which a node says that another one may answer the call. */
const NODE_CODES: ReadonlySet<number> = new Set([
  BLOCK_CLEANED_UP, // The node keeps a short history.
  BLOCK_NOT_AVAILABLE, // The node is behind.
  BLOCK_STATUS_NOT_AVAILABLE_YET, // The node is behind.
  FILTER_TRANSACTION_NOT_FOUND, // The node keeps a short history, or is behind: it lacks the transaction from which to list.
  INTERNAL_ERROR,
  KEY_EXCLUDED_FROM_SECONDARY_INDEX,
  LONG_TERM_STORAGE_UNREACHABLE,
  MIN_CONTEXT_SLOT_NOT_REACHED,
  NO_SLOT_HISTORY,
  NODE_UNHEALTHY, // Or behind.
  TRANSACTION_HISTORY_NOT_AVAILABLE,
]);

/**
 * Codes that say "skipped, or missing here": one slot in twenty is skipped, which every node says alike. Another node is
 * asked, and the node stays the preferred one.
 */
const SLOT_CODES: ReadonlySet<number> = new Set([SLOT_SKIPPED, LONG_TERM_STORAGE_SLOT_SKIPPED]);

/** True for an error about the node; false for one about the call, which every node would answer. */
export function isNodeFailure(error: unknown): error is RpcError {
  if (!(error instanceof RpcError)) return false;
  return error.reason !== 'node-error' || (error.code !== null && NODE_CODES.has(error.code));
}

function isSlotMissing(error: unknown): boolean {
  return error instanceof RpcError && error.code !== null && SLOT_CODES.has(error.code);
}
