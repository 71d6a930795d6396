import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { assertError } from '@flywheel/testing/batches';
import { burnPipeline, getCurrent, init, send } from '@flywheel/testing/client';
import { createProject, requireOk, signIn, signWith } from '@flywheel/testing/project';
import { openWorld, type World } from '@flywheel/testing/world';
import { type Address, address, generateKeyPairSigner, type KeyPairSigner } from '@solana/kit';

let world: World;
let mint: Address;
before(async () => {
  world = await openWorld();
  mint = await world.localnet.bank.createMint(6, false);
});
after(() => world.stop());

const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  send(world.url, 'POST', `/console/api${path}`, { body, headers });

describe('signing in', () => {
  const challenge = async (wallet: KeyPairSigner) =>
    requireOk(await post('/sign-in/challenge', { wallet: wallet.address })).message as string;
  const signed = async (signer: KeyPairSigner, message: string) => {
    const { createSignableMessage, getBase58Decoder } = await import('@solana/kit');
    const [signatures] = await signer.signMessages([createSignableMessage(message)]);
    const signature = signatures?.[signer.address];
    assert.ok(signature);
    return getBase58Decoder().decode(signature);
  };

  it('accepts a challenge once, unaltered, signed by its wallet, within its time', async () => {
    const [wallet, stranger] = await Promise.all([generateKeyPairSigner(), generateKeyPairSigner()]);
    const body = async (message: string, signer = wallet) => ({
      wallet: wallet.address,
      message,
      signature: await signed(signer, message),
    });
    const message = await challenge(wallet);
    assert.ok(
      message.startsWith(
        `${new URL(world.url).host} wants you to sign in with your Solana account:\n${wallet.address}`,
      ),
    );
    const good = await body(message);
    const answer = await post('/sign-in', good);
    assert.equal(requireOk(answer).wallet, wallet.address);
    const [cookie] = answer.headers.getSetCookie();
    assert.match(
      cookie ?? '',
      /^flywheel_session=[\w-]{43}; Path=\/console; Max-Age=43200; HttpOnly; SameSite=Strict$/,
    );
    assertError(await post('/sign-in', good), 401, 'ERR_SIGN_IN_INVALID', /used/);

    const forged = await body(await challenge(wallet), stranger);
    assertError(await post('/sign-in', forged), 401, 'ERR_SIGN_IN_INVALID', /signature/);
    const altered = (await challenge(wallet)).replace('URI: http', 'URI: https');
    assertError(await post('/sign-in', await body(altered)), 401, 'ERR_SIGN_IN_INVALID');
    const theirs = await challenge(stranger);
    assertError(await post('/sign-in', await body(theirs)), 401, 'ERR_SIGN_IN_INVALID');
    const late = await challenge(wallet);
    await world.db
      .updateTable('sign_in_challenges')
      .set({ expires_at: new Date(0) })
      .execute();
    assertError(await post('/sign-in', await body(late)), 401, 'ERR_SIGN_IN_INVALID', /expired/);
  });

  it('is stored as a hash, which opens nothing, and ends when the wallet signs out', async () => {
    const wallet = await generateKeyPairSigner();
    const cookie = await signIn(world.url, wallet);
    const [name, token = ''] = cookie.split('=');
    const { hash } = await world.db
      .selectFrom('sessions')
      .select('hash')
      .where('wallet', '=', wallet.address)
      .executeTakeFirstOrThrow();
    const stored = Buffer.from(hash);
    for (const text of [stored.toString(), stored.toString('base64url'), stored.toString('hex')]) {
      assert.ok(!text.includes(token));
      const answer = await post('/registrations', {}, { cookie: `${name}=${encodeURIComponent(text)}` });
      assertError(answer, 401, 'ERR_UNAUTHORIZED');
    }
    requireOk(await post('/sign-out', {}, { cookie }));
    assertError(await post('/registrations', {}, { cookie }), 401, 'ERR_UNAUTHORIZED', /has expired/);
    assertError(await post('/registrations', {}), 401, 'ERR_UNAUTHORIZED', /Sign in/);
  });

  it('rejects what a page of another site could send', async () => {
    const cookie = await signIn(world.url, await generateKeyPairSigner());
    const foreign = await post('/registrations', {}, { cookie, origin: 'https://evil.example' });
    assertError(foreign, 400, 'ERR_INVALID_REQUEST', /origin/);
    const form = { headers: { cookie, 'content-type': 'application/x-www-form-urlencoded' }, text: 'a=b' };
    assertError(await send(world.url, 'POST', '/console/api/registrations', form), 415, 'ERR_UNSUPPORTED_MEDIA_TYPE');
  });

  it('creates no challenge for a host that is not known as this service', async () => {
    const { address: wallet } = await generateKeyPairSigner();
    const { port } = new URL(world.url);
    const { request } = await import('node:http');
    const status = await new Promise((resolve, reject) => {
      const options = { port, method: 'POST', path: '/console/api/sign-in/challenge' };
      const headers = { host: 'evil.example', 'content-type': 'application/json' };
      request({ ...options, headers }, (response) => resolve(response.resume().statusCode))
        .on('error', reject)
        .end(JSON.stringify({ wallet }));
    });
    assert.equal(status, 400);
  });
});

