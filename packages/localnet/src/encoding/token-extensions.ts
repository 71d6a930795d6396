import { addressEncoder, NO_ADDRESS } from '@flywheel/protocol';
import { type Address, isSolanaError, isSome, type Option } from '@solana/kit';
import { AccountState, getTokenSize } from '@solana-program/token';
import { type Extension, ExtensionType, getExtensionDecoder } from '@solana-program/token-2022';

/** Names of a token account's states as `jsonParsed` shows them. */
export const STATE_NAMES = {
  [AccountState.Uninitialized]: 'uninitialized',
  [AccountState.Initialized]: 'initialized',
  [AccountState.Frozen]: 'frozen',
};

/** Extensions follow the type of the account; mints are padded to the length of token accounts. */
const EXTENSIONS_OFFSET = getTokenSize() + 1;
/** A u16 for the kind, which is 0 in room that is not used yet, and a u16 for the length. */
const HEADER_BYTES = 4;

/** The extensions of a mint or token account of Token-2022 as `jsonParsed` shows them. */
export function parseExtensions(bytes: Uint8Array) {
  return readExtensions(bytes).map((entry) => {
    return entry === null ? { extension: 'unparseableExtension' } : parseExtension(entry);
  });
}

/** Reads the extensions of a mint or token account; null for one that a newer program has written. */
export function readExtensions(bytes: Uint8Array): (Extension | null)[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const read: (Extension | null)[] = [];
  let offset = EXTENSIONS_OFFSET;
  while (offset + HEADER_BYTES <= bytes.length && view.getUint16(offset, true) !== ExtensionType.Uninitialized) {
    const end = offset + HEADER_BYTES + view.getUint16(offset + 2, true);
    read.push(readExtension(bytes.subarray(offset, end)));
    offset = end;
  }
  return read;
}

function readExtension(entry: Uint8Array): Extension | null {
  try {
    return getExtensionDecoder().decode(entry);
  } catch (error) {
    if (isSolanaError(error)) return null;
    throw error;
  }
}

/** The name of a kind of extension, as instructions number them. */
export function extensionName(type: number): string {
  return lowerFirst(ExtensionType[type] ?? 'unknown');
}

function parseExtension(extension: Extension) {
  const { __kind: kind, ...members } = extension;
  const name = kind === 'ConfidentialTransferFee' ? 'confidentialTransferFeeConfig' : lowerFirst(kind);
  const state = stateOf(extension, members);
  return Object.keys(state).length === 0 ? { extension: name } : { extension: name, state };
}

function stateOf(extension: Extension, members: object): Readonly<Record<string, unknown>> {
  switch (extension.__kind) {
    case 'DefaultAccountState':
      return { accountState: STATE_NAMES[extension.state] };
    case 'TokenMetadata': {
      const { additionalMetadata } = extension;
      return { ...shown(members), additionalMetadata: [...additionalMetadata] };
    }
    case 'ScaledUiAmountConfig':
      return {
        ...shown(members),
        multiplier: String(extension.multiplier),
        newMultiplier: String(extension.newMultiplier),
      };
    case 'ConfidentialTransferAccount': {
      const { pendingBalanceLow: pendingBalanceLo, pendingBalanceHigh: pendingBalanceHi, ...rest } = shown(members);
      return { ...rest, pendingBalanceLo, pendingBalanceHi };
    }
    case 'ConfidentialTransferFee': {
      const { elgamalPubkey: withdrawWithheldAuthorityElgamalPubkey, ...rest } = shown(members);
      return { ...rest, withdrawWithheldAuthorityElgamalPubkey };
    }
    default:
      return shown(members);
  }
}

/** Writes the name of an enum's member as `jsonParsed` has it. */
export function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

/** Keys and ciphertexts of ElGamal are shown in base64 (solana-zk-sdk, `pod`). */
function shown(members: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(members).map(([name, value]) => {
      const plain: unknown = isOption(value) ? (isSome(value) ? value.value : null) : value;
      if (plain === NO_ADDRESS) return [name, null];
      // The client library reads an ElGamal key as an address, because it is as long.
      const bytes = /elgamalPubkey$/i.test(name) && plain !== null ? addressEncoder.encode(plain as Address) : plain;
      return [name, bytes instanceof Uint8Array ? Buffer.from(bytes).toString('base64') : bytes];
    }),
  );
}

function isOption(value: unknown): value is Option<unknown> {
  return typeof value === 'object' && value !== null && '__option' in value;
}
