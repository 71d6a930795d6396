import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { peakOf } from '../bench/capacity/simulation/advise.ts';
import { createCells, type Demand } from '../bench/capacity/simulation/demand.ts';
import { type Fleet, MAINNET } from '../bench/capacity/simulation/fleet.ts';
import { createRandom } from '../bench/capacity/simulation/random.ts';
import { type Outcome, runDay, type Scenario } from '../bench/capacity/simulation/run-day.ts';
import { createSimulator, type Process } from '../bench/capacity/simulation/simulator.ts';
import { createStation } from '../bench/capacity/simulation/station.ts';
import { createCosts, formatCosts, OPERATIONS, parseCosts, type UnitCost } from '../bench/capacity/unit-costs.ts';

describe('a simulator', () => {
  it('lets processes happen in the order of time, and equal moments in the order in which they were asked for', () => {
    const simulator = createSimulator();
    const seen: string[] = [];
    const wait = function* (name: string, untilMs: number): Process {
      yield untilMs;
      seen.push(`${name} ${simulator.nowMs}`);
    };
    for (const [name, untilMs] of [
      ['c', 30],
      ['a', 10],
      ['b', 10],
      ['d', 50],
    ] as const) {
      simulator.start(wait(name, untilMs), 0);
    }
    simulator.run(40);
    assert.deepEqual(seen, ['a 10', 'b 10', 'c 30']);
  });

  it('gives the places of a lane to those who have waited longest, and never more than it has', () => {
    const simulator = createSimulator();
    const lane = simulator.openLane(2);
    const seen: string[] = [];
    const take = function* (name: string): Process {
      yield lane;
      seen.push(`${name} at ${simulator.nowMs}`);
      yield simulator.nowMs + 10;
      lane.leave();
    };
    for (const name of ['a', 'b', 'c', 'd', 'e']) simulator.start(take(name), 0);
    simulator.run(1_000);
    assert.deepEqual(seen, ['a at 0', 'b at 0', 'c at 10', 'd at 10', 'e at 20']);
  });
});

describe('a station', () => {
  const MEAN_MS = 1;
  const LENGTH_MS = 300_000;

  /** Simulates a queue, and returns the mean wait before service in ms. */
  function meanWait(utilisation: number, serviceOf: () => number, servers = 1): number {
    const random = createRandom(7);
    const simulator = createSimulator();
    const station = createStation('serve CPU', servers, LENGTH_MS);
    let [waited, count] = [0, 0];
    const serve = function* (workMs: number): Process {
      const arrivedMs = simulator.nowMs;
      yield station.book(arrivedMs, workMs, workMs);
      waited += simulator.nowMs - arrivedMs - workMs;
      count += 1;
    };
    const arrive = function* (): Process {
      while (simulator.nowMs < LENGTH_MS / servers) {
        yield simulator.nowMs + random.exponential(MEAN_MS / utilisation / servers);
        simulator.start(serve(serviceOf()), simulator.nowMs);
      }
    };
    simulator.start(arrive(), 0);
    simulator.run(Number.POSITIVE_INFINITY);
    return waited / count;
  }

  it('with one server makes work wait as the theory of M/M/1 says', () => {
    const random = createRandom(3);
    for (const utilisation of [0.3, 0.7]) {
      const theory = (MEAN_MS * utilisation) / (1 - utilisation);
      const simulated = meanWait(utilisation, () => random.exponential(MEAN_MS));
      assert.ok(Math.abs(simulated / theory - 1) < 0.05, `${simulated} instead of ${theory}`);
    }
  });

  it('with one server and equal work makes it wait half as long, as Pollaczek and Khinchin say', () => {
    const theory = (MEAN_MS * 0.7) / (1 - 0.7) / 2;
    const simulated = meanWait(0.7, () => MEAN_MS);
    assert.ok(Math.abs(simulated / theory - 1) < 0.05, `${simulated} instead of ${theory}`);
  });

  it('with four servers makes work wait no less than Erlang’s formula says, and no more than one fast server', () => {
    const random = createRandom(5);
    const simulated = meanWait(0.7, () => random.exponential(MEAN_MS), 4);
    // Erlang C of four servers at 70 % is 0.4287.
    const [least, most] = [(0.4287 * MEAN_MS) / (4 * 0.3), (0.7 * MEAN_MS) / (4 * 0.3)];
    assert.ok(simulated > 0.95 * least && simulated < 1.05 * most, `${simulated} is not in ${least} to ${most}`);
  });

  it('counts what was demanded, which may be more than it can do', () => {
    const station = createStation('database CPU', 2, 600_000);
    station.offer(0, 300_000);
    station.offer(400_000, 900_000);
    const { mean, peak } = station.utilisation();
    assert.deepEqual([mean, peak], [1, 1.5]);
  });

  it('does less for those whom it serves one by one when others occupy it', () => {
    const station = createStation('database CPU', 1, 600_000);
    station.occupy(0, 150_000);
    assert.equal(station.book(0, 100, 0), 200);
  });
});

