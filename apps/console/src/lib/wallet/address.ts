import { isAddress, isOffCurveAddress, NOT_A_TYPED_ADDRESS } from '@flywheel/protocol';

/** Checks that a text is the address of a wallet; returns the error as a sentence, or null. */
export function walletAddressError(text: string): string | null {
  if (!isAddress(text)) return `This ${NOT_A_TYPED_ADDRESS}`;
  return isOffCurveAddress(text) ? 'This address belongs to a program, not to a wallet.' : null;
}
