import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Address, address, getAddressEncoder, getProgramDerivedAddress, getU32Encoder } from '@solana/kit';
import { getMintEncoder, TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import {
  extension,
  getMintEncoder as getMint2022Encoder,
  TOKEN_2022_PROGRAM_ADDRESS,
} from '@solana-program/token-2022';
import type { ChainAccount } from '../../src/solana/chain.ts';
import { createTokenNames } from '../../src/solana/token-names.ts';

const MINT = address('So11111111111111111111111111111111111111112');
const OTHER = address('SysvarRent111111111111111111111111111111111');
const METADATA_PROGRAM = address('metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s');
const FIELDS = { mintAuthority: OTHER, supply: 1n, decimals: 6, isInitialized: true, freezeAuthority: null };
const REMEMBERED_MS = 10 * 60_000;

const bytes = (...parts: Iterable<number>[]) => Uint8Array.from(parts.flatMap((part) => [...part]));
const text = (value: string, length = Buffer.byteLength(value)) =>
  bytes(getU32Encoder().encode(length), Buffer.alloc(length).fill(value, 0, Buffer.byteLength(value)));
const metadata = (
  name: string,
  symbol: string,
  mint: Address = MINT,
  programAddress: Address = METADATA_PROGRAM,
): Account => ({
  programAddress,
  data: bytes(
    [4],
    getAddressEncoder().encode(OTHER),
    getAddressEncoder().encode(mint),
    text(name, 32),
    text(symbol, 10),
  ),
});
const splMint: Account = { programAddress: TOKEN_PROGRAM_ADDRESS, data: bytes(getMintEncoder().encode(FIELDS)) };
const mint2022 = (name: string, symbol: string): Account => ({
  programAddress: TOKEN_2022_PROGRAM_ADDRESS,
  data: bytes(
    getMint2022Encoder().encode({
      ...FIELDS,
      extensions: [
        extension('TokenMetadata', {
          updateAuthority: OTHER,
          mint: MINT,
          name,
          symbol,
          uri: '',
          additionalMetadata: new Map(),
        }),
      ],
    }),
  ),
});

type Account = Pick<ChainAccount, 'programAddress' | 'data'>;

describe('the name of a token', () => {
  it('is that of the Metaplex account, without padding', async () => {
    const { names } = await open({ mint: splMint, metadata: metadata('Rewards', 'RWD') });
    assert.deepEqual(await names.of([MINT]), new Map([[MINT, { name: 'Rewards', symbol: 'RWD' }]]));
  });

  it('is that of the Token-2022 mint if it has one', async () => {
    const { names } = await open({ mint: mint2022('Inside', 'IN'), metadata: metadata('Beside', 'BE') });
    assert.deepEqual(await names.of([MINT]), new Map([[MINT, { name: 'Inside', symbol: 'IN' }]]));
  });

  it('is missing without metadata, or if that belongs to another program or mint, or is truncated', async () => {
    const cut = metadata('Rewards', 'RWD');
    for (const account of [
      null,
      metadata('Fake', 'F', MINT, OTHER),
      metadata('Other', 'O', OTHER),
      { ...cut, data: cut.data.slice(0, 80) },
      { ...cut, data: cut.data.slice(0, 40) },
      metadata('', ''),
    ]) {
      const { names } = await open({ mint: splMint, metadata: account });
      assert.deepEqual(await names.of([MINT]), new Map());
    }
  });

  it('contains no invisible or direction-changing characters, and is short', async () => {
    const tricky = mint2022(`USD\u202eC\u200b\n${'x'.repeat(100)}`, '\u2066 A B \u0000');
    const { names } = await open({ mint: tricky, metadata: null });
    const found = (await names.of([MINT])).get(MINT);
    assert.equal(found?.name, `USDC${'x'.repeat(60)}`);
    assert.equal(found?.symbol, 'A B');
  });

  it('is cached, and read again after the cache expires', async () => {
    const { names, chain, clock } = await open({ mint: splMint, metadata: metadata('Rewards', 'RWD') });
    await names.of([MINT]);
    await names.of([MINT, MINT]);
    assert.equal(chain.asked, 1);
    clock.nowMs += REMEMBERED_MS + 1;
    await names.of([MINT]);
    assert.equal(chain.asked, 2);
  });

  it('is left out while the cluster fails or is slow, and present after it answered', async () => {
    const broken = await open({ mint: splMint, metadata: null, fail: true });
    assert.deepEqual(await broken.names.of([MINT]), new Map());
    assert.equal(broken.log.warnings, 1);

    const { promise, resolve } = Promise.withResolvers<void>();
    const slow = await open({ mint: splMint, metadata: metadata('Late', 'L'), until: promise });
    assert.deepEqual(await slow.names.of([MINT]), new Map());
    resolve();
    await slow.chain.answered;
    assert.equal((await slow.names.of([MINT])).get(MINT)?.name, 'Late');
  });
});

interface Options {
  readonly mint: Account | null;
  readonly metadata: Account | null;
  readonly fail?: boolean;
  /** The cluster answers after this promise, which the caller does not await. */
  readonly until?: Promise<void>;
}

async function open({ mint, metadata: beside, fail = false, until }: Options) {
  const [metadataAddress] = await getProgramDerivedAddress({
    programAddress: METADATA_PROGRAM,
    seeds: ['metadata', getAddressEncoder().encode(METADATA_PROGRAM), getAddressEncoder().encode(MINT)],
  });
  const held = new Map<Address, Account | null>([
    [MINT, mint],
    [metadataAddress, beside],
  ]);
  const clock = { nowMs: Date.now(), now: () => new Date(clock.nowMs) };
  const chain = { asked: 0, answered: Promise.resolve() };
  const log = {
    warnings: 0,
    warn: () => {
      log.warnings += 1;
    },
  };
  const asked = Promise.withResolvers<void>();
  const answer = async (addresses: readonly Address[]) => {
    chain.asked += 1;
    asked.resolve();
    if (fail) throw new Error('out of reach');
    await until;
    return addresses.map((each) => {
      const account = held.get(each) ?? null;
      const space = BigInt(account?.data.length ?? 0);
      return account && { ...account, address: each, lamports: 1n, executable: false, space };
    });
  };
  const names = createTokenNames({
    chain: {
      accounts: (addresses) => {
        const accounts = answer(addresses);
        // A turn later the answer is cached.
        chain.answered = accounts.then(() => nextTurn(), nextTurn);
        return accounts;
      },
    },
    // The time limit ends as soon as a slow cluster was asked, and never ends if the cluster is fast.
    clock: { now: clock.now, sleep: () => (until ? asked.promise : Promise.withResolvers<void>().promise) },
    log,
  });
  return { names, chain, clock, log };
}
