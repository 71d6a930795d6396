import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { MEMO_PROGRAM_ADDRESS } from '@flywheel/protocol';
import type { Address } from '@solana/kit';
import vectors from '../../../vectors/proofs.json' with { type: 'json' };
import {
  BATCH_ADD_TRANSACTION_DISCRIMINATOR,
  BATCH_CREATE_DISCRIMINATOR,
  BATCH_EXECUTE_TRANSACTION_DISCRIMINATOR,
  batchTransactionAddress,
  CONFIG_TRANSACTION_CREATE_DISCRIMINATOR,
  CONFIG_TRANSACTION_EXECUTE_DISCRIMINATOR,
  multisigAddress,
  PROPOSAL_APPROVE_DISCRIMINATOR,
  proposalAddress,
  SQUADS_PROGRAM_ADDRESS,
  transactionAddress,
  vaultAddress,
} from '../src/index.ts';

const DISCRIMINATORS = {
  batch_create: BATCH_CREATE_DISCRIMINATOR,
  batch_add_transaction: BATCH_ADD_TRANSACTION_DISCRIMINATOR,
  proposal_approve: PROPOSAL_APPROVE_DISCRIMINATOR,
  batch_execute_transaction: BATCH_EXECUTE_TRANSACTION_DISCRIMINATOR,
  config_transaction_create: CONFIG_TRANSACTION_CREATE_DISCRIMINATOR,
  config_transaction_execute: CONFIG_TRANSACTION_EXECUTE_DISCRIMINATOR,
};

test('docs/proof-format.md names the programs and discriminators of the code', async () => {
  const page = await readFile(new URL('../../../docs/proof-format.md', import.meta.url), 'utf8');
  const rows = Array.from(page.matchAll(/^\| `(\w+)` \| `([0-9a-f]{16})` \|/gm), ([, name = '', hex = '']) => [
    name,
    hex,
  ]);
  const expected = Object.entries(DISCRIMINATORS).map(([name, bytes]) => [name, Buffer.from(bytes).toString('hex')]);
  assert.deepEqual(rows, expected);
  for (const program of [SQUADS_PROGRAM_ADDRESS, MEMO_PROGRAM_ADDRESS]) assert.ok(page.includes(`\`${program}\``));
});

test('the derivations of vectors/proofs.json are those of the code', () => {
  assert.ok(vectors.derivations.length > 0);
  for (const derivation of vectors.derivations) {
    const { createKey, multisig, vault, index, position, transaction, proposal, batchTransaction } = derivation;
    const owner = multisig as Address; // equal to what is derived
    assert.equal(multisigAddress(createKey as Address), owner); // checked by what is derived from it
    assert.equal(vaultAddress(owner, 0), vault);
    assert.equal(transactionAddress(owner, BigInt(index)), transaction);
    assert.equal(proposalAddress(owner, BigInt(index)), proposal);
    assert.equal(batchTransactionAddress(owner, BigInt(index), position - 1), batchTransaction);
  }
});
