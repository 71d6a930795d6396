import * as z from 'zod';
import { BatchStatus, MAX_PAYLOAD_BYTES, MAX_TYPE_CHARACTERS } from '../schemas.ts';
import { isoDateTime } from '../values.ts';
import { base58Signature } from './values.ts';

/** Most pipelines that a proof check answers. */
export const MAX_PROVEN_PIPELINES = 20;

export const ProofCheckRequest = z
  .union([
    // Any text may be checked. A payload has at most as many characters as bytes, so that none of a batch is refused.
    z.strictObject({
      type: z.string().min(1).max(MAX_TYPE_CHARACTERS),
      payload: z.string().max(MAX_PAYLOAD_BYTES),
    }),
    z.strictObject({
      signature: base58Signature.describe('Signature of a transaction that executed pipelines.'),
    }),
  ])
  .meta({ id: 'ProofCheckRequest' });

const ProvenPipeline = z
  .object({
    batchId: z.guid(),
    batchIndex: z.string(),
    status: BatchStatus,
    pipeline: z.int().describe('Zero-based position in its batch.'),
    type: z.string(),
    hash: z.string().describe('Lowercase hex SHA-256 of the type, a zero byte and the payload.'),
    mintAddress: z.string(),
    multisig: z.string(),
    vaultAddress: z.string().describe('Vault that signed the memo.'),
    isOnChain: z.boolean().describe('True if the memo was found in a successful transaction, signed by the vault.'),
    memo: z.string().optional().describe('Memo as it is on chain; absent if it was not found.'),
    signature: z.string().optional(),
    slot: z.string().optional(),
    executedAt: isoDateTime.optional().describe('Time of the block.'),
  })
  .meta({ id: 'ProvenPipeline' });

export const ProofCheck = z
  .object({
    verdict: z
      .enum(['proven', 'recorded', 'nothing'])
      .describe(
        '`proven`: the proof is on chain. `recorded`: it is part of a batch of this service that has not been executed. `nothing`: neither.',
      ),
    message: z.string().describe('The result as a sentence.'),
    hash: z.string().optional().describe('Hash of the given type and payload.'),
    pipelines: z
      .array(ProvenPipeline)
      .max(MAX_PROVEN_PIPELINES)
      .describe(`Those on chain first; at most ${MAX_PROVEN_PIPELINES}.`),
  })
  .meta({ id: 'ProofCheck' });

export const PublicVault = z
  .object({
    address: z.string(),
    tokenAccount: z.string().describe('Associated token account of the vault; it may not exist yet.'),
    mint: z.string(),
    decimals: z.int(),
    name: z.string().optional().describe('Chosen by the creator of the token: do not trust it.'),
    symbol: z.string().optional().describe('Chosen by the creator of the token: do not trust it.'),
    lamports: z.string(),
    tokens: z.string().describe('Whole tokens, decimal.'),
  })
  .meta({ id: 'PublicVault' });

export type ProofCheckRequest = z.output<typeof ProofCheckRequest>;
export type ProofCheck = z.output<typeof ProofCheck>;
export type ProvenPipeline = z.output<typeof ProvenPipeline>;
export type PublicVault = z.output<typeof PublicVault>;
