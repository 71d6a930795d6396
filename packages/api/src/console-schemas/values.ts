import * as z from 'zod';
import { lamports } from '../values.ts';

// Values that only the console's schemas and operations have.

export const base58Address = z.string().regex(/^[1-9A-HJ-NP-Za-km-z]{32,44}$/, 'must be a base58 address');

export const base58Signature = z
  .string()
  .regex(/^[1-9A-HJ-NP-Za-km-z]{64,88}$/, 'must be a signature: 64 bytes in base58');

/** Amount as a person types it. */
export const decimalTokens = z
  .string()
  .regex(/^\d{1,20}(\.\d{1,19})?$/, 'must be a decimal number of whole tokens, e.g. "1000" or "0.5"')
  .describe('Whole tokens as decimal text.');

/** Lamports of the operator that batches hold, and the most that they may hold. */
export const lamportsOfCap = z.object({ used: lamports, cap: lamports });

/** Query parameter: a batch index. Eighteen digits always fit the database's bigint. */
export const batchIndexParam = z.string().regex(/^[1-9]\d{0,17}$/, 'must be a batch index, e.g. "17"');
