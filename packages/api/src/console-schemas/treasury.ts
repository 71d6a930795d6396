import * as z from 'zod';
import { BatchStatus, InitWarning } from '../schemas.ts';
import { isoDateTime } from '../values.ts';
import { base58Address, base58Signature, decimalTokens } from './values.ts';

export const Asset = z.enum(['SOL', 'TOKEN']).meta({
  id: 'Asset',
  description: '`TOKEN` is the token that the project has registered.',
});

/** The one action of a withdrawal. API keys cannot request it. */
export const WithdrawAction = z
  .strictObject({
    action: z.literal('WITHDRAW'),
    asset: Asset,
    toAddress: z.string().describe('Wallet that receives it.'),
    amount: decimalTokens.describe('Whole SOL or tokens as decimal text.'),
  })
  .meta({ id: 'WithdrawAction' });

export const Approver = z.enum(['wallet', 'company', 'operator']).meta({
  id: 'Approver',
  description:
    'Members of a project’s multisig: the project’s wallet and the company’s approver, who vote, and the operator, who proposes and executes without a vote.',
});

/** The one action of a rotation. API keys cannot request it. */
export const RotateAction = z
  .strictObject({
    action: z.literal('ROTATE'),
    approver: Approver,
    from: z.string().describe('Address of the current member.'),
    to: z.string().describe('Address of the new member.'),
  })
  .meta({ id: 'RotateAction' });

export const RotateWalletRequest = z
  .strictObject({
    newWallet: base58Address,
    signature: base58Signature.describe('Signature of the new wallet over the text of `rotationMessage`.'),
  })
  .meta({ id: 'RotateWalletRequest' });

export const Rotation = z
  .object({
    batchId: z.guid().describe('A rotation is a batch of one pipeline; all operations on batches accept this id.'),
    approver: Approver,
    from: z.string(),
    to: z.string(),
    status: BatchStatus,
    dateCreated: isoDateTime,
    dateEnded: isoDateTime.optional(),
  })
  .meta({ id: 'Rotation' });

export const RotationList = z
  .object({ rotations: z.array(Rotation).describe('Newest first; at most 100.') })
  .meta({ id: 'RotationList' });

export const WithdrawalRequest = z
  .strictObject({
    asset: Asset,
    to: base58Address.describe('Wallet: a base58 address on the Ed25519 curve.'),
    amount: decimalTokens.describe('Whole SOL or tokens as decimal text, greater than zero.'),
  })
  .meta({ id: 'WithdrawalRequest' });

export const Withdrawal = z
  .object({
    batchId: z.guid().describe('A withdrawal is a batch of one pipeline; all operations on batches accept this id.'),
    warnings: z
      .array(InitWarning.shape.message)
      .describe('Sentences to read before signing; the withdrawal is allowed.'),
  })
  .meta({ id: 'Withdrawal' });

export type Asset = z.output<typeof Asset>;
export type WithdrawAction = z.output<typeof WithdrawAction>;
export type WithdrawalRequest = z.output<typeof WithdrawalRequest>;
export type Approver = z.output<typeof Approver>;
export type RotateAction = z.output<typeof RotateAction>;
export type RotateWalletRequest = z.output<typeof RotateWalletRequest>;
export type Rotation = z.output<typeof Rotation>;
export type RotationList = z.output<typeof RotationList>;
export type Withdrawal = z.output<typeof Withdrawal>;
