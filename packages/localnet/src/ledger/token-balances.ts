import { ADDRESS_BYTES, encodeBase58, isTokenProgram, TOKEN_ACCOUNT_TYPE } from '@flywheel/protocol';
import type { Address, EncodedAccount, MaybeEncodedAccount } from '@solana/kit';
import { AccountState, getMintSize, getTokenSize } from '@solana-program/token';
import { decodeAccount, type HeldAccount } from './svm-accounts.ts';

/**
 * Layout of a token account, the same in both programs; in Token-2022 a type byte and extensions follow. It is read by hand,
 * as mints are, because every transaction reads all its accounts twice: the decoders of `@solana-program/token` took 16
 * times as long for token accounts and 55 times for mints (100,000 of each).
 */
const ACCOUNT_BYTES = getTokenSize();
const OWNER_OFFSET = 32;
const AMOUNT_OFFSET = 64;
/** A u32 that is 1 if there is a delegate, then its address. */
const DELEGATE_OFFSET = 72;
const STATE_OFFSET = 108;
const TYPE_OFFSET = ACCOUNT_BYTES;
const MINT_BYTES = getMintSize();
const MINT_SUPPLY_OFFSET = 36;
const MINT_DECIMALS_OFFSET = 44;
const MINT_INITIALIZED_OFFSET = 45;

export interface TokenHolding {
  readonly mint: Address;
  readonly owner: Address;
  readonly amountBaseUnits: bigint;
  /** Delegate that may also transfer some of the tokens. */
  readonly delegate: Address | null;
}

export interface UiTokenAmount {
  readonly amount: string;
  readonly decimals: number;
  readonly uiAmount: number | null;
  readonly uiAmountString: string;
}

export interface TokenBalance {
  readonly accountIndex: number;
  readonly mint: Address;
  readonly owner: Address;
  readonly programId: Address;
  readonly uiTokenAmount: UiTokenAmount;
}

/** Lists the token balances among a transaction's accounts, as its meta has them. */
export function tokenBalances(
  accounts: readonly { readonly address: Address }[],
  states: readonly HeldAccount[],
  readMint: (mint: Address) => MaybeEncodedAccount,
): TokenBalance[] {
  // A validator lists balances only if a token program is among the accounts (runtime, collect_token_balances).
  if (!accounts.some(({ address }) => isTokenProgram(address))) return [];
  return accounts.flatMap(({ address }, accountIndex) => {
    const held = states[accountIndex];
    const account = held ? decodeAccount(address, held) : null;
    const holding = account?.exists ? tokenHolding(account) : null;
    if (!account?.exists || !holding) return [];
    const mintAccount = readMint(holding.mint);
    const supply = mintAccount.exists ? mintSupply(mintAccount) : null;
    if (!supply) return [];
    const { mint, owner, amountBaseUnits } = holding;
    const uiTokenAmount = toUiTokenAmount(amountBaseUnits, supply.decimals);
    return [{ accountIndex, mint, owner, programId: account.programAddress, uiTokenAmount }];
  });
}

/** Reads an initialized token account; null for other accounts. */
export function tokenHolding(account: EncodedAccount): TokenHolding | null {
  if (!isTokenProgram(account.programAddress) || account.data.length < ACCOUNT_BYTES) return null;
  const bytes = new Uint8Array(account.data);
  if (bytes.length > ACCOUNT_BYTES && bytes[TYPE_OFFSET] !== TOKEN_ACCOUNT_TYPE.account) return null;
  if (bytes[STATE_OFFSET] === AccountState.Uninitialized) return null;
  return {
    mint: addressAt(bytes, 0),
    owner: addressAt(bytes, OWNER_OFFSET),
    amountBaseUnits: new DataView(bytes.buffer).getBigUint64(AMOUNT_OFFSET, true),
    delegate: bytes[DELEGATE_OFFSET] === 1 ? addressAt(bytes, DELEGATE_OFFSET + 4) : null,
  };
}

function addressAt(bytes: Uint8Array, offset: number): Address {
  return encodeBase58(bytes.subarray(offset, offset + ADDRESS_BYTES)) as Address; // 32 bytes
}

/** Reads supply and decimals of an initialized mint; null for other accounts. */
export function mintSupply(account: EncodedAccount): { supplyBaseUnits: bigint; decimals: number } | null {
  if (!isTokenProgram(account.programAddress) || account.data.length < MINT_BYTES) return null;
  const bytes = new Uint8Array(account.data);
  if (bytes.length !== MINT_BYTES && bytes[TYPE_OFFSET] !== TOKEN_ACCOUNT_TYPE.mint) return null;
  if (bytes[MINT_INITIALIZED_OFFSET] !== 1) return null;
  const view = new DataView(bytes.buffer);
  return {
    supplyBaseUnits: view.getBigUint64(MINT_SUPPLY_OFFSET, true),
    decimals: bytes[MINT_DECIMALS_OFFSET] ?? 0,
  };
}

/** Formats an amount in base units like RPC: exact as text, and as a double. */
export function toUiTokenAmount(amountBaseUnits: bigint, decimals: number): UiTokenAmount {
  const digits = amountBaseUnits.toString().padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '');
  const uiAmountString = fraction ? `${whole}.${fraction}` : whole;
  return { amount: amountBaseUnits.toString(), decimals, uiAmount: Number(uiAmountString), uiAmountString };
}
