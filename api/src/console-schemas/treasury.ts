import * as z from 'zod';
import { InitWarning } from '../schemas.ts';
import { base58Address, decimalTokens } from './values.ts';

export const Asset = z.enum(['SOL', 'TOKEN']).meta({
  id: 'Asset',
  description: '`TOKEN`: the one that the project has registered.',
});

/** What a withdrawal’s only pipeline does. No API key can ask for it. */
export const WithdrawAction = z
  .strictObject({
    action: z.literal('WITHDRAW'),
    asset: Asset,
    toAddress: z.string().describe('The wallet that receives it.'),
    amount: decimalTokens.describe('Whole SOL or tokens as decimal text.'),
  })
  .meta({ id: 'WithdrawAction' });

export const WithdrawalRequest = z
  .strictObject({
    asset: Asset,
    to: base58Address.describe('A wallet: base58, 32 bytes, on the curve.'),
    amount: decimalTokens.describe('Whole SOL or tokens as decimal text, greater than zero.'),
  })
  .meta({ id: 'WithdrawalRequest' });

export const Withdrawal = z
  .object({
    batchId: z.guid().describe('A withdrawal is a batch of one pipeline: every operation on batches takes it.'),
    warnings: z.array(InitWarning.shape.message).describe('Allowed, but worth a look before signing.'),
  })
  .meta({ id: 'Withdrawal' });

export type Asset = z.output<typeof Asset>;
export type WithdrawAction = z.output<typeof WithdrawAction>;
export type WithdrawalRequest = z.output<typeof WithdrawalRequest>;
export type Withdrawal = z.output<typeof Withdrawal>;
