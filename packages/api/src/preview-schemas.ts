import * as z from 'zod';
import { InitWarning } from './schemas.ts';

const lamports = z.string().regex(/^\d+$/).describe('Decimal.');
const wholeTokens = z.string().describe('Whole tokens, decimal.');

const PreviewedPipeline = z
  .object({
    instructions: z.array(z.base64()).describe('As init would answer them.'),
    bytes: z.int().describe('What the pipeline takes of its transaction.'),
    maxBytes: z.int().describe('What a pipeline may take.'),
  })
  .meta({ id: 'PreviewedPipeline' });

export const PreviewProblem = z
  .object({
    code: z.string().describe('What init or execute would answer.'),
    place: z
      .string()
      .optional()
      .describe('E.g. `pipelines[3].actions[0].toAddress`; absent where it is no part of the request.'),
    message: z.string(),
  })
  .meta({ id: 'PreviewProblem' });

const PreviewedLimit = z
  .object({
    cap: wholeTokens,
    used: wholeTokens,
    asked: wholeTokens.describe('By this request.'),
    left: wholeTokens.describe('Before this request.'),
    resetsAt: z.iso.datetime(),
  })
  .meta({ id: 'PreviewedLimit', description: 'Of the current UTC day.' });

const PreviewedCost = z
  .object({
    feeLamports: lamports.describe('The operator’s, of every transaction from setup to close.'),
    tipLamports: lamports.describe('The operator’s, to the block engine.'),
    vaultRentLamports: lamports.describe('The vault’s, for recipients’ token accounts.'),
    rentLockedLamports: lamports.describe('The operator’s, in Squads accounts: returned when the batch is closed.'),
    operatorNetLamports: lamports.describe('Fees and tips: what the operator has paid in the end.'),
  })
  .meta({
    id: 'PreviewedCost',
    description: 'When every bundle lands at the first sending, as the ledger would show it.',
  });

export const PreviewBatchResponse = z
  .object({
    pipelines: z.array(PreviewedPipeline),
    problems: z.array(PreviewProblem).describe('Empty when the batch would go through as things are now.'),
    warnings: z.array(InitWarning).optional(),
    funds: z.object({
      tokens: z.object({ needed: wholeTokens, available: wholeTokens, missing: wholeTokens }),
      lamports: z.object({ needed: lamports, available: lamports, missing: lamports }),
    }),
    limits: z.object({ burn: PreviewedLimit, airdrop: PreviewedLimit }),
    cost: PreviewedCost,
  })
  .meta({ id: 'PreviewBatchResponse' });

export type PreviewBatchResponse = z.output<typeof PreviewBatchResponse>;
