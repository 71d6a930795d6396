import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { auditVault, isFlywheelError } from '@flywheel/sdk';
import { openSyntheticVault } from '@flywheel/testing/synthetic-vault';
import { startStubService } from '../stub-service.ts';

describe('the nodes of an audit', () => {
  it('are not said to lack a transaction while one of them does not answer', async () => {
    await using vault = await openSyntheticVault();
    const deposited = vault.depositTokens(1_000n);
    vault.runBatch([{ proof: { type: 'WATCH_AD', payload: '{"adId":"1"}' }, burned: 3n }]);
    vault.node.forget(deposited);
    let isAway = true;
    await using archive = await startStubService(() =>
      isAway ? { status: 403, body: 'Forbidden' } : { status: 200, body: { jsonrpc: '2.0', id: 1, result: null } },
    );
    const audit = () => auditVault([vault.node.url, archive.url], { vault: vault.vault });
    await assert.rejects(
      audit(),
      (error) => isFlywheelError(error, 'ERR_UNEXPECTED_REPLY') && /403/.test(error.message),
    );
    isAway = false;
    const { gaps } = await audit();
    assert.ok(gaps.some(({ reason }) => reason === `No node has the transaction ${deposited}.`));
  });
});
