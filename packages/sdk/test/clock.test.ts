import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createFlywheelClient, runBatch } from '@flywheel/sdk';
import { generateKeyPairSigner } from '@solana/kit';
import { buildApproval } from './approvals.ts';
import { BATCH, BATCH_ID, initAnswer, PIPELINES } from './batches.ts';
import { startStubService } from './stub-service.ts';

const DAY_MS = 86_400_000;

it('a clock that is set forward by days ends no wait for a batch', async (t) => {
  const [operator, company, wallet] = await Promise.all([1, 2, 3].map(() => generateKeyPairSigner()));
  assert.ok(operator && company && wallet);
  const proposalApproveTx = await buildApproval({ operator, wallet, company: company.address });
  let aheadMs = 0;
  const now = Date.now.bind(Date);
  t.mock.method(Date, 'now', () => now() + aheadMs);
  const counts = { reads: 0, executes: 0 };
  const result = { total: 1, totalSuccessful: 1, totalFailed: 0, successfulExecutions: [] };
  await using service = await startStubService(({ path }) => {
    aheadMs += DAY_MS;
    if (path.endsWith('/init')) return { status: 200, body: initAnswer(proposalApproveTx) };
    if (path.endsWith('/execute')) {
      counts.executes += 1;
      return counts.executes === 1
        ? { status: 202, body: { batchId: BATCH_ID, status: 'FINALIZED' } }
        : { status: 200, body: { batchId: BATCH_ID, status: 'EXECUTED', result } };
    }
    counts.reads += 1;
    const open = counts.reads <= 2 ? 'AVAILABLE_TO_QUEUE' : 'FINALIZED';
    return { status: 200, body: { ...BATCH, status: counts.executes < 2 ? open : 'EXECUTED' } };
  });
  const client = createFlywheelClient({ url: service.url, apiKey: 'fw_key' });
  const batch = await runBatch(client, PIPELINES, { wallet, verify: 'trust-service' });
  assert.deepEqual([batch.status, counts.executes], ['EXECUTED', 2]);
});