describe('registering', () => {
  const begin = async (changes: object = {}) => {
    const wallet = await generateKeyPairSigner();
    await world.localnet.bank.airdrop(wallet.address, 1_000_000_000n);
    const cookie = await signIn(world.url, wallet);
    const request = { mint, burnLimit: '10', airdropLimit: '0.5', scopes: ['burn'], ...changes };
    return { wallet, cookie, answer: await post('/registrations', request, { cookie }) };
  };
  const confirm = (cookie: string, registrationId: string, signedTransaction: string) =>
    post(`/registrations/${registrationId}/confirm`, { signedTransaction }, { cookie });

  it('creates once a multisig that the wallet pays for, and a key that works', async () => {
    const { wallet, cookie, answer } = await begin();
    const { registrationId, transaction, costLamports, multisig } = requireOk(answer);
    const signed = await signWith(wallet, transaction);
    const before = await balanceOf(wallet.address);
    const project = requireOk(await confirm(cookie, registrationId, signed));
    assert.equal(before - (await balanceOf(wallet.address)), BigInt(costLamports));
    assert.equal(project.multisig, multisig);
    assert.equal(project.mintAddress, mint);
    assert.equal(requireOk(await getCurrent(world.url, project.apiKey)), null);
    const { body } = await init(world.url, project.apiKey, [burnPipeline(10.1)]);
    assert.equal(body.error, 'ERR_FLYWHEEL_DAILY_LIMIT_EXCEEDED');
    assertError(await confirm(cookie, registrationId, signed), 404, 'ERR_REGISTRATION_NOT_FOUND');
    const stored = await world.db
      .selectFrom('api_keys')
      .selectAll()
      .where('project_id', '=', project.projectId)
      .execute();
    assert.ok(!JSON.stringify(stored).includes(project.apiKey), 'the key itself is nowhere');
  });

  it('rejects a transaction that is unsigned, altered, invalid, or another wallet’s', async () => {
    const { wallet, cookie, answer } = await begin();
    const { registrationId, transaction } = requireOk(answer);
    assertError(await confirm(cookie, registrationId, transaction), 409, 'ERR_REGISTRATION_FAILED', /not signed/);
    assertError(await confirm(cookie, registrationId, 'AAAA'), 409, 'ERR_REGISTRATION_FAILED', /decoded/);
    const other = await begin();
    const theirs = await signWith(other.wallet, requireOk(other.answer).transaction);
    assertError(await confirm(cookie, registrationId, theirs), 409, 'ERR_REGISTRATION_FAILED', /not the one/);
    const signed = await signWith(wallet, transaction);
    assertError(await confirm(other.cookie, registrationId, signed), 404, 'ERR_REGISTRATION_NOT_FOUND');
    assertError(await confirm(cookie, randomUUID(), signed), 404, 'ERR_REGISTRATION_NOT_FOUND');
    requireOk(await confirm(cookie, registrationId, signed));
  });

  it('says if the wallet cannot pay', async () => {
    const wallet = await generateKeyPairSigner();
    await world.localnet.bank.airdrop(wallet.address, 1_000_000n);
    const cookie = await signIn(world.url, wallet);
    const request = { mint, burnLimit: '1', airdropLimit: '1', scopes: ['burn'] };
    const { registrationId, transaction } = requireOk(await post('/registrations', request, { cookie }));
    const signed = await signWith(wallet, transaction);
    assertError(await confirm(cookie, registrationId, signed), 409, 'ERR_REGISTRATION_FAILED', /SOL/);
  });

  it('sends nothing for a wallet that cannot pay it', async () => {
    const wallet = await generateKeyPairSigner();
    const cookie = await signIn(world.url, wallet);
    const request = { mint, burnLimit: '1', airdropLimit: '1', scopes: ['burn'] };
    const { registrationId, transaction } = requireOk(await post('/registrations', request, { cookie }));
    const signed = await signWith(wallet, transaction);
    assertError(await confirm(cookie, registrationId, signed), 409, 'ERR_REGISTRATION_FAILED', /holds 0 SOL/);
    await world.localnet.bank.airdrop(wallet.address, 1_000_000_000n);
    requireOk(await confirm(cookie, registrationId, signed));
  });

  it('says that no node answers after the transaction was sent, and ends when it is repeated', async () => {
    const { wallet, cookie, answer } = await begin();
    const { registrationId, transaction } = requireOk(answer);
    const signed = await signWith(wallet, transaction);
    world.localnet.faults.set({ kind: 'error', method: 'getSignatureStatuses', status: 500 });
    const away = await confirm(cookie, registrationId, signed);
    world.localnet.faults.clear();
    assertError(away, 503, 'ERR_NODE_UNAVAILABLE', /Try again in 2 s/);
    requireOk(await confirm(cookie, registrationId, signed));
  });

  it('is not failed by a node that does not show its accounts yet', async () => {
    const { wallet, cookie, answer } = await begin();
    const { registrationId, transaction } = requireOk(answer);
    const signed = await signWith(wallet, transaction);
    await world.localnet.warp({ slots: 100n });
    world.localnet.faults.set({ kind: 'behind', method: 'getMultipleAccounts', slots: [8] });
    const behind = await confirm(cookie, registrationId, signed);
    world.localnet.faults.clear();
    requireOk(behind);
  });

  it('rejects an invalid request with the position of its issue', async () => {
    for (const [changes, code, message] of [
      [{ mint: address('11111111111111111111111111111111') }, 'ERR_MINT_UNSUPPORTED', /Mint 1111/],
      [{ mint: (await generateKeyPairSigner()).address }, 'ERR_MINT_UNSUPPORTED', /Mint/],
      [{ burnLimit: '0.0000001' }, 'ERR_INVALID_REQUEST', /body\.burnLimit/],
      [{ airdropLimit: '-1' }, 'ERR_INVALID_REQUEST', /body\.airdropLimit/],
      [{ scopes: [] }, 'ERR_INVALID_REQUEST', /body\.scopes/],
      [{ proofTypes: [{ type: 'A' }, { type: 'A' }] }, 'ERR_INVALID_REQUEST', /body\.proofTypes\[1\]/],
      [{ proofTypes: [{ type: 'WITHDRAW' }] }, 'ERR_INVALID_REQUEST', /proofTypes\[0\]\.type WITHDRAW is reserved/],
      [{ proofTypes: [{ type: 'A', payloadSchema: { type: 'no such' } }] }, 'ERR_INVALID_REQUEST', /payloadSchema/],
    ] as const) {
      assertError((await begin(changes)).answer, 400, code, message);
    }
  });
});

