/** A row is not as it was written: nothing is done on its word. The message names the row and what is wrong with it. */
export class DamagedRecord extends Error {
  constructor(row: string, problem: string) {
    super(`The record of ${row} is damaged: ${problem}.`);
    this.name = 'DamagedRecord';
  }
}
