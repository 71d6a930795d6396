import * as z from 'zod';
import { ProofCheck, ProofCheckRequest, PublicVault } from '../console-schemas/proof.ts';
import { base58Address } from '../console-schemas/values.ts';
import type { Operation } from '../operation.ts';
import { OPEN, PAYLOAD_BODY_BYTES } from './common.ts';

/** Operations that need no sign-in. */
export const PROOF_OPERATIONS = {
  checkProof: {
    ...OPEN,
    rateLimit: 'proof',
    method: 'POST',
    path: '/console/api/proof',
    summary: 'Check a proof',
    description:
      'Takes a type and its payload, or a transaction signature. Reads the chain and says which pipeline of which batch is proven, if any.',
    body: ProofCheckRequest,
    maxBodyBytes: PAYLOAD_BODY_BYTES,
    responses: { 200: { description: 'The result and its evidence.', schema: ProofCheck } },
    errors: ['ERR_TOO_MANY_AT_ONCE', 'ERR_NODE_UNAVAILABLE'],
  },
  getVault: {
    ...OPEN,
    method: 'GET',
    path: '/console/api/vaults/{address}',
    summary: 'Read a vault',
    description: 'Balance and deposit addresses. The vault’s address is public.',
    params: z.object({ address: base58Address }),
    responses: { 200: { description: 'The vault.', schema: PublicVault } },
    errors: ['ERR_VAULT_NOT_FOUND', 'ERR_NODE_UNAVAILABLE'],
  },
} as const satisfies { readonly [operationId: string]: Operation };
