import type { Address, EncodedAccount, MaybeEncodedAccount } from '@solana/kit';
import { getSysvarClockDecoder, SYSVAR_CLOCK_ADDRESS } from '@solana/sysvars';
import {
  amountToUiAmountForInterestBearingMintWithoutSimulation,
  amountToUiAmountForScaledUiAmountMintWithoutSimulation,
  type Extension,
} from '@solana-program/token-2022';
import { mintSupply, toUiTokenAmount, type UiTokenAmount } from '../ledger/token-balances.ts';
import { readExtensions } from './token-extensions.ts';

/** Formats an amount of one mint. */
export type FormatAmount = (amountBaseUnits: bigint) => UiTokenAmount;

/**
 * Reads how accounts and token methods show amounts of a mint: with its interest, or its multiplier, at the time of the
 * bank (account-decoder, token_amount_to_ui_amount_v3). Transactions show amounts without them.
 * @returns null if the account is not a mint.
 */
export function readFormat(
  mint: EncodedAccount,
  readAccount: (address: Address) => MaybeEncodedAccount,
): FormatAmount | null {
  const supply = mintSupply(mint);
  if (!supply) return null;
  const { decimals } = supply;
  const scaled = scaling(mint, decimals, readAccount);
  return (amountBaseUnits) => {
    const plain = toUiTokenAmount(amountBaseUnits, decimals);
    if (scaled === null) return plain;
    const uiAmountString = scaled(amountBaseUnits);
    return { ...plain, uiAmount: Number(uiAmountString), uiAmountString };
  };
}

function scaling(
  { data }: EncodedAccount,
  decimals: number,
  readAccount: (address: Address) => MaybeEncodedAccount,
): ((amountBaseUnits: bigint) => string) | null {
  const extensions = readExtensions(new Uint8Array(data));
  const interest = extensions.find((entry) => isKind(entry, 'InterestBearingConfig'));
  const scale = extensions.find((entry) => isKind(entry, 'ScaledUiAmountConfig'));
  if (!interest && !scale) return null;
  const clock = readAccount(SYSVAR_CLOCK_ADDRESS);
  const now = clock.exists ? getSysvarClockDecoder().decode(clock.data).unixTimestamp : 0n;
  if (interest) {
    return (amountBaseUnits) =>
      amountToUiAmountForInterestBearingMintWithoutSimulation(
        amountBaseUnits,
        decimals,
        Number(now),
        Number(interest.lastUpdateTimestamp),
        Number(interest.initializationTimestamp),
        interest.preUpdateAverageRate,
        interest.currentRate,
      );
  }
  if (!scale) return null;
  const multiplier = now >= scale.newMultiplierEffectiveTimestamp ? scale.newMultiplier : scale.multiplier;
  return (amountBaseUnits) =>
    amountToUiAmountForScaledUiAmountMintWithoutSimulation(amountBaseUnits, decimals, multiplier);
}

function isKind<Kind extends Extension['__kind']>(
  entry: Extension | null,
  kind: Kind,
): entry is Extract<Extension, { __kind: Kind }> {
  return entry?.__kind === kind;
}
