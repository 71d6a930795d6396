import * as z from 'zod';
import { MAX_PAYLOAD_BYTES, MAX_PIPELINES_PER_BATCH, Pipeline, Scope } from '../schemas.ts';
import { lamports } from '../values.ts';
import { base58Address, decimalTokens } from './values.ts';

const payloadSchema = z.record(z.string(), z.unknown());

export const ProofType = z
  .strictObject({
    type: Pipeline.shape.type.describe('Type of a pipeline, e.g. WATCH_AD.'),
    description: z.string().max(280).optional(),
    payloadSchema: payloadSchema.optional().describe('JSON Schema (2020-12) that a payload of this type must satisfy.'),
  })
  .meta({ id: 'ProofType' });

export const ApprovalMode = z.enum(['automatic', 'manual']).meta({
  id: 'ApprovalMode',
  description:
    '`automatic`: the service signs for the company when all checks pass. `manual`: a person of the company approves each batch. Withdrawals and rotations need a person in both modes.',
});

export const RegistrationMode = z.enum(['open', 'approval', 'closed']).meta({
  id: 'RegistrationMode',
  description:
    '`open`: every project that is registered is served. `approval`: a project is served once the company has admitted it. `closed`: no project is registered, and only those are served that the company has admitted.',
});

/** At most one type per pipeline of a batch. */
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

export const SchemaTrialRequest = z
  .strictObject({
    payloadSchema: payloadSchema.describe('JSON Schema (2020-12).'),
    payload: z.string().max(MAX_PAYLOAD_BYTES).describe('JSON text to check against it.'),
  })
  .meta({ id: 'SchemaTrialRequest' });

export const SchemaTrial = z
  .object({
    schemaProblem: z.string().nullable().describe('Why the schema cannot be registered; null if it can.'),
    payloadProblem: z
      .string()
      .nullable()
      .describe('Why the payload does not satisfy the schema; null if it does, or if the schema cannot be used.'),
  })
  .meta({ id: 'SchemaTrial' });

export const KeySuccession = z
  .object({
    role: z.enum(['company', 'operator']),
    from: z.string().describe('Address of the key that has signed.'),
    to: z.string().describe('Address of the key that takes its place in new projects.'),
    signature: z
      .string()
      .describe('Ed25519 signature of `from`, base58, over a text that names both keys, the role and the cluster.'),
  })
  .meta({ id: 'KeySuccession', description: 'A key’s own statement about which key succeeds it.' });

export const Registration = z
  .object({
    registrationId: z.guid(),
    transaction: z
      .base64()
      .describe('Transaction that creates the multisig and the lookup table; the wallet signs it and pays.'),
    multisig: z.string(),
    vaultAddress: z.string(),
    costLamports: z.string().describe('Lamports that the wallet pays: rent and fees.'),
    warnings: z.array(z.string()),
    successions: z
      .array(KeySuccession)
      .optional()
      .describe(
        'Every change of the company’s and the operator’s keys that the earlier key has signed. A wallet that keeps the earlier address accepts the new one by it. Earlier releases do not send it.',
      ),
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
    apiKey: z.string().describe('Shown only here; the service stores its hash.'),
    multisig: z.string(),
    vaultAddress: z.string(),
  })
  .meta({ id: 'RegisteredProject' });

export const MintPreview = z
  .object({
    mint: z.string(),
    problem: z.string().optional().describe('Sentence: why it cannot be registered; absent if it can.'),
    warnings: z.array(z.string()).describe('Sentences: powers that others have over the vault’s tokens.'),
    token: z
      .object({
        program: z.enum(['spl-token', 'token-2022']),
        decimals: z.int(),
        supply: z.string().describe('Whole tokens, decimal.'),
        name: z.string().optional().describe('Chosen by the creator of the token: do not trust it.'),
        symbol: z.string().optional().describe('Chosen by the creator of the token: do not trust it.'),
      })
      .optional()
      .describe('Absent if the address is not a token that can be registered.'),
    costLamports: lamports.describe('Lamports that the wallet pays for a registration now: rent and fees.'),
  })
  .meta({ id: 'MintPreview' });

export type ProofType = z.output<typeof ProofType>;
export type ApprovalMode = z.output<typeof ApprovalMode>;
export type RegistrationMode = z.output<typeof RegistrationMode>;
export type RegistrationRequest = z.output<typeof RegistrationRequest>;
export type SchemaTrialRequest = z.output<typeof SchemaTrialRequest>;
export type SchemaTrial = z.output<typeof SchemaTrial>;
export type KeySuccession = z.output<typeof KeySuccession>;
export type Registration = z.output<typeof Registration>;
export type RegisteredProject = z.output<typeof RegisteredProject>;
export type MintPreview = z.output<typeof MintPreview>;
