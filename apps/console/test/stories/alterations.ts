import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { encodeBase58 } from '@flywheel/protocol';
import type { Pins } from '@flywheel/sdk';
import { decodeTransaction } from '@flywheel/testing/values';
import {
  type Address,
  appendTransactionMessageInstruction,
  compileTransaction,
  createNoopSigner,
  decompileTransactionMessage,
  generateKeyPair,
  getBase64EncodedWireTransaction,
  getCompiledTransactionMessageDecoder,
} from '@solana/kit';
import { getTransferSolInstruction } from '@solana-program/system';
import type { APIResponse, Page, Route } from 'playwright-core';
import type { Person, Story } from './story.ts';

export interface Alteration {
  /** Part of the URL, or a pattern in it. Not an event stream: it never ends. */
  readonly of: string | RegExp;
  /** Makes the altered body from the real one. */
  readonly change: (text: string) => string;
  /** HTTP status of the altered answer; the real one by default. */
  readonly status?: number;
}

export interface AlteredOptions {
  /** Batch that is opened. */
  readonly of?: string;
  /** Name of the screenshot. */
  readonly name?: string;
}

/** Alters answers on their way to the page. @returns stops it, and fails if no answer was altered. */
export async function alterAnswers(page: Page, { of, change, status }: Alteration): Promise<() => Promise<void>> {
  let changed = 0;
  const matches = ({ href }: URL) => (typeof of === 'string' ? href.includes(of) : of.test(href));
  await page.route(matches, async (route) => {
    const answer = await readAnswer(route);
    if (answer === null) return;
    const body = change(answer.text);
    if (body !== answer.text) changed += 1;
    await route
      .fulfill({ response: answer.response, body, ...(status !== undefined && { status }) })
      // The page may have cancelled the request.
      .catch(() => undefined);
  });
  return async () => {
    await page.unroute(matches);
    assert.ok(changed > 0, `Nothing of ${of} was altered.`);
  };
}

export interface HeldRequests {
  /** Resolves when the page has sent the first one. */
  readonly reached: Promise<void>;
  /** Lets them and all later ones go on to the service. */
  readonly release: () => void;
}

