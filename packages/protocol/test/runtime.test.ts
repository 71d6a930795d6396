import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Signature } from '@solana/kit';
import {
  base64Length,
  bundleIdOf,
  lookupTableBytes,
  MIN_VAULT_LAMPORTS,
  maxRentLamports,
  priorityFeeLamports,
} from '../src/index.ts';

describe('numbers of the runtime', () => {
  it('bundleIdOf is the SHA-256 of the signatures joined by commas', () => {
    // printf 'a,b' | sha256sum
    assert.equal(
      bundleIdOf(['a' as Signature, 'b' as Signature]),
      '1eb7c54d52831bbfe8942af0b1c56b7409523a59ed6ca99c1174fef7eb32c1b5',
    );
  });

  it('maxRentLamports answers the rent of mainnet', () => {
    assert.equal(maxRentLamports(0), 890_880n);
    assert.equal(maxRentLamports(80), 1_447_680n);
    assert.equal(maxRentLamports(165), 2_039_280n);
    assert.equal(MIN_VAULT_LAMPORTS, maxRentLamports(0));
  });

  it('priorityFeeLamports rounds up to a whole lamport', () => {
    assert.equal(priorityFeeLamports(1, 1n), 1n);
    assert.equal(priorityFeeLamports(60_000, 1_000n), 60n);
    assert.equal(priorityFeeLamports(60_001n, 1_000n), 61n);
    assert.equal(priorityFeeLamports(1_400_000, 0n), 0n);
  });

  it('base64Length answers the limits of Agave for transactions and filters', () => {
    assert.deepEqual([1_232, 4_096, 128].map(base64Length), [1_644, 5_464, 172]);
    for (const bytes of [0, 1, 2, 3, 4]) {
      assert.equal(base64Length(bytes), Buffer.alloc(bytes).toString('base64').length);
    }
  });

  it('lookupTableBytes counts the header and each address', () => {
    assert.deepEqual([0, 9].map(lookupTableBytes), [56, 344]);
  });
});
