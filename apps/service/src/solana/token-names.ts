import { address, addressDecoder, addressEncoder, deriveAddress } from '@flywheel/protocol';
import type { Warn } from '@flywheel/solana-rpc';
import { type Address, getU32Decoder, unwrapOption } from '@solana/kit';
import { getMintSize } from '@solana-program/token';
import { getMintDecoder, TOKEN_2022_PROGRAM_ADDRESS } from '@solana-program/token-2022';
import type { Clock } from '../model/clock.ts';
import { answerWithin } from '../model/clock.ts';
import type { Chain, ChainAccount } from './chain.ts';
import { MAX_MINT_BYTES } from './mint.ts';

/** Name and symbol that the mint's creator chose: any token may use any name. */
export interface TokenName {
  readonly name?: string;
  readonly symbol?: string;
}

export interface TokenNames {
  /** Returns the names of those mints that have one. Names that the cluster does not send within a second are left out. */
  of(mints: readonly Address[]): Promise<ReadonlyMap<Address, TokenName>>;
}

/** Names can change on chain; showing an old one for this time does no harm. */
const REMEMBERED_MS = 10 * 60_000;
/** More than the projects of a service; above it the cache is cleared. */
const MAX_REMEMBERED = 10_000;
/** Time that pages wait for a name. */
const TIMEOUT_MS = 1_000;

/** Reads the names of tokens, inside a Token-2022 mint or in its Metaplex metadata account. Names are not stored. */
export function createTokenNames({
  chain,
  clock,
  log,
}: {
  readonly chain: Pick<Chain, 'accounts'>;
  readonly clock: Clock;
  readonly log: Warn;
}): TokenNames {
  const remembered = new Map<Address, { readonly name: TokenName | null; readonly readAtMs: number }>();
  const learn = async (mints: readonly Address[]) => {
    try {
      const names = await readTokenNames(chain, mints);
      if (remembered.size + names.size > MAX_REMEMBERED) remembered.clear();
      for (const [mint, name] of names) remembered.set(mint, { name, readAtMs: clock.now().getTime() });
    } catch (error) {
      log.warn({ err: error, mints }, 'names of tokens cannot be read');
    }
  };
  return {
    of: async (mints) => {
      const staleMs = clock.now().getTime() - REMEMBERED_MS;
      const unknown = [...new Set(mints)].filter((mint) => (remembered.get(mint)?.readAtMs ?? 0) < staleMs);
      if (unknown.length > 0) await answerWithin(clock, TIMEOUT_MS, learn(unknown));
      return new Map(
        mints.flatMap((mint) => {
          const name = remembered.get(mint)?.name;
          return name ? [[mint, name] as const] : [];
        }),
      );
    },
  };
}

async function readTokenNames(
  chain: Pick<Chain, 'accounts'>,
  mints: readonly Address[],
): Promise<ReadonlyMap<Address, TokenName | null>> {
  const metadata = mints.map(metadataAddress);
  const accounts = await chain.accounts([...mints, ...metadata], { maxBytes: MAX_MINT_BYTES });
  return new Map(
    mints.map((mint, i) => {
      const [mintAccount, metadataAccount] = [accounts[i], accounts[mints.length + i]];
      return [mint, nameInMint(mintAccount) ?? nameInMetadata(metadataAccount, mint)] as const;
    }),
  );
}

/** Metaplex Token Metadata, equal on every cluster. */
const METADATA_PROGRAM = address('metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s');

function metadataAddress(mint: Address): Address {
  const seeds = ['metadata', ...[METADATA_PROGRAM, mint].map((seed) => addressEncoder.encode(seed))];
  return deriveAddress(METADATA_PROGRAM, seeds).address;
}

function nameInMint(account: ChainAccount | null | undefined): TokenName | null {
  if (account?.programAddress !== TOKEN_2022_PROGRAM_ADDRESS || account.data.length <= getMintSize()) return null;
  try {
    const extensions = unwrapOption(getMintDecoder().decode(account.data).extensions) ?? [];
    const found = extensions.find((extension) => extension.__kind === 'TokenMetadata');
    return found ? toTokenName(found) : null;
  } catch {
    // An extension that the client does not know, or more bytes than are read: the token is shown without a name.
    return null;
  }
}

/** Layout of `Metadata`: a key, the update authority and the mint, then name and symbol, padded with zeros. */
const METADATA_KEY = 4;
const MINT_OFFSET = 33;
const NAME_OFFSET = 65;

function nameInMetadata(account: ChainAccount | null | undefined, mint: Address): TokenName | null {
  if (account?.programAddress !== METADATA_PROGRAM || account.data[0] !== METADATA_KEY) return null;
  const { data } = account;
  if (data.length < NAME_OFFSET || addressDecoder.decode(data, MINT_OFFSET) !== mint) return null;
  const name = readText(data, NAME_OFFSET);
  const symbol = name && readText(data, name.end);
  return name && symbol ? toTokenName({ name: name.text, symbol: symbol.text }) : null;
}

function readText(data: Uint8Array, offset: number): { readonly text: string; readonly end: number } | null {
  const start = offset + 4;
  if (data.length < start) return null;
  const end = start + getU32Decoder().decode(data, offset);
  if (data.length < end) return null;
  return { text: new TextDecoder().decode(data.subarray(start, end)), end };
}

/** Longer than any regular name (Metaplex allows 32 and 10 bytes). */
const MAX_NAME_CHARACTERS = 64;
const MAX_SYMBOL_CHARACTERS = 16;

function toTokenName(given: { readonly name: string; readonly symbol: string }): TokenName | null {
  const name = legible(given.name, MAX_NAME_CHARACTERS);
  const symbol = legible(given.symbol, MAX_SYMBOL_CHARACTERS);
  return name === '' && symbol === '' ? null : { ...(name !== '' && { name }), ...(symbol !== '' && { symbol }) };
}

/** Removes invisible and direction-changing characters (Unicode “other” and separators except the space). */
function legible(text: string, maxCharacters: number): string {
  const visible = text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '').trim();
  return [...visible].slice(0, maxCharacters).join('');
}
