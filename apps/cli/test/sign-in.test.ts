import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SIGN_IN_STATEMENT, writeSignInMessage } from '@flywheel/api';
import { isFlywheelError } from '@flywheel/sdk';
import { generateKeyPairSigner } from '@solana/kit';
import { createConsoleClient } from '../src/console-client.ts';

const URL_OF_SERVICE = 'https://flywheel.example:8443';

/** Signs in at a service that presents the challenge of a host; returns the paths that were requested. */
async function signInAt(domain: string): Promise<{ readonly paths: string[]; readonly error: unknown }> {
  const wallet = await generateKeyPairSigner();
  const paths: string[] = [];
  const answer = async (input: string | URL | Request): Promise<Response> => {
    const { pathname } = new URL(input instanceof Request ? input.url : input);
    paths.push(pathname);
    const expiresAt = '2026-11-21T14:05:00.000Z';
    if (!pathname.endsWith('/challenge'))
      return Response.json({ error: 'ERR_SIGN_IN_INVALID', message: 'No.' }, { status: 401 });
    const times = { issuedAt: '2026-11-21T14:00:00.000Z', expirationTime: expiresAt };
    const site = { domain, uri: `https://${domain}`, version: '1', nonce: '00', statement: SIGN_IN_STATEMENT };
    return Response.json({ message: writeSignInMessage({ ...site, ...times, address: wallet.address }), expiresAt });
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
