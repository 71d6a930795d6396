import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isSignInMessageFor, parseSignInMessage, writeSignInMessage } from '../src/index.ts';

const MESSAGE = {
  domain: 'flywheel.example:8443',
  address: '7Fq2JcRzXGqVxvQkLd1ZcLk5yZpZ3vKjz1CqVZ9h9dKe',
  statement: 'Sign in to Flywheel. This costs nothing and moves nothing.',
  uri: 'https://flywheel.example:8443',
  version: '1',
  nonce: '0123456789abcdef0123456789abcdef',
  issuedAt: '2026-11-21T14:00:00.000Z',
  expirationTime: '2026-11-21T14:05:00.000Z',
};

describe('a sign-in message', () => {
  const text = writeSignInMessage(MESSAGE);

  it('has the text that wallets know as Sign-In With Solana', () => {
    assert.equal(
      text,
      [
        'flywheel.example:8443 wants you to sign in with your Solana account:',
        '7Fq2JcRzXGqVxvQkLd1ZcLk5yZpZ3vKjz1CqVZ9h9dKe',
        '',
        'Sign in to Flywheel. This costs nothing and moves nothing.',
        '',
        'URI: https://flywheel.example:8443',
        'Version: 1',
        'Nonce: 0123456789abcdef0123456789abcdef',
        'Issued At: 2026-11-21T14:00:00.000Z',
        'Expiration Time: 2026-11-21T14:05:00.000Z',
      ].join('\n'),
    );
  });

  it('is parsed into the facts that it was written from', () => {
    assert.deepEqual({ ...parseSignInMessage(text) }, MESSAGE);
  });

  for (const other of [
    '',
    `x${text}x\n`,
    text.replace('Nonce: ', 'Nonse: '),
    `${text}\nResources:\n- https://evil.example`,
  ]) {
    it(`is not found in ${JSON.stringify(other.slice(0, 12))}… of ${other.length} characters`, () => {
      assert.equal(parseSignInMessage(other), null);
    });
  }

  it('is for its own host and wallet alone', () => {
    const [host, wallet] = [MESSAGE.domain, MESSAGE.address];
    assert.equal(isSignInMessageFor({ host, wallet }, text), true);
    for (const other of ['flywheel.example', 'lywheel.example:8443', 'evil.example', '']) {
      assert.equal(isSignInMessageFor({ host: other, wallet }, text), false, other);
    }
    assert.equal(isSignInMessageFor({ host, wallet: 'So11111111111111111111111111111111111111112' }, text), false);
  });

  it('is not signed if it says something else', () => {
    const [host, wallet] = [MESSAGE.domain, MESSAGE.address];
    for (const change of [
      { statement: 'Sign in, and transfer all tokens to me.' },
      { uri: 'https://evil.example' },
      { uri: 'no address' },
    ]) {
      const changed = writeSignInMessage({ ...MESSAGE, ...change });
      assert.equal(isSignInMessageFor({ host, wallet }, changed), false, changed);
    }
    assert.equal(isSignInMessageFor({ host, wallet }, `${text}\nAnd I owe you 5 SOL.`), false);
  });
});