describe('API keys', () => {
  it('can have fewer scopes, are revoked for good, and belong to the project’s wallet', async () => {
    const project = await createProject(world);
    const keys = `/projects/${project.projectId}/keys`;
    const { cookie } = project;
    const { keyId, apiKey } = requireOk(await post(keys, { scopes: ['airdrop'], name: 'ads' }, { cookie }));
    assertError(await init(world.url, apiKey, [burnPipeline()]), 403, 'ERR_KEY_SCOPES_UNAUTHORIZED');
    const revoke = (who: string) =>
      send(world.url, 'DELETE', `/console/api${keys}/${keyId}`, {
        headers: { cookie: who, 'content-type': 'application/json' },
      });
    const stranger = await createProject(world);
    assertError(await revoke(stranger.cookie), 404, 'ERR_PROJECT_NOT_FOUND');
    assertError(await post(keys, {}, { cookie: stranger.cookie }), 404, 'ERR_PROJECT_NOT_FOUND');
    const revoked = requireOk(await revoke(cookie));
    assert.deepEqual(requireOk(await revoke(cookie)), revoked);
    assertError(await getCurrent(world.url, apiKey), 401, 'ERR_UNAUTHORIZED', /revoked/);
    requireOk(await getCurrent(world.url, project.apiKey));
    const burnOnly = await createProject(world, { scopes: ['burn'] });
    const wider = await post(
      `/projects/${burnOnly.projectId}/keys`,
      { scopes: ['airdrop'] },
      { cookie: burnOnly.cookie },
    );
    assertError(wider, 400, 'ERR_INVALID_REQUEST', /body\.scopes/);
    const past = await post(keys, { expiresAt: '2020-01-01T00:00:00Z' }, { cookie });
    assertError(past, 400, 'ERR_INVALID_REQUEST', /body\.expiresAt/);
  });
});

async function balanceOf(account: Address): Promise<bigint> {
  return (await world.rpc.getBalance(account, { commitment: 'confirmed' }).send()).value;
}
