import { API_KEY_PREFIX_PATTERN, CONSOLE_OPERATIONS, isUuid } from '@flywheel/api';
import { isAddress, proofHash } from '@flywheel/protocol';
import type { FastifyReply, RouteOptions } from 'fastify';
import type { ShardQuestion, Whereabouts } from '../model/shard-question.ts';

/** Finds out if this shard has what a question names. */
export type Locate = (question: ShardQuestion) => Promise<Whereabouts>;

/**
 * Routes by which the reverse proxy in front of several shards finds the one of a request: 204 if it is this one, 409 if its
 * project may be between two shards, else 404. They tell which keys exist, so they must be reachable from the
 * internal network only.
 */
export function directoryRoutes(locate: Locate): RouteOptions[] {
  const answer = async (reply: FastifyReply, question: ShardQuestion | null) =>
    reply.status(STATUSES[question === null ? 'elsewhere' : await locate(question)]).send();
  return [
    {
      method: 'GET',
      url: '/shard/:kind/:value',
      handler: async ({ params }, reply) => {
        const { kind, value } = params as { readonly kind: string; readonly value: string }; // the router has found both
        return answer(reply, parseQuestion(kind, value));
      },
    },
    // A proof is looked up by a hash that a proxy cannot compute.
    { method: 'POST', url: '/shard/proof', handler: async ({ body }, reply) => answer(reply, parseProofCheck(body)) },
  ];
}

const STATUSES = { here: 204, moving: 409, elsewhere: 404 } as const satisfies Record<Whereabouts, number>;

function parseQuestion(kind: string, value: string): ShardQuestion | null {
  if (kind === 'key') return API_KEY_PREFIX_PATTERN.test(value) ? { kind, prefix: value } : null;
  if (kind === 'project') return isUuid(value) ? { kind, projectId: value } : null;
  if (kind === 'batch') return isUuid(value) ? { kind, batchId: value } : null;
  if (kind === 'wallet') return isAddress(value) ? { kind, wallet: value } : null;
  if (kind === 'vault') return isAddress(value) ? { kind, vault: value } : null;
  return null;
}

function parseProofCheck(body: unknown): ShardQuestion | null {
  const { success, data } = CONSOLE_OPERATIONS.checkProof.body.safeParse(body);
  if (!success) return null;
  if ('signature' in data) return { kind: 'transaction', signature: data.signature };
  return { kind: 'proof', hash: proofHash(data) };
}
