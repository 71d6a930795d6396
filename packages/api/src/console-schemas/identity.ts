import * as z from 'zod';
import { isoDateTime } from '../values.ts';
import { RegistrationMode } from './registration.ts';
import { base58Address } from './values.ts';

export const SignInChallengeRequest = z
  .strictObject({ wallet: base58Address.describe('The wallet that will sign in.') })
  .meta({ id: 'SignInChallengeRequest' });

export const SignInChallenge = z
  .object({
    message: z.string().describe('Sign-In With Solana message to sign unchanged.'),
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
    isCompanyOperator: z.boolean().describe('True if the wallet may use the operations under `/console/api/company`.'),
  })
  .meta({ id: 'Session' });

export const Environment = z
  .object({
    cluster: z
      .enum(['mainnet', 'devnet', 'testnet', 'localnet'])
      .describe('Name as in the Wallet Standard’s `solana:<cluster>`.'),
    isLocal: z
      .boolean()
      .describe(
        'True on a local cluster, where the page offers a test wallet, a faucet and new tokens: the service has started it itself, or its configuration says so.',
      ),
    rpcUrl: z.string().describe('RPC URL for browsers. It is not the service’s own URL if that contains a credential.'),
    webSocketUrl: z.string().describe('WebSocket URL of the same node.'),
    publicUrl: z.string().describe('URL at which people reach the service.'),
    explorer: z.object({
      url: z.string().describe('Append `/tx/<signature>` or `/address/<address>`.'),
      query: z.string().describe('Append this query string after that; may be empty.'),
    }),
    squadsProgram: z.string().describe('Address of the Squads program.'),
    registration: RegistrationMode.optional().describe('Earlier releases, which are `open`, do not send it.'),
  })
  .meta({ id: 'Environment' });

export type SignInChallenge = z.output<typeof SignInChallenge>;
export type Session = z.output<typeof Session>;
export type Environment = z.output<typeof Environment>;
