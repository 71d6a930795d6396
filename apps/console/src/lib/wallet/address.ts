import { isAddress, isOffCurveAddress } from '@flywheel/protocol';

/** Checks that a text is the address of a wallet; answers the error as a sentence, or null. */
export function walletAddressError(text: string): string | null {
  if (!isAddress(text)) return 'Not a Solana address: enter 32 to 44 letters and digits.';
  return isOffCurveAddress(text) ? 'This address belongs to a program, not to a wallet.' : null;
}
