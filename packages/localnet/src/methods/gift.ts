import { BankError } from '../bank.ts';
import { invalidParams } from '../rpc/rpc-error.ts';

/** Turns the bank's refusal into the caller's error; anything else is passed on. */
export function refuseGift(error: unknown): never {
  if (error instanceof BankError) throw invalidParams(error.message);
  throw error;
}
