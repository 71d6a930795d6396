import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { address, getAddressDecoder } from '@solana/kit';
import { TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import { TOKEN_2022_PROGRAM_ADDRESS } from '@solana-program/token-2022';
import { findMissingAccounts } from '../../src/batches/check/recipients.ts';
import { type Chain, createChain } from '../../src/solana/chain.ts';
import { readMint } from '../../src/solana/mint.ts';
import { readRecipients } from '../../src/solana/recipients.ts';
import { createTokenNames } from '../../src/solana/token-names.ts';
import { findMissingTokenAccounts, readVaultFunds } from '../../src/solana/vault.ts';
import { type HttpServer, startHttpServer } from './http-server.ts';

const MINT = address('EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v');
const RECIPIENTS = Array.from({ length: 1_000 }, (_, i) => {
  const bytes = new Uint8Array(32);
  new DataView(bytes.buffer).setUint32(0, i);
  return { owner: getAddressDecoder().decode(bytes), tokenAccount: getAddressDecoder().decode(bytes.fill(1, 4)) };
});
const OWNERS = RECIPIENTS.map(({ owner }) => owner);
const TOKEN = { mint: MINT, programAddress: TOKEN_2022_PROGRAM_ADDRESS };

/** The largest account that the cluster allows. */
const SPACE = 10 * 1_024 * 1_024;

let node: HttpServer;
let chain: Chain;
/** Most bytes of one account that a request asked for. */
let largestBytes = 0;
let inProgress = 0;
let mostInProgress = 0;
before(async () => {
  node = await startHttpServer(async ({ body: { params = [] } }) => {
    inProgress += 1;
    mostInProgress = Math.max(mostInProgress, inProgress);
    // Long enough for all that are sent together to arrive.
    await wait(20);
    inProgress -= 1;
    const [addresses, { dataSlice }] = params as [string[], { dataSlice?: { length: number } }]; // of getMultipleAccounts
    const length = dataSlice?.length ?? SPACE;
    largestBytes = Math.max(largestBytes, length);
    if (length > MAX_BYTES) return { error: { code: -32600, message: `${length} bytes are too many.` } };
    const data = [Buffer.alloc(length).toString('base64'), 'base64'];
    const account = { lamports: 1, owner: TOKEN_2022_PROGRAM_ADDRESS, executable: false, data, space: SPACE };
    return { result: { context: { slot: 1 }, value: addresses.map(() => account) } };
  });
  chain = createChain({ rpcUrls: [node.url] });
});
beforeEach(() => {
  largestBytes = 0;
});
after(() => node.stop());

/** Forty previews at once then take a few megabytes. */
const MAX_BYTES = 16 * 1_024;

describe('of an account of 10 MiB that someone else chose,', () => {
  it('the preview of a mint reads 16 KiB', async () => {
    assert.deepEqual(await readMint(chain, MINT), {
      problem: 'is not a mint: it is another account of the token program.',
    });
    assert.equal(largestBytes, MAX_BYTES);
  });

  it('the name of a token reads 16 KiB', async () => {
    const warnings: object[] = [];
    const clock = { now: () => new Date(), sleep: () => new Promise<void>(() => undefined) };
    const names = createTokenNames({ chain, clock, log: { warn: (fields) => void warnings.push(fields) } });
    assert.deepEqual([...(await names.of([MINT]))], []);
    assert.deepEqual([largestBytes, warnings], [MAX_BYTES, []]);
  });

  it('the funds of a vault read 16 KiB of the mint', async () => {
    const [{ owner: vault, tokenAccount } = assert.fail()] = RECIPIENTS;
    // The node answers zeros, also for the mint of the token account.
    const token = { ...TOKEN, mint: address('11111111111111111111111111111111') };
    const accounts = { vault, token, tokenAccount, recipientTokenAccounts: [] };
    const withRent = { ...chain, minimumBalanceForRentExemption: async () => 1n };
    assert.deepEqual((await readVaultFunds(withRent, accounts)).missingTokenAccounts, []);
    assert.equal(largestBytes, MAX_BYTES);
  });

  it('the check of a recipient reads 1 KiB', async () => {
    const token = { programAddress: TOKEN_PROGRAM_ADDRESS };
    const facts = await readRecipients(chain, token, RECIPIENTS.slice(0, 10));
    assert.equal(facts.length, 10);
    assert.equal(largestBytes, 1_024);
  });

  it('its existence reads nothing', async () => {
    assert.deepEqual([...(await findMissingAccounts({ chain }, OWNERS))], []);
    assert.deepEqual(await findMissingTokenAccounts(chain, TOKEN, OWNERS), []);
    assert.equal(largestBytes, 0);
  });
});

describe('the accounts of a thousand recipients', () => {
  it('are read by eight requests at once', async () => {
    mostInProgress = 0;
    const token = { programAddress: TOKEN_PROGRAM_ADDRESS };
    assert.equal((await readRecipients(chain, token, RECIPIENTS)).length, RECIPIENTS.length);
    assert.ok(mostInProgress <= 8, String(mostInProgress));
  });
});