/** Holds requests of a page. @param method all by default. */
export async function holdRequests(page: Page, of: string | RegExp, method?: string): Promise<HeldRequests> {
  const [asked, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await page.route(of, async (route) => {
    if (method !== undefined && route.request().method() !== method) return route.fallback();
    asked.resolve();
    await released.promise;
    // The page may have cancelled the request.
    await route.fallback().catch(() => undefined);
  });
  return { reached: asked.promise, release: released.resolve };
}

/** Holds the signatures of the page's wallet, as a person does who has not confirmed yet, until the page is loaded again. */
export async function holdSignatures(page: Page): Promise<HeldRequests> {
  const [asked, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await page.exposeFunction('confirmSignature', () => {
    asked.resolve();
    return released.promise;
  });
  await page.evaluate(`
    const { sign } = SubtleCrypto.prototype;
    SubtleCrypto.prototype.sign = async function (...given) {
      await globalThis.confirmSignature();
      return sign.apply(this, given);
    };
  `);
  return { reached: asked.promise, release: released.resolve };
}

/** Adds a wallet to a page, beside the test wallet, until it is loaded again. It signs messages only. @returns its address. */
export async function addWallet({ page }: Pick<Person, 'page'>, name: string): Promise<string> {
  const { privateKey, publicKey } = await generateKeyPair(true);
  const jwk = await crypto.subtle.exportKey('jwk', privateKey);
  const publicBytes = new Uint8Array(await crypto.subtle.exportKey('raw', publicKey));
  const values = { name, jwk, publicKey: [...publicBytes], address: encodeBase58(publicBytes) };
  await page.evaluate(`(async ({ name, jwk, publicKey, address }) => {
    const key = await crypto.subtle.importKey('jwk', jwk, 'Ed25519', false, ['sign']);
    const sign = async (message) => new Uint8Array(await crypto.subtle.sign('Ed25519', key, message));
    const chains = ['solana:localnet'];
    const account = { address, publicKey: new Uint8Array(publicKey), chains, features: ['solana:signMessage'] };
    const signMessage = (...inputs) =>
      Promise.all(inputs.map(async ({ message }) => ({ signedMessage: message, signature: await sign(message) })));
    const features = {
      'standard:connect': { version: '1.0.0', connect: async () => ({ accounts: [account] }) },
      'solana:signMessage': { version: '1.1.0', signMessage },
      'solana:signTransaction': { version: '1.0.0', supportedTransactionVersions: [0] },
    };
    const wallet = { version: '1.0.0', name, icon: 'data:image/svg+xml,', chains, accounts: [account], features };
    dispatchEvent(
      new CustomEvent('wallet-standard:register-wallet', { detail: ({ register }) => register(wallet) }),
    );
  })(${JSON.stringify(values)})`);
  return values.address;
}

/** Adds a wallet whose window the person closes: it never answers. As a script of a page it comes before all others. */
export const ADD_SILENT_WALLET = `(() => {
  globalThis.timesAsked = 0;
  const chains = ['solana:localnet'];
  const connect = () => {
    globalThis.timesAsked += 1;
    return new Promise(() => {});
  };
  const features = {
    'standard:connect': { version: '1.0.0', connect },
    'solana:signMessage': { version: '1.1.0' },
    'solana:signTransaction': { version: '1.0.0', supportedTransactionVersions: [0] },
  };
  const wallet = { version: '1.0.0', name: 'Silent wallet', icon: 'data:image/svg+xml,', chains, accounts: [], features };
  addEventListener('wallet-standard:app-ready', ({ detail }) => detail.register(wallet));
  dispatchEvent(new CustomEvent('wallet-standard:register-wallet', { detail: ({ register }) => register(wallet) }));
})()`;

/** Loses the answers to requests that change something: the service acts on them. @returns a function that ends it. */
export async function loseAnswers(page: Page, of: string | RegExp): Promise<() => Promise<void>> {
  await page.route(of, async (route) => {
    if (route.request().method() === 'GET') return route.fallback();
    await route.fetch();
    await route.abort('connectionreset');
  });
  return () => page.unroute(of);
}

const MAX_RETRIES = 3;

/** Answers null when the page has cancelled the request, or it was aborted because it failed. */
async function readAnswer(route: Route): Promise<{ readonly response: APIResponse; readonly text: string } | null> {
  try {
    // The server closes an idle connection after a while, perhaps when it is used again.
    const response = await route.fetch({ maxRetries: MAX_RETRIES });
    return { response, text: await response.text() };
  } catch {
    // A request without an answer would keep the page loading until the test times out.
    await route.abort().catch(() => undefined);
    return null;
  }
}

/** Squads’ account types, by their names in the IDL. */
export type AccountKind = 'Multisig' | 'Proposal' | 'Batch' | 'VaultBatchTransaction';

/** Offsets in Squads accounts: eight bytes of discriminator, then the fields in order. */
export const OFFSETS = {
  /** Multisig, u16, after createKey and configAuthority. */
  threshold: 8 + 32 + 32,
  /** Multisig, u64, after createKey, configAuthority, threshold, timeLock and transactionIndex. */
  staleTransactionIndex: 8 + 32 + 32 + 2 + 4 + 8,
  /** Multisig, after createKey. */
  configAuthority: 8 + 32,
  /** Proposal, u8, after multisig and transactionIndex. */
  status: 8 + 32 + 8,
  /** Batch, u8, after multisig, creator, index and bump. */
  vaultIndex: 8 + 32 + 32 + 8 + 1,
} as const;

const BASE64_TEXT = /"([A-Za-z0-9+/]{40,}={0,2})"/g;

/** Makes a change of all accounts of a type in an RPC answer. */
export function alterAccount(kind: AccountKind, change: (bytes: Buffer) => void): (text: string) => string {
  const discriminator = createHash('sha256').update(`account:${kind}`).digest().subarray(0, 8);
  return (text) =>
    text.replaceAll(BASE64_TEXT, (found, base64: string) => {
      const bytes = Buffer.from(base64, 'base64');
      if (!bytes.subarray(0, 8).equals(discriminator)) return found;
      change(bytes);
      return `"${bytes.toString('base64')}"`;
    });
}

/** Replaces an amount in base units by another one. */
export function replaceAmount(bytes: Buffer, from: bigint, to: bigint): void {
  const amount = Buffer.alloc(8);
  amount.writeBigUInt64LE(from);
  const at = bytes.indexOf(amount);
  if (at >= 0) bytes.writeBigUInt64LE(to, at);
}

/** Adds a transfer of one lamport from the signing wallet to an approval transaction. */
export function addTheft(proposalApproveTx: string, wallet: Address, thief: Address): string {
  const { messageBytes } = decodeTransaction(proposalApproveTx);
  const message = decompileTransactionMessage(getCompiledTransactionMessageDecoder().decode(messageBytes));
  const theft = getTransferSolInstruction({ source: createNoopSigner(wallet), destination: thief, amount: 1n });
  return getBase64EncodedWireTransaction(compileTransaction(appendTransactionMessageInstruction(theft, message)));
}

/** Reads what a browser keeps of services and multisigs. */
export async function readPins(page: Page): Promise<Pins> {
  return JSON.parse(await page.evaluate("localStorage.getItem('flywheel.pins')"));
}

export async function changePins(page: Page, change: (pins: Pins) => Pins): Promise<void> {
  const changed = JSON.stringify(JSON.stringify(change(await readPins(page))));
  await page.evaluate(`localStorage.setItem('flywheel.pins', ${changed})`);
}

/** Asserts that the page of an approval says this, shows no good verdict, and has nothing signed when its button is forced. */
export async function assertNotSigned(
  { world: { db } }: Pick<Story, 'world'>,
  { page }: Pick<Person, 'page'>,
  expected: RegExp,
  batchId: string,
): Promise<void> {
  const alert = page.getByRole('alert').filter({ hasText: expected });
  await alert.waitFor().catch(async (cause: unknown) => {
    throw new Error(`The page says: ${await page.locator('main').textContent()}`, { cause });
  });
  const button = page.getByRole('button', { name: 'Approve with wallet' });
  await button.waitFor();
  assert.equal(await button.isDisabled(), true, 'the button can be pressed');
  for (const verdict of ['Verified: the chain matches this page', 'Two votes, nothing else']) {
    assert.equal(await page.getByText(verdict).count(), 0, verdict);
  }
  // Simulates a visitor who clicks the disabled button by force.
  await button.dispatchEvent('click');
  assert.equal(await page.evaluate('globalThis.signaturesMade'), 0, 'the wallet has signed');
  const batch = db.selectFrom('batches').select('signed_tx').where('id', '=', batchId);
  assert.equal((await batch.executeTakeFirstOrThrow()).signed_tx, null);
}
