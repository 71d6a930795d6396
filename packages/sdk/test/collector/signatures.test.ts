import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isFlywheelError } from '@flywheel/sdk';
import { type CollectorStore, createVolatileMemoryStore } from '@flywheel/sdk/collector';
import { waitUntil } from '@flywheel/testing/batches';
import { generateKeyPairSigner } from '@solana/kit';
import { buildApproval, PROPOSAL, vote } from '../approvals.ts';
import { createFakeService } from './fake-service.ts';
import { event, openCollectorWorld } from './open-collector.ts';

describe('a collector whose signed approval was lost', () => {
  it('signs for no other multisig, although the index is the same', async () => {
    const other = { ...PROPOSAL, multisig: 'HXtBm8XZbxaTt41uqaKhwUAa6Z1aPyvJdsZVENiWsetg' };
    const { error, signatures } = await loseApproval({ later: other });
    assert.ok(isFlywheelError(error, 'ERR_CHAIN_MISMATCH'), String(error));
    assert.match(error.message, /the service now asks for index 1 of HXtBm8XZ/);
    assert.equal(signatures, 1);
  });

  it('signs nothing more after another collector has replaced it', async () => {
    const { error, signatures } = await loseApproval({ onLost: (store) => store.claim() });
    assert.ok(isFlywheelError(error, 'ERR_COLLECTOR_REPLACED'), String(error));
    assert.equal(signatures, 1);
  });

  it('keeps its batch whole when the service refuses it because of a limit', async () => {
    const world = await openCollectorWorld();
    const service = world.serve();
    let isLost = false;
    let refusals = 3;
    const lossy: typeof fetch = async (input, init) => {
      const { pathname } = new URL(String(input));
      if (pathname.endsWith('/execute') && !isLost) {
        isLost = true;
        return refusal(503, 'ERR_UNAVAILABLE');
      }
      if (!pathname.endsWith('/init') || !isLost || refusals === 0) return service.fetch(input, init);
      refusals -= 1;
      return refusal(400, 'ERR_FLYWHEEL_DAILY_LIMIT_EXCEEDED');
    };
    const options = { maxItems: 2, maxAgeMs: 600_000 };
    const collector = await world.open({ fetch: lossy }, createVolatileMemoryStore(), options);
    await Promise.all(['a', 'b'].map((id) => collector.collect(event(id, 'ada'))));
    await collector.idle();
    await collector.stop();
    assert.equal(refusals, 0);
    assert.deepEqual(service.inits, [['a', 'b']]);
    assert.deepEqual(service.paid, ['a', 'b']);
  });
});

interface LostApproval {
  /** The proposal that the service names from then on. */
  readonly later?: typeof PROPOSAL;
  readonly onLost?: (store: CollectorStore) => Promise<unknown>;
}

/** Has a collector pay at a service that loses its signed approval. @returns its error, and how often its wallet has signed. */
async function loseApproval({ later = PROPOSAL, onLost = async () => undefined }: LostApproval) {
  const newSigner = () => generateKeyPairSigner();
  const [operator, company, wallet] = await Promise.all([newSigner(), newSigner(), newSigner()]);
  const [approval, laterApproval] = await Promise.all(
    [PROPOSAL, later].map(async (proposal) => {
      const votes = await Promise.all([wallet, company].map(({ address }) => vote(address, proposal)));
      return buildApproval({ operator, wallet, company: company.address, votes });
    }),
  );
  assert.ok(approval && laterApproval);
  const service = createFakeService(approval, () => undefined);
  const store = createVolatileMemoryStore();
  let isLost = false;
  const lossy: typeof fetch = async (input, init) => {
    if (!new URL(String(input)).pathname.endsWith('/execute')) {
      const response = await service.fetch(input, init);
      const { status, headers } = response;
      const body = (await response.json()) as object; // as each answer of the service
      const shown = isLost ? { multisig: later.multisig, proposalApproveTx: laterApproval } : {};
      return Response.json({ ...body, ...shown }, { status, headers });
    }
    const { signedTx } = JSON.parse(String(init?.body));
    if ([approval, laterApproval].includes(signedTx)) return refusal(400, 'ERR_SIGNED_TX_INVALID');
    if (isLost) return refusal(404, 'ERR_BATCH_NOT_FOUND');
    isLost = true;
    await onLost(store);
    return refusal(503, 'ERR_UNAVAILABLE');
  };
  let signatures = 0;
  const counting: typeof wallet = {
    ...wallet,
    signTransactions: (...asked) => {
      signatures += 1;
      return wallet.signTransactions(...asked);
    },
  };
  const world = await openCollectorWorld();
  const collector = await world.open({ fetch: lossy }, store, {
    approval: { wallet: counting, verify: 'trust-service' },
  });
  await collector.collect(event('a', 'ada'));
  const error = await waitUntil(
    'the collector to stop',
    async () => collector.stopped.error,
    (stopped) => stopped !== null,
  );
  await collector.stop();
  return { error, signatures };
}

function refusal(status: number, error: string): Response {
  return Response.json({ error, message: 'Refused.' }, { status });
}
