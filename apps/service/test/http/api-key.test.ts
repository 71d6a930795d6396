import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createApiKey, parseApiKey } from '../../src/projects/api-key.ts';

const entropy = fc.uint8Array({ minLength: 32, maxLength: 32 });

describe('an API key', () => {
  it('has 53 characters, of which the last six are a checksum', () => {
    const { apiKey } = createApiKey(new Uint8Array(32));
    // The CRC-32 of 43 zeros is 0x7849568f, computed by another implementation.
    assert.equal(apiKey, `fwk_${'0'.repeat(43)}2CZclj`);
    assert.match(createApiKey(new Uint8Array(32).fill(255)).apiKey, /^fwk_[0-9A-Za-z]{49}$/);
  });

  it('is recognized by its prefix and hash', () => {
    fc.assert(
      fc.property(entropy, (bytes) => {
        const { apiKey, prefix, hash } = createApiKey(bytes);
        assert.equal(prefix, apiKey.slice(0, 12));
        assert.deepEqual(hash, createHash('sha256').update(apiKey).digest());
        assert.deepEqual(parseApiKey(apiKey), { prefix, hash });
      }),
    );
  });

  it('differs for different random bytes', () => {
    fc.assert(
      fc.property(entropy, entropy, (one, other) => {
        assert.equal(createApiKey(one).apiKey === createApiKey(other).apiKey, Buffer.compare(one, other) === 0);
      }),
    );
  });

  it('is rejected with one character changed, missing or added', () => {
    fc.assert(
      fc.property(entropy, fc.nat({ max: 52 }), fc.constantFrom(...'0aZ_é '), (bytes, position, character) => {
        const { apiKey } = createApiKey(bytes);
        const before = apiKey.slice(0, position);
        const after = apiKey.slice(position + 1);
        if (apiKey[position] !== character) assert.equal(parseApiKey(before + character + after), null);
        assert.equal(parseApiKey(before + after), null);
        assert.equal(parseApiKey(`${apiKey}${character}`), null);
        assert.equal(parseApiKey(`${apiKey}\n`), null);
      }),
    );
  });

  it('needs 32 random bytes', () => {
    assert.throws(() => createApiKey(new Uint8Array(16)), /made of 32 random bytes, not 16/);
  });
});
