import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { executeSigned, openBatch, readBatch, waitForBatch } from '@flywheel/testing/batches';
import { tokenSupply } from '@flywheel/testing/chain';
import { burnPipeline } from '@flywheel/testing/client';
import { makeDue } from '@flywheel/testing/jobs';
import { quietLog } from '@flywheel/testing/postgres';
import { createProject, requireOk, type TestProject } from '@flywheel/testing/project';
import { openWorld, type World } from '@flywheel/testing/world';
import { type Address, address, getAddressEncoder, type TransactionPartialSigner } from '@solana/kit';
import type { Role } from '../../src/app.ts';
import { createNonceQueue } from '../../src/batches/nonce-queue.ts';
import { systemClock } from '../../src/clock.ts';
import { parseConfig } from '../../src/config.ts';
import { createChain } from '../../src/solana/chain.ts';
import { loadSigner } from '../../src/solana/signer.ts';
import { startJobs } from '../../src/store/jobs/jobs.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { startWorker } from '../../src/worker.ts';

const HTTP_ONLY: ReadonlySet<Role> = new Set(['http']);

describe('a signer that rejects', () => {
  let world: World;
  let stop: () => Promise<void>;
  /** Multisigs whose transactions the signer rejects. */
  const refused = new Set<string>();
  before(async () => {
    world = await openWorld({ LOG_LEVEL: 'fatal' }, { roles: HTTP_ONLY });
    stop = await startSelectiveWorker();
  });
  after(async () => {
    await stop();
    await world.stop();
  });

  it('pauses the batch with an error, other batches continue, and so does this one when the signer signs again', async () => {
    const [project, other] = [await createProject(world), await createProject(world)];
    const supply = await tokenSupply(world, project.mint);
    refused.add(project.multisig);
    const batch = await openBatch(world, project, [burnPipeline(2)]);
    const asked = await executeSigned(world, project, batch, { prefer: 'wait=0' });
    assert.equal(asked.status, 202, JSON.stringify(asked.body));
    const paused = await waitForBatch(world, project, batch.id, ({ executionError }) => executionError !== undefined);
    assert.deepEqual([paused.status, paused.executionError?.code], ['FINALIZED', 'ERR_BATCH_EXECUTE_FAILED']);
    await assertContinues(other);
    assert.equal(await tokenSupply(world, project.mint), supply);

    refused.clear();
    await makeDue(world, 'execute', batch.id);
    const { status } = requireOk(await executeSigned(world, project, batch, { prefer: 'wait=60' }));
    assert.equal(status, 'EXECUTED');
    assert.equal('executionError' in (await readBatch(world, project, batch.id)), false);
    assert.equal(await tokenSupply(world, project.mint), supply - 2_000_000n);
  });

  /** Starts a worker whose company signer inspects what it signs. */
  async function startSelectiveWorker(): Promise<() => Promise<void>> {
    const { OPERATOR_SIGNER = '', COMPANY_SIGNER = '', SOLANA_RPC_URL: rpcUrl = '' } = world.environment;
    const [clock, log] = [systemClock, quietLog];
    const metrics = createMetrics();
    const poolConfig = { connectionString: world.databaseUrl };
    const jobs = await startJobs({ poolConfig, log, metrics });
    const { fairUse, caps, maxTipLamports, maxComputeUnitPrice } = parseConfig({});
    const prices = { maxTipLamports, maxComputeUnitPrice };
    const chain = createChain({ rpcUrls: [rpcUrl], clock, log });
    const deps = {
      db: world.db,
      jobs,
      nonceQueue: createNonceQueue({ db: world.db, jobs, clock, log, sessionConfig: poolConfig }),
      chain,
      clock,
      log,
      metrics,
      fairUse,
      caps,
      prices,
      batchExpirySeconds: 3_600,
      companyOperators: new Set<Address>(),
      registration: 'open' as const,
    };
    const worker = await startWorker(
      { ...deps, jobs },
      {
        signers: {
          operator: await loadSigner(OPERATOR_SIGNER),
          company: choosy(await loadSigner(COMPANY_SIGNER)),
          previousOperator: null,
          previousCompany: null,
        },
        rotationGraceSeconds: 600,
        retention: { eventDays: 400, deliveryDays: 30, archiveDays: null },
        maxBatches: 4,
        noncePool: { size: 5, max: 50, perAdmitted: 0 },
        sending: { ...prices, blockEngineUrl: world.localnet.blockEngineUrl },
      },
    );
    return () => worker.stop();
  }

  function choosy(signer: TransactionPartialSigner<Address>): TransactionPartialSigner<Address> {
    return {
      ...signer,
      signTransactions: async (transactions, config) => {
        for (const { messageBytes } of transactions) {
          for (const multisig of refused) {
            const bytes = Buffer.from(getAddressEncoder().encode(address(multisig)));
            if (Buffer.from(messageBytes).includes(bytes)) throw new Error(`I do not sign for ${multisig}.`);
          }
        }
        return signer.signTransactions(transactions, config);
      },
    };
  }

  async function assertContinues(project: TestProject): Promise<void> {
    const batch = await openBatch(world, project, [burnPipeline()]);
    const { status } = requireOk(await executeSigned(world, project, batch, { prefer: 'wait=60' }));
    assert.equal(status, 'EXECUTED');
  }
});
