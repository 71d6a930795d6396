import { addressDecoder, encodeBase58 } from '@flywheel/protocol';
import type { Address, EncodedAccount, MaybeEncodedAccount } from '@solana/kit';
import { ADDRESS_LOOKUP_TABLE_PROGRAM_ADDRESS } from '@solana-program/address-lookup-table';
import { SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import { AccountState, getMintDecoder, getMultisigDecoder, getTokenDecoder } from '@solana-program/token';
import { isTokenProgram, mintSupply, tokenHolding, toUiTokenAmount } from '../ledger/token-balances.ts';
import { parseNativeAccount } from './native-account-parsing.ts';
import { parseExtensions } from './token-extensions.ts';

const NONCE_BYTES = 80;
const MINT_BYTES = 82;
const TOKEN_BYTES = 165;
const MULTISIG_BYTES = 355;
const STATE_NAMES = {
  [AccountState.Uninitialized]: 'uninitialized',
  [AccountState.Initialized]: 'initialized',
  [AccountState.Frozen]: 'frozen',
};

/**
 * Parses accounts of the token programs, nonces, lookup tables, sysvars, and accounts of the loader, stake, vote and
 * config programs for `jsonParsed`; null for accounts that cannot be read.
 */
export function parseAccount(account: EncodedAccount, readAccount: (address: Address) => MaybeEncodedAccount) {
  const bytes = new Uint8Array(account.data);
  if (isTokenProgram(account.programAddress)) {
    const program = account.programAddress.startsWith('Tokenz') ? 'spl-token-2022' : 'spl-token';
    const parsed = parseMultisig(bytes) ?? parseMint(account, bytes) ?? parseToken(account, bytes, readAccount);
    return parsed && { program, parsed, space: bytes.length };
  }
  if (account.programAddress === SYSTEM_PROGRAM_ADDRESS && bytes.length === NONCE_BYTES) {
    return { program: 'nonce', parsed: parseNonce(bytes), space: bytes.length };
  }
  if (account.programAddress === ADDRESS_LOOKUP_TABLE_PROGRAM_ADDRESS) {
    const parsed = parseLookupTable(bytes);
    return parsed && { program: 'address-lookup-table', parsed, space: bytes.length };
  }
  return parseNativeAccount(account);
}

function parseMint(account: EncodedAccount, bytes: Uint8Array) {
  if (!mintSupply(account)) return null;
  const mint = getMintDecoder().decode(bytes);
  return {
    type: 'mint',
    info: {
      mintAuthority: mint.mintAuthority.__option === 'Some' ? mint.mintAuthority.value : null,
      supply: String(mint.supply),
      decimals: mint.decimals,
      isInitialized: mint.isInitialized,
      freezeAuthority: mint.freezeAuthority.__option === 'Some' ? mint.freezeAuthority.value : null,
      ...(bytes.length > MINT_BYTES && { extensions: parseExtensions('mint', bytes) }),
    },
  };
}

function parseToken(
  account: EncodedAccount,
  bytes: Uint8Array,
  readAccount: (address: Address) => MaybeEncodedAccount,
) {
  if (!tokenHolding(account)) return null;
  const token = getTokenDecoder().decode(bytes);
  const mint = readAccount(token.mint);
  const decimals = mint.exists ? mintSupply(mint)?.decimals : undefined;
  if (decimals === undefined) return null;
  return {
    type: 'account',
    info: {
      mint: token.mint,
      owner: token.owner,
      tokenAmount: toUiTokenAmount(token.amount, decimals),
      ...(token.delegate.__option === 'Some' && {
        delegate: token.delegate.value,
        delegatedAmount: toUiTokenAmount(token.delegatedAmount, decimals),
      }),
      state: STATE_NAMES[token.state],
      isNative: token.isNative.__option === 'Some',
      ...(token.isNative.__option === 'Some' && {
        rentExemptReserve: toUiTokenAmount(token.isNative.value, decimals),
      }),
      ...(token.closeAuthority.__option === 'Some' && { closeAuthority: token.closeAuthority.value }),
      ...(bytes.length > TOKEN_BYTES && { extensions: parseExtensions('account', bytes) }),
    },
  };
}

function parseMultisig(bytes: Uint8Array) {
  if (bytes.length !== MULTISIG_BYTES) return null;
  const { m, n, isInitialized, signers } = getMultisigDecoder().decode(bytes);
  if (!isInitialized) return null;
  return { type: 'multisig', info: { numRequiredSigners: m, numValidSigners: n, signers: signers.slice(0, n) } };
}

function parseNonce(bytes: Uint8Array) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint32(4, true) === 0) return { type: 'uninitialized' };
  return {
    type: 'initialized',
    info: {
      authority: addressDecoder.decode(bytes, 8),
      blockhash: encodeBase58(bytes.subarray(40, 72)),
      feeCalculator: { lamportsPerSignature: String(view.getBigUint64(72, true)) },
    },
  };
}

/** Kind u32 (1: a table), deactivation slot, slot and first address of the last growth, authority (u8 and address). */
const TABLE_HEADER_BYTES = 56;
const ADDRESS_BYTES = 32;

function parseLookupTable(bytes: Uint8Array) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < TABLE_HEADER_BYTES || view.getUint32(0, true) !== 1) return null;
  const decoder = addressDecoder;
  return {
    type: 'lookupTable',
    info: {
      deactivationSlot: String(view.getBigUint64(4, true)),
      lastExtendedSlot: String(view.getBigUint64(12, true)),
      lastExtendedSlotStartIndex: bytes[20] ?? 0,
      ...(bytes[21] === 1 && { authority: decoder.decode(bytes, 22) }),
      addresses: Array.from({ length: Math.floor((bytes.length - TABLE_HEADER_BYTES) / ADDRESS_BYTES) }, (_, index) =>
        decoder.decode(bytes, TABLE_HEADER_BYTES + index * ADDRESS_BYTES),
      ),
    },
  };
}
