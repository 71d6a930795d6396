/** A row differs from what was written, so the service does not use it. The message names the row and the mismatch. */
export class DamagedRecord extends Error {
  constructor(row: string, problem: string) {
    super(`The record of ${row} is damaged: ${problem}.`);
    this.name = 'DamagedRecord';
  }
}
