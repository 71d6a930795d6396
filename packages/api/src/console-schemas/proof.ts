import * as z from 'zod';
import { BatchStatus } from '../schemas.ts';
import { base58Signature } from './values.ts';

export const ProofCheckRequest = z
  .union([
    z.strictObject({ type: z.string().min(1).max(64), payload: z.string().max(65_536) }),
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
    executedAt: z.iso.datetime().optional().describe('Time of the block.'),
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
    pipelines: z.array(ProvenPipeline).describe('Those on chain first; at most 20.'),
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
