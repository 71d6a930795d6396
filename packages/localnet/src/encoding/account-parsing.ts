import { isTokenProgram } from '@flywheel/protocol';
import type { Address, Decoder, EncodedAccount, MaybeEncodedAccount } from '@solana/kit';
import {
  ADDRESS_LOOKUP_TABLE_DISCRIMINATOR,
  ADDRESS_LOOKUP_TABLE_PROGRAM_ADDRESS,
  getAddressLookupTableDecoder,
} from '@solana-program/address-lookup-table';
import { getNonceDecoder, getNonceSize, NonceState, SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import { getMintDecoder, getMultisigDecoder, getMultisigSize, getTokenDecoder } from '@solana-program/token';
import { mintSupply, tokenHolding } from '../ledger/token-balances.ts';
import { parseNativeAccount } from './native-account-parsing.ts';
import { parseExtensions, STATE_NAMES } from './token-extensions.ts';
import { readFormat } from './ui-amounts.ts';

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
  if (account.programAddress === SYSTEM_PROGRAM_ADDRESS && bytes.length === getNonceSize()) {
    const parsed = parseNonce(bytes);
    return parsed && { program: 'nonce', parsed, space: bytes.length };
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
      ...extensionsOf(bytes),
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
  const format = mint.exists ? readFormat(mint, readAccount) : null;
  if (!format) return null;
  return {
    type: 'account',
    info: {
      mint: token.mint,
      owner: token.owner,
      tokenAmount: format(token.amount),
      ...(token.delegate.__option === 'Some' && {
        delegate: token.delegate.value,
        delegatedAmount: format(token.delegatedAmount),
      }),
      state: STATE_NAMES[token.state],
      isNative: token.isNative.__option === 'Some',
      ...(token.isNative.__option === 'Some' && {
        rentExemptReserve: format(token.isNative.value),
      }),
      ...(token.closeAuthority.__option === 'Some' && { closeAuthority: token.closeAuthority.value }),
      ...extensionsOf(bytes),
    },
  };
}

function extensionsOf(bytes: Uint8Array) {
  const extensions = parseExtensions(bytes);
  return extensions.length === 0 ? {} : { extensions };
}

function parseMultisig(bytes: Uint8Array) {
  if (bytes.length !== getMultisigSize()) return null;
  const { m, n, isInitialized, signers } = getMultisigDecoder().decode(bytes);
  if (!isInitialized) return null;
  const info = { numRequiredSigners: m, numValidSigners: n, isInitialized, signers: signers.slice(0, n) };
  return { type: 'multisig', info };
}

function parseNonce(bytes: Uint8Array) {
  const nonce = decodeOrNull(getNonceDecoder(), bytes);
  if (nonce === null) return null;
  const { state, authority, blockhash, lamportsPerSignature } = nonce;
  if (state === NonceState.Uninitialized) return { type: 'uninitialized' };
  const feeCalculator = { lamportsPerSignature: String(lamportsPerSignature) };
  return { type: 'initialized', info: { authority, blockhash, feeCalculator } };
}

function parseLookupTable(bytes: Uint8Array) {
  const table = decodeOrNull(getAddressLookupTableDecoder(), bytes);
  if (table?.discriminator !== ADDRESS_LOOKUP_TABLE_DISCRIMINATOR) return null;
  return {
    type: 'lookupTable',
    info: {
      deactivationSlot: String(table.deactivationSlot),
      lastExtendedSlot: String(table.lastExtendedSlot),
      lastExtendedSlotStartIndex: table.lastExtendedSlotStartIndex,
      ...(table.authority.__option === 'Some' && { authority: table.authority.value }),
      addresses: table.addresses,
    },
  };
}

/** A validator returns the bytes of an account that it cannot decode. */
function decodeOrNull<Data>(decoder: Decoder<Data>, bytes: Uint8Array): Data | null {
  try {
    return decoder.decode(bytes);
  } catch {
    return null;
  }
}
