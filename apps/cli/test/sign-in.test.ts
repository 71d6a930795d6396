import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SHARD_HEADER, SIGN_IN_STATEMENT, writeSignInMessage } from '@flywheel/api';
import { isFlywheelError } from '@flywheel/sdk';
import { generateKeyPairSigner } from '@solana/kit';
import { createConsoleClient } from '../src/console-client.ts';

const URL_OF_SERVICE = 'https://flywheel.example:8443';

function presentChallenge(domain: string, wallet: string) {
  const expiresAt = '2026-11-21T14:05:00.000Z';
  const times = { issuedAt: '2026-11-21T14:00:00.000Z', expirationTime: expiresAt };
  const site = { domain, uri: `https://${domain}`, version: '1', nonce: '00', statement: SIGN_IN_STATEMENT };
  return { message: writeSignInMessage({ ...site, ...times, address: wallet }), expiresAt };
}

/** Signs in at a service that presents the challenge of a host; returns the paths that were requested. */
async function signInAt(domain: string): Promise<{ readonly paths: string[]; readonly error: unknown }> {
  const wallet = await generateKeyPairSigner();
  const paths: string[] = [];
  const answer = async (input: string | URL | Request): Promise<Response> => {
    const { pathname } = new URL(input instanceof Request ? input.url : input);
    paths.push(pathname);
    if (!pathname.endsWith('/challenge'))
      return Response.json({ error: 'ERR_SIGN_IN_INVALID', message: 'No.' }, { status: 401 });
    return Response.json(presentChallenge(domain, wallet.address));
  };
  const client = createConsoleClient({ url: URL_OF_SERVICE, fetch: answer });
  const error = await client.signIn(wallet).then(
    () => null,
    (thrown: unknown) => thrown,
  );
  return { paths, error };
}

describe('signing in with a wallet', () => {
  it('signs the challenge of the service’s own host', async () => {
    const { paths, error } = await signInAt('flywheel.example:8443');
    assert.equal(paths.length, 2, 'the challenge, then the signature');
    assert.ok(isFlywheelError(error, 'ERR_SIGN_IN_INVALID'), String(error));
  });

  for (const host of ['victim.example', 'flywheel.example', 'evil.flywheel.example:8443']) {
    it(`does not sign the challenge of ${host}, whose session the service would get`, async () => {
      const { paths, error } = await signInAt(host);
      assert.equal(paths.length, 1, 'only the challenge');
      assert.ok(isFlywheelError(error, 'ERR_SIGNING_REFUSED'), String(error));
    });
  }
});

describe('signing in to every shard', () => {
  for (const { name, first, expected } of [
    { name: 'the one that answers first', first: '1 of 2', expected: ['any', 'any', '2'] },
    {
      name: 'one of which the proxy does not know if it has the wallet',
      first: '0 of 2',
      expected: ['any', '1', '1', '2'],
    },
  ]) {
    it(`asks a shard that is down twice, ${name}, and signs in to the other one`, async () => {
      const wallet = await generateKeyPairSigner();
      const challenges: string[] = [];
      const answer = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
        const named = new Headers(init?.headers).get(SHARD_HEADER) ?? 'any';
        const isChallenge = String(input).endsWith('/challenge');
        if (isChallenge) challenges.push(named);
        if (named !== '2') {
          const headers = { 'retry-after': '0', [SHARD_HEADER]: named === 'any' ? first : `${named} of 2` };
          return Response.json({ error: 'ERR_INTERNAL', message: 'It does not answer.' }, { status: 503, headers });
        }
        const session = { wallet: wallet.address, isCompanyOperator: true, expiresAt: '2026-11-21T14:05:00.000Z' };
        const body = isChallenge ? presentChallenge('flywheel.example:8443', wallet.address) : session;
        return Response.json(body, { headers: { [SHARD_HEADER]: '2 of 2' } });
      };
      const client = createConsoleClient({ url: URL_OF_SERVICE, fetch: answer });
      const failures = await client.signInEverywhere(wallet);
      assert.deepEqual(
        failures.map(({ shard }) => shard),
        [1],
      );
      assert.deepEqual(client.shards, [2]);
      assert.deepEqual(challenges.toSorted(), expected.toSorted());
    });
  }
});
