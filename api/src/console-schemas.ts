import * as z from 'zod';
import { MAX_PIPELINES_PER_BATCH, Scope } from './schemas.ts';

const decimalTokens = z
  .string()
  .regex(/^\d{1,20}(\.\d{1,19})?$/, 'must be a decimal number of whole tokens, e.g. "1000" or "0.5"')
  .describe('Whole tokens as decimal text.');

const base58Address = z.string().regex(/^[1-9A-HJ-NP-Za-km-z]{32,44}$/, 'must be a base58 address');

export const SignInChallengeRequest = z
  .strictObject({ wallet: base58Address.describe('The wallet that will sign in.') })
  .meta({ id: 'SignInChallengeRequest' });

export const SignInChallenge = z
  .object({
    message: z.string().describe('Sign-In With Solana text to sign, byte for byte.'),
    expiresAt: z.iso.datetime(),
  })
  .meta({ id: 'SignInChallenge' });

export const SignInRequest = z
  .strictObject({
    wallet: base58Address,
    message: z.string().max(4_096),
    signature: z.string().describe('Ed25519 signature of the message by the wallet, base58.'),
  })
  .meta({ id: 'SignInRequest' });

export const Session = z.object({ wallet: z.string(), expiresAt: z.iso.datetime() }).meta({ id: 'Session' });

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

export const RegistrationRequest = z
  .strictObject({
    mint: base58Address,
    burnLimit: decimalTokens.describe('Whole tokens that may be burned per UTC day.'),
    airdropLimit: decimalTokens.describe('Whole tokens that may be airdropped per UTC day.'),
    scopes: z.array(Scope).min(1).max(2),
    proofTypes: z.array(ProofType).max(MAX_PIPELINES_PER_BATCH).default([]),
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

export const CreateKeyRequest = z
  .strictObject({
    scopes: z.array(Scope).min(1).max(2).optional().describe('The project’s own scopes by default.'),
    name: z.string().max(80).optional(),
    expiresAt: z.iso.datetime().optional(),
  })
  .meta({ id: 'CreateKeyRequest' });

export const CreatedKey = z.object({ keyId: z.guid(), apiKey: z.string() }).meta({ id: 'CreatedKey' });

export const RevokedKey = z.object({ keyId: z.guid(), revokedAt: z.iso.datetime() }).meta({ id: 'RevokedKey' });

export type SignInChallenge = z.output<typeof SignInChallenge>;
export type Session = z.output<typeof Session>;
export type ProofType = z.output<typeof ProofType>;
export type RegistrationRequest = z.output<typeof RegistrationRequest>;
export type Registration = z.output<typeof Registration>;
export type RegisteredProject = z.output<typeof RegisteredProject>;
export type CreateKeyRequest = z.output<typeof CreateKeyRequest>;
export type CreatedKey = z.output<typeof CreatedKey>;
export type RevokedKey = z.output<typeof RevokedKey>;
