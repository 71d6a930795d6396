import * as z from 'zod';
import { ProofCheck, ProofCheckRequest, PublicVault } from '../console-schemas/proof.ts';
import { base58Address } from '../console-schemas/values.ts';
import type { Operation } from '../operation.ts';
import { OPEN } from './access.ts';

/** What anyone may ask, without signing in. */
export const PROOF_OPERATIONS = {
  checkProof: {
    ...OPEN,
    rateLimit: 'proof',
    method: 'POST',
    path: '/console/api/proof',
    summary: 'Check a proof',
    description:
      'By a type and its payload, or by a transaction’s signature: which pipeline it proves, in which batch, or that it proves nothing. Read from the chain.',
    body: ProofCheckRequest,
    responses: { 200: { description: 'The verdict and its evidence.', schema: ProofCheck } },
    errors: [],
  },
  getVault: {
    ...OPEN,
    method: 'GET',
    path: '/console/api/vaults/{address}',
    summary: 'Read a vault',
    description: 'What it holds and how to deposit. The vault’s address is public.',
    params: z.object({ address: base58Address }),
    responses: { 200: { description: 'The vault.', schema: PublicVault } },
    errors: ['ERR_VAULT_NOT_FOUND'],
  },
} as const satisfies { readonly [operationId: string]: Operation };
