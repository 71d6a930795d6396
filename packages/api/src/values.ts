import * as z from 'zod';

// Values that both the public API and the console's have.

export const wholeTokens = z.string().describe('Whole tokens, decimal.');
export const lamports = z.string().regex(/^\d+$/).describe('Lamports, decimal.');
export const isoDateTime = z.iso.datetime().describe('ISO 8601, UTC.');
