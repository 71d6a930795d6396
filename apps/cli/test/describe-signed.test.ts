import assert from 'node:assert/strict';
import { it } from 'node:test';
import { describeSigned } from '../src/commands/collect/display.ts';

it('describeSigned() says whose votes end a proposal that Squads could still execute', () => {
  const batch = { batchId: 'b-1', multisig: 'SQDS4ep65T869zMMBKyuUq6aD6EgTu8psMjkvj52pCf', batchIndex: '7' };
  assert.equal(
    describeSigned({ ...batch, state: 'executable', paid: 1, unpaid: 2 }),
    'Batch b-1: 1 of 3 events paid on chain. Squads could still execute the rest until proposal 7 of the multisig SQDS4ep65T869zMMBKyuUq6aD6EgTu8psMjkvj52pCf is over. The wallet alone can reject an active one; an approved one needs the cancel votes of the wallet and of the company: ask the company. Then run this command again.',
  );
  assert.equal(
    describeSigned({ ...batch, state: 'over', paid: 1, unpaid: 2 }),
    'Batch b-1: 1 of 3 events paid on chain. The others are pending again.',
  );
});
