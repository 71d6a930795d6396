import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { json, SESSION_TOKEN, startTestServer, type TestServer, WALLET } from '@flywheel/testing/test-server';

const COOKIE = `flywheel_session=${SESSION_TOKEN}`;
const SIGN_IN = { wallet: WALLET, message: 'm', signature: 's' };

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server[Symbol.asyncDispose]());

describe('a console session', () => {
  it('is a cookie that scripts cannot read and other sites cannot send', async () => {
    const response = await server.fetch('/console/api/sign-in', json(SIGN_IN));
    assert.equal(response.status, 200);
    assert.equal(
      response.headers.get('set-cookie'),
      `flywheel_session=${SESSION_TOKEN}; Path=/console; Max-Age=60; HttpOnly; SameSite=Strict`,
    );
  });

  it('is over https a cookie that only this host can set, and the only one that is taken', async () => {
    await using secure = await startTestServer({ publicUrl: 'https://flywheel.example' });
    const response = await secure.fetch('/console/api/sign-in', json(SIGN_IN));
    assert.equal(
      response.headers.get('set-cookie'),
      `__Host-${COOKIE}; Path=/; Secure; Max-Age=60; HttpOnly; SameSite=Strict`,
    );
    const signOut = (cookie: string) =>
      secure.fetch('/console/api/sign-out', json('', { cookie, origin: 'https://flywheel.example' }));
    assert.equal((await signOut(`__Host-${COOKIE}`)).status, 200);
    assert.equal((await signOut(COOKIE)).status, 401);
    const v1 = { apiKey: null, headers: { cookie: `__Host-${COOKIE}` } };
    assert.equal((await secure.fetch('/v1/flywheel/batch/current', v1)).status, 401);
  });

  it('is sent over https only if the service is reached by https', async () => {
    await using proxied = await startTestServer({ trustedProxies: ['127.0.0.1'] });
    const forwarded = await proxied.fetch('/console/api/sign-in', json(SIGN_IN, { 'x-forwarded-proto': 'https' }));
    assert.match(forwarded.headers.get('set-cookie') ?? '', /^__Host-.*; Secure;/);
    const believed = await server.fetch('/console/api/sign-in', json(SIGN_IN, { 'x-forwarded-proto': 'https' }));
    assert.doesNotMatch(believed.headers.get('set-cookie') ?? '', /Secure|__Host-/);
  });

  it('is found among other cookies, and cleared by signing out', async () => {
    const cookie = `theme=dark; ${COOKIE}; flywheel_session2=x`;
    const response = await server.fetch('/console/api/sign-out', json('', { cookie }));
    assert.equal(response.status, 200);
    assert.match(response.headers.get('set-cookie') ?? '', /^flywheel_session=; .*Max-Age=0/);
  });

  it('answers 401 if it is missing, empty or ended', async () => {
    for (const cookie of ['', 'flywheel_session=', 'flywheel_session=other', 'x_flywheel_session=1', '=; ;;']) {
      const response = await server.fetch('/console/api/sign-out', json('', { cookie }));
      assert.equal(response.status, 401, cookie);
      assert.equal(response.headers.get('www-authenticate'), 'Session');
      assert.match(await response.text(), /ERR_UNAUTHORIZED.*[Ss]ign in/);
    }
  });

  it('does not open /v1, nor does an API key open the console', async () => {
    const v1 = await server.fetch('/v1/flywheel/batch/current', { apiKey: null, headers: { cookie: COOKIE } });
    assert.equal(v1.status, 401);
    assert.equal((await server.fetch('/console/api/sign-out', json(''))).status, 401);
  });
});

describe('a change requested by another site', () => {
  it('is rejected by its Origin', async () => {
    const host = new URL(server.url).host;
    for (const [origin, status] of [
      [`http://${host}`, 200],
      [`https://${host}`, 200],
      ['https://evil.example', 400],
      [`http://${host}.evil.example`, 400],
      ['null', 400],
      ['', 400],
    ] as const) {
      const response = await server.fetch('/console/api/sign-out', json('', { cookie: COOKIE, origin }));
      assert.equal(response.status, status, origin);
      if (status === 400) assert.match(await response.text(), /ERR_INVALID_REQUEST.*headers\.origin must be http:/);
    }
  });

  it('is rejected by the public address if one is set', async () => {
    await using known = await startTestServer({ publicUrl: 'https://flywheel.example/' });
    const signOut = (origin: string) =>
      known.fetch('/console/api/sign-out', json('', { cookie: `__Host-${COOKIE}`, origin }));
    assert.equal((await signOut('https://flywheel.example')).status, 200);
    assert.equal((await signOut(known.url)).status, 400);
  });

  it('is rejected by the content types that a form can send, with a body or without', async () => {
    for (const contentType of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']) {
      const form = { method: 'POST', body: '{}', headers: { cookie: COOKIE, 'content-type': contentType } };
      assert.equal((await server.fetch('/console/api/sign-out', form)).status, 415, contentType);
    }
    const bare = await server.fetch('/console/api/sign-out', { method: 'POST', headers: { cookie: COOKIE } });
    assert.equal(bare.status, 415);
    const path = '/console/api/projects/6f2e9a54-0c1f-4f6b-9d2c-3a5a0e6c1b7d/keys/6f2e9a54-0c1f-4f6b-9d2c-3a5a0e6c1b7d';
    assert.equal((await server.fetch(path, { method: 'DELETE', headers: { cookie: COOKIE } })).status, 415);
    const typed = { method: 'DELETE', headers: { cookie: COOKIE, 'content-type': 'application/json' } };
    assert.equal((await server.fetch(path, typed)).status, 200);
  });
});

describe('a Host header', () => {
  it('that is not a valid host is rejected before it is used', async () => {
    for (const host of ['', '[', 'a b', 'x:99999999', '/'].map((name) => `host: ${name}\r\n`)) {
      const answer = await server.send(
        `POST /console/api/sign-in/challenge HTTP/1.1\r\n${host}connection: close\r\ncontent-length: 0\r\n\r\n`,
      );
      assert.match(answer, /^HTTP\/1\.1 400 .*ERR_INVALID_REQUEST","message":"headers\.host/s, host);
    }
  });

  it('that is sent twice is rejected, because a proxy may take the other one', async () => {
    const answer = await server.send(
      'GET /openapi.json HTTP/1.1\r\nhost: one.example\r\nhost: two.example\r\nconnection: close\r\n\r\n',
    );
    assert.match(answer, /^HTTP\/1\.1 400 .*"message":"headers\.host was sent 2 times; send it once\."/s);
  });
});
