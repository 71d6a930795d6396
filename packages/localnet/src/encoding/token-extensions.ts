import { type Address, isSome, type Option } from '@solana/kit';
import { AccountState } from '@solana-program/token';
import { type Extension, getMintDecoder, getTokenDecoder } from '@solana-program/token-2022';

/** Stands for no address where an extension has room for one. */
const NO_ADDRESS = '11111111111111111111111111111111' as Address;
const STATE_NAMES = {
  [AccountState.Uninitialized]: 'uninitialized',
  [AccountState.Initialized]: 'initialized',
  [AccountState.Frozen]: 'frozen',
};

/** The extensions of a mint or token account of Token-2022 as `jsonParsed` shows them. Confidential ones are not parsed. */
export function parseExtensions(kind: 'mint' | 'account', bytes: Uint8Array) {
  const decoder = kind === 'mint' ? getMintDecoder() : getTokenDecoder();
  const { extensions } = decoder.decode(bytes);
  return isSome(extensions) ? extensions.value.map(parseExtension) : [];
}

function parseExtension(extension: Extension) {
  const { __kind: kind, ...members } = extension;
  if (kind.startsWith('Confidential')) return { extension: 'unparseableExtension' };
  const name = kind.charAt(0).toLowerCase() + kind.slice(1);
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
    default:
      return shown(members);
  }
}

function shown(members: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(members).map(([name, value]) => {
      const plain: unknown = isOption(value) ? (isSome(value) ? value.value : null) : value;
      return [name, plain === NO_ADDRESS ? null : plain];
    }),
  );
}

function isOption(value: unknown): value is Option<unknown> {
  return typeof value === 'object' && value !== null && '__option' in value;
}