describe('a simulated day', () => {
  it('has the same outcome for the same seed, and another one for another', () => {
    const [first, again, other] = [1, 1, 2].map((seed) => runDay(scenario({ seed }), COSTS));
    assert.deepEqual(again, first);
    assert.notDeepEqual(other, first);
  });

  it('loses no batch: all that were created are executed, refused or left', () => {
    const busy = scenario({ fleet: { ...FLEET, enginePerSecond: 0.05 } });
    for (const given of [scenario(), busy, scenario({ fleet: { ...FLEET, caps: { ...CAPS, openBatches: 1 } } })]) {
      const { batches, events } = runDay(given, COSTS);
      assert.ok(events > 0);
      assert.equal(batches.executed + batches.refused + batches.unfinished, batches.created);
    }
    assert.ok(runDay(busy, COSTS).batches.unfinished > 0);
  });

  it('executes the pipelines that were asked for, and returns all rent', () => {
    const { batches, pipelinesExecuted, lockedLamports } = runDay(scenario(), COSTS);
    assert.equal(batches.unfinished + batches.refused, 0);
    assert.ok(lockedLamports.most > 0);
    assert.equal(lockedLamports.now, 0);
    const asked = DEMAND.pipelinesPerDay;
    // The bursts add some per cent.
    assert.ok(pipelinesExecuted > 0.95 * asked && pipelinesExecuted < 1.2 * asked, `${pipelinesExecuted} of ${asked}`);
  });

  it('names what has the least room first', () => {
    const { utilisations } = runDay(scenario({ fleet: { ...FLEET, rpcPerSecond: 0.5 } }), COSTS);
    const [first, ...others] = utilisations;
    assert.equal(first?.name, 'RPC requests');
    assert.ok(others.every(({ peak }) => peak <= (first?.peak ?? 0)));
  });

  it('waits for a standby at each commit, and names one that replays too slowly', () => {
    const beside = (standbys: Fleet['standbys']) => runDay(scenario({ fleet: { ...FLEET, standbys } }), COSTS);
    const standbys = { count: 2, confirmMs: 200, sentBytesPerSecond: 1e6, replayBytesPerSecond: 2 };
    // Four commits of the request and four of the execution: whole slots, so that none is hidden by the wait for a slot.
    const secondsOf = (outcome: Outcome) => outcome.executionSeconds?.p50 ?? assert.fail();
    const later = secondsOf(beside(standbys)) - secondsOf(beside(null));
    assert.ok(Math.abs(later - 8 * 0.2) < 0.01, `${later} s later`);
    assert.equal(beside(standbys).utilisations[0]?.name, "standby's replay");
    assert.ok(beside(null).utilisations.every(({ name }) => name !== 'replication'));
    const sent = (count: number) => peakOf(beside({ ...standbys, count }).utilisations, 'replication');
    assert.ok(Math.abs(sent(3) / sent(1) - 3) < 1e-9, 'each standby gets the whole log');
  });

  it('takes no batch of a project beyond its cap of a day', () => {
    const spentLamportsPerDay = 1_000_000;
    const { batches, spentLamports } = runDay(
      scenario({ fleet: { ...FLEET, caps: { ...CAPS, spentLamportsPerDay } } }),
      COSTS,
    );
    assert.ok(batches.refused > 0);
    assert.ok(spentLamports <= DEMAND.projects * spentLamportsPerDay);
  });

  it('follows few batches of many, which stand for all', () => {
    const cells = createCells({ ...DEMAND, projects: 5_000, followed: 500 });
    const sumOf = (of: (cell: (typeof cells)[number]) => number) => cells.reduce((sum, cell) => sum + of(cell), 0);
    assert.equal(
      sumOf(({ projects }) => projects),
      5_000,
    );
    assert.ok(sumOf(({ batchesPerDay }) => batchesPerDay) < 1_000);
    const pipelines = sumOf(({ projects, pipelines, batchesPerDay }) => projects * pipelines * batchesPerDay);
    assert.ok(Math.abs(pipelines / DEMAND.pipelinesPerDay - 1) < 1e-9);
  });
});

