import * as z from 'zod';
import { MAX_PIPELINES_PER_BATCH, Scope } from '../schemas.ts';
import { base58Address, decimalTokens, lamports } from './values.ts';

export const ProofType = z
  .strictObject({
    type: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 of A-Z a-z 0-9 _ -'),
    description: z.string().max(280).optional(),
    payloadSchema: z
      .record(z.string(), z.unknown())
      .optional()
      .describe('JSON Schema (2020-12) that a payload of this type must satisfy.'),
  })
  .meta({ id: 'ProofType' });

export const ApprovalMode = z.enum(['automatic', 'manual']).meta({
  id: 'ApprovalMode',
  description:
    '`automatic`: the company signs when every rule has passed. `manual`: a person of the company approves each batch. Withdrawals and rotations wait for a person in both.',
});

/** As many as a batch may have pipelines: each could have a type of its own. */
export const ProofTypes = z.array(ProofType).max(MAX_PIPELINES_PER_BATCH);

export const RegistrationRequest = z
  .strictObject({
    mint: base58Address,
    burnLimit: decimalTokens.describe('Whole tokens that may be burned per UTC day.'),
    airdropLimit: decimalTokens.describe('Whole tokens that may be airdropped per UTC day.'),
    scopes: z.array(Scope).min(1).max(2),
    proofTypes: ProofTypes.default([]),
    approvalMode: ApprovalMode.default('automatic'),
  })
  .meta({ id: 'RegistrationRequest' });

export const Registration = z
  .object({
    registrationId: z.guid(),
    transaction: z.base64().describe('Creates the multisig and the lookup table; the wallet signs and pays.'),
    multisig: z.string(),
    vaultAddress: z.string(),
    costLamports: z.string().describe('Rent and fees the wallet pays, lamports.'),
    warnings: z.array(z.string()),
  })
  .meta({ id: 'Registration' });

export const ConfirmRegistrationRequest = z
  .strictObject({ signedTransaction: z.base64() })
  .meta({ id: 'ConfirmRegistrationRequest' });

export const RegisteredProject = z
  .object({
    projectId: z.guid(),
    flywheelId: z.string(),
    tokenId: z.string(),
    mintAddress: z.string(),
    apiKey: z.string().describe('Shown once. Only its hash is kept.'),
    multisig: z.string(),
    vaultAddress: z.string(),
  })
  .meta({ id: 'RegisteredProject' });

export const MintPreview = z
  .object({
    mint: z.string(),
    problem: z.string().optional().describe('Why it cannot be registered, a sentence; absent when it can.'),
    warnings: z.array(z.string()).describe('Powers over the vault’s tokens that someone else holds, a sentence each.'),
    token: z
      .object({
        program: z.enum(['spl-token', 'token-2022']),
        decimals: z.int(),
        supply: z.string().describe('Whole tokens, decimal.'),
        name: z.string().optional().describe('As its creator wrote it: not to be trusted.'),
        symbol: z.string().optional().describe('As its creator wrote it: not to be trusted.'),
      })
      .optional()
      .describe('Absent when the address holds nothing that can be registered.'),
    costLamports: lamports.describe('What a registration costs the wallet now: rent and fees.'),
  })
  .meta({ id: 'MintPreview' });

export type ProofType = z.output<typeof ProofType>;
export type ApprovalMode = z.output<typeof ApprovalMode>;
export type RegistrationRequest = z.output<typeof RegistrationRequest>;
export type Registration = z.output<typeof Registration>;
export type RegisteredProject = z.output<typeof RegisteredProject>;
export type MintPreview = z.output<typeof MintPreview>;
