import { randomUUID } from 'node:crypto';
import type { Pipeline } from '@flywheel/api';
import { type CompanyPolicy, NO_POLICY } from '@flywheel/protocol';
import { type InitDeps, initBatch } from '@flywheel/service/internal/batches/init.ts';
import { createNonceQueue } from '@flywheel/service/internal/batches/nonce-queue.ts';
import { systemClock } from '@flywheel/service/internal/clock.ts';
import { compilePipelines } from '@flywheel/service/internal/compile/compile-pipeline.ts';
import { parseConfig } from '@flywheel/service/internal/config.ts';
import { createLog } from '@flywheel/service/internal/log.ts';
import type { Project } from '@flywheel/service/internal/model/project.ts';
import { createSchemaPool } from '@flywheel/service/internal/payload-schemas/pool.ts';
import { createChain } from '@flywheel/service/internal/solana/chain.ts';
import { insertPolicy } from '@flywheel/service/internal/store/company/policies.ts';
import { startJobs } from '@flywheel/service/internal/store/jobs/jobs.ts';
import { findProject } from '@flywheel/service/internal/store/projects/projects.ts';
import { createMetrics } from '@flywheel/service/internal/telemetry/metrics.ts';
import { init } from '@flywheel/testing/client';
import { createProject, requireOk } from '@flywheel/testing/project';
import type { World } from '@flywheel/testing/world';
import { generateKeyPairSigner } from '@solana/kit';
import { openBenchWorld, UNBOUNDED } from './bench-world.ts';
import { type Figures, ms, percent, percentile, timeMs } from './figures.ts';

const SAMPLES = 200;
const WARM_UP = 20;
const PIPELINES = 10;

/** Measures POST /init of ten pipelines, in total and by parts. */
export async function benchInit(): Promise<Figures> {
  const world = await openBenchWorld();
  try {
    return await measure(world);
  } finally {
    await world.stop();
  }
}

async function measure(world: World): Promise<Figures> {
  const { apiKey, projectId } = await createProject(world);
  const project = await findExisting(world, projectId);
  const poolConfig = { connectionString: world.databaseUrl };
  const jobs = await startJobs({
    poolConfig,
    log: createLog('error'),
    metrics: createMetrics(),
  });
  const { fairUse, caps, maxTipLamports, maxComputeUnitPrice } = parseConfig(UNBOUNDED);
  const schemas = createSchemaPool({ log: createLog('error'), clock: systemClock });
  const deps: InitDeps = {
    schemas,
    db: world.db,
    jobs,
    nonceQueue: createNonceQueue({
      db: world.db,
      jobs,
      clock: systemClock,
      log: createLog('error'),
      sessionConfig: poolConfig,
    }),
    chain: createChain({ rpcUrls: [world.localnet.url], clock: systemClock }),
    clock: systemClock,
    log: createLog('error'),
    metrics: createMetrics(),
    batchExpirySeconds: 86_400,
    companyOperators: new Set(),
    registration: 'open',
    fairUse,
    caps,
    prices: { maxTipLamports, maxComputeUnitPrice },
  };
  const ruled = await createRuled(world);
  const [http, useCase, compile, byRules]: [number[], number[], number[], number[]] = [[], [], [], []];
  // In turn, so that a slow moment of the machine affects all of them.
  for (let i = 0; i < SAMPLES + WARM_UP; i++) {
    const [one, other, third, fourth] = await Promise.all(Array.from({ length: 4 }, () => makePipelines()));
    if (!one || !other || !third || !fourth) throw new Error('Four requests were made.');
    http.push(await timeMs(async () => requireOk(await init(world.url, apiKey, one))));
    useCase.push(await timeMs(() => initInProcess(deps, project, other)));
    compile.push(await timeMs(() => compilePipelines(third, project)));
    byRules.push(await timeMs(() => initInProcess(deps, ruled, fourth)));
  }
  schemas.close();
  await jobs.stop();
  const [whole = [], ...parts] = [http, useCase, compile, byRules].map((sample) => sample.slice(WARM_UP));
  const [p50, useCaseP50, compileP50, byRulesP50] = [whole, ...parts].map((sample) => percentile(sample, 0.5));
  if (p50 === undefined || useCaseP50 === undefined || compileP50 === undefined || byRulesP50 === undefined) {
    throw new Error('Four samples were taken.');
  }
  return {
    title: `init of ${PIPELINES} pipelines, one client, ${SAMPLES} requests`,
    note: 'Each pipeline burns and airdrops to a new wallet; setup on chain runs behind on the same two cores. Rules: a cap for recipients, a type and new token accounts, and 100 denied recipients.',
    rows: [
      ['p50', ms(p50)],
      ['p99', ms(percentile(whole, 0.99))],
      ['of p50: compile', `${ms(compileP50)}  ${percent(compileP50, p50)}`],
      ['of p50: database', `${ms(useCaseP50 - compileP50)}  ${percent(useCaseP50 - compileP50, p50)}`],
      ['of p50: HTTP, key, rate limit', `${ms(p50 - useCaseP50)}  ${percent(p50 - useCaseP50, p50)}`],
      ['more with rules of the company', `${ms(byRulesP50 - useCaseP50)}  ${percent(byRulesP50 - useCaseP50, p50)}`],
    ],
  };
}

async function createRuled(world: World): Promise<Project> {
  const { projectId } = await createProject(world);
  await addRules(world, projectId);
  return findExisting(world, projectId);
}

/** Gives a project caps for recipients, a type and new token accounts, and a list of denied recipients. */
export async function addRules({ db }: Pick<World, 'db'>, projectId: string): Promise<void> {
  const { token, flywheel, wallet } = await findExisting({ db }, projectId);
  const policy: CompanyPolicy = {
    ...NO_POLICY,
    personPerBatch: 10n ** 12n,
    capPerRecipient: 10n ** 12n,
    capsPerType: [{ type: 'PRODUCT_PURCHASE', baseUnits: 10n ** 15n }],
    newTokenAccounts: 1_000_000,
    denied: await Promise.all(Array.from({ length: 100 }, async () => (await generateKeyPairSigner()).address)),
  };
  const by = { mint: token.mint, operator: wallet, appliedAt: new Date() };
  await insertPolicy(db, flywheel.multisig.address, { version: 1, policy, ...by });
}

async function findExisting({ db }: Pick<World, 'db'>, projectId: string): Promise<Project> {
  const project = await findProject(db, projectId);
  if (project === null || typeof project === 'string') throw new Error('The project is gone.');
  return project;
}

function initInProcess(deps: InitDeps, project: Project, pipelines: readonly Pipeline[]): Promise<unknown> {
  return initBatch(deps, {
    project,
    scopes: project.scopes,
    keyId: null,
    idempotencyKey: randomUUID(),
    body: { pipelines },
  });
}

export function makePipelines(count = PIPELINES): Promise<Pipeline[]> {
  return Promise.all(
    Array.from({ length: count }, async () => ({
      type: 'PRODUCT_PURCHASE',
      payload: JSON.stringify({ orderId: randomUUID() }),
      actions: [
        { action: 'BURN' as const, amount: 0.5 },
        { action: 'AIRDROP' as const, toAddress: (await generateKeyPairSigner()).address, amount: 0.25 },
      ],
    })),
  );
}
