import { isSignature, type Signature } from '@solana/kit';

/** A row differs from what was written, so the service does not use it. The message names the row and the mismatch. */
export class DamagedRecord extends Error {
  constructor(row: string, problem: string) {
    super(`The record of ${row} is damaged: ${problem}.`);
    this.name = 'DamagedRecord';
  }
}

/** Checks the signatures in a column of a row. @throws DamagedRecord if one is not a signature. */
export function checkSignatures(row: string, column: string, texts: readonly string[]): Signature[] {
  return texts.map((text, i) => checkSignature(row, `${column}[${i}]`, text));
}

/** Checks a signature of a row. @throws DamagedRecord if it is not one. */
export function checkSignature(row: string, field: string, text: string): Signature {
  if (!isSignature(text)) throw new DamagedRecord(row, `its ${field} is not a signature`);
  return text;
}
