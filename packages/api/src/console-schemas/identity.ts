import * as z from 'zod';
import { base58Address, isoDateTime } from './values.ts';

export const SignInChallengeRequest = z
  .strictObject({ wallet: base58Address.describe('The wallet that will sign in.') })
  .meta({ id: 'SignInChallengeRequest' });

export const SignInChallenge = z
  .object({
    message: z.string().describe('Sign-In With Solana text to sign, byte for byte.'),
    expiresAt: isoDateTime,
  })
  .meta({ id: 'SignInChallenge' });

export const SignInRequest = z
  .strictObject({
    wallet: base58Address,
    message: z.string().max(4_096),
    signature: z.string().describe('Ed25519 signature of the message by the wallet, base58.'),
  })
  .meta({ id: 'SignInRequest' });

export const Session = z
  .object({
    wallet: z.string(),
    expiresAt: isoDateTime,
    isCompanyOperator: z.boolean().describe('Whether the operations under `/console/api/company` are open to it.'),
  })
  .meta({ id: 'Session' });

export const Environment = z
  .object({
    cluster: z
      .enum(['mainnet', 'devnet', 'testnet', 'localnet'])
      .describe('As in the Wallet Standard’s `solana:<cluster>`.'),
    isLocal: z.boolean().describe('The cluster gives money away: the faucet and new tokens are there for the asking.'),
    rpcUrl: z.string().describe('For browsers; never the service’s own where that holds a credential.'),
    webSocketUrl: z.string().describe('Of the same node.'),
    publicUrl: z.string().describe('Where people reach the service.'),
    explorer: z.object({
      url: z.string().describe('Append `/tx/<signature>` or `/address/<address>`.'),
      query: z.string().describe('Append it after that; may be empty.'),
    }),
    squadsProgram: z.string().describe('The program that multisigs belong to.'),
  })
  .meta({ id: 'Environment' });

export type SignInChallenge = z.output<typeof SignInChallenge>;
export type Session = z.output<typeof Session>;
export type Environment = z.output<typeof Environment>;