describe('unit costs', () => {
  it('are read from the table that was written', () => {
    assert.deepEqual(parseCosts(formatCosts(ROWS)).rows, ROWS);
    assert.throws(
      () => parseCosts('| operation | pipelines |\n| --- | --- |\n| eat | 1 |'),
      /No row of unit costs: eat/,
    );
    assert.throws(() => parseCosts('# Results'), /no table whose first column is operation/);
  });

  it('lie on a line between the measured numbers of pipelines, and beyond them', () => {
    const at = (pipelines: number) => COSTS.of('setup', pipelines).walBytes;
    assert.deepEqual([at(1), at(10), at(5.5), at(19)], [2_000, 20_000, 11_000, 38_000]);
  });
});

const PER_BATCH = {
  serveCpuMs: 2,
  workCpuMs: 3,
  databaseCpuMs: 2,
  otherCpuMs: 5,
  roundTrips: 10,
  databaseBytes: 9_000,
};

/** A cost of a batch: each amount is of the whole, and WAL, units and lamports grow with the pipelines. */
function batchCost(operation: UnitCost['operation'], pipelines: number): UnitCost {
  const onChain = operation === 'init' || operation === 'execute request' ? 0 : 1;
  return {
    ...{ operation, pipelines, ...PER_BATCH, walBytes: 2_000 * pipelines, rpcCalls: 4, engineRequests: 2 * onChain },
    ...{ bundles: onChain, transactions: onChain, computeUnits: 100_000 * pipelines * onChain },
    ...{ spentLamports: 1_000 * pipelines * onChain, lockedLamports: 4_000_000 * pipelines * onChain, aloneMs: 900 },
  };
}

const LIFE = ['init', 'setup', 'execute request', 'execution', 'closing'] as const;
const ROWS = [
  ...LIFE.flatMap((operation) => [1, 10].map((pipelines) => batchCost(operation, pipelines))),
  ...OPERATIONS.filter((name) => !LIFE.some((one) => one === name)).map((operation) => ({
    ...batchCost('init', 0),
    operation,
    aloneMs: 0,
  })),
];
const COSTS = createCosts(ROWS);

const UNLIMITED = Number.POSITIVE_INFINITY;
const CAPS = {
  openBatches: UNLIMITED,
  openPipelines: UNLIMITED,
  lockedLamports: UNLIMITED,
  spentLamportsPerDay: UNLIMITED,
};
const FLEET: Fleet = {
  ...{ serves: 2, works: 2, databaseCores: 4, walBytesPerSecond: 100e6, standbys: null, rpcPerSecond: 1_000 },
  ...{ enginePerSecond: 100, operators: 1, caps: CAPS, placesPerWork: 1_024, sharedCores: null },
};
const DEMAND: Demand = {
  ...{
    projects: 20,
    pipelinesPerDay: 6_000,
    eventsPerPipeline: 1,
    collectMs: 60_000,
    approvalMs: 1_000,
    followed: 10_000,
  },
};

function scenario(changes: Partial<Scenario> = {}): Scenario {
  return { demand: DEMAND, fleet: FLEET, chain: MAINNET, seed: 1, ...changes };
}
