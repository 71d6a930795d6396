import { parseArgs } from 'node:util';
import { isClusterShared } from '@flywheel/testing/cluster';
import { benchBesideFastify } from './beside-fastify.ts';
import { benchCosts } from './capacity/costs.ts';
import { benchFleets, predictFleets } from './capacity/fleets.ts';
import { benchCapacity } from './capacity/simulate.ts';
import { benchStandby } from './capacity/standby.ts';
import { benchConsole } from './console.ts';
import { benchExecution } from './execution.ts';
import { type Figures, printFigures } from './figures.ts';
import { benchInit } from './init.ts';
import { benchLargeInit } from './large-init.ts';
import { benchLocalnet } from './localnet.ts';
import { benchNeighbours } from './neighbours.ts';
import { benchNonces } from './nonces.ts';
import { benchOpenLoop } from './open-loop/open-loop.ts';
import { describeMachine, record } from './results.ts';
import { benchSchemas } from './schemas.ts';
import { benchStart } from './start.ts';
import { benchEngine } from './versus/engine.ts';
import { benchVersus, benchVersusSlots } from './versus/versus.ts';
import { benchArchive } from './year/archive.ts';
import { benchMove } from './year/move.ts';
import { benchYear } from './year/year.ts';

interface Options {
  /** Duration of each load of the part open-loop. */
  readonly seconds?: number;
}

const BENCHES: ReadonlyMap<string, (options: Options) => Promise<Figures>> = new Map(
  Object.entries({
    init: benchInit,
    'beside-fastify': benchBesideFastify,
    'large-init': benchLargeInit,
    execution: benchExecution,
    schemas: benchSchemas,
    localnet: () => benchLocalnet(),
    neighbours: benchNeighbours,
    nonces: benchNonces,
    versus: benchVersus,
    'versus-slots': benchVersusSlots,
    engine: benchEngine,
    'open-loop': benchOpenLoop,
    start: benchStart,
    console: benchConsole,
    year: benchYear,
    move: benchMove,
    archive: benchArchive,
    costs: benchCosts,
    standby: benchStandby,
    capacity: benchCapacity,
    predictions: predictFleets,
    fleets: benchFleets,
  }),
);

// Machines are noisy: compare ratios, not single figures. Each benchmark runs beside its reference.
const { values, positionals: asked } = parseArgs({
  options: { record: { type: 'boolean' }, seconds: { type: 'string' } },
  allowPositionals: true,
});
const options = values.seconds === undefined ? {} : { seconds: Number(values.seconds) };
const parts = (asked.length === 0 ? [...BENCHES.keys()] : asked).map((name) => {
  const bench = BENCHES.get(name);
  if (bench === undefined) throw new Error(`${name} is no benchmark: ${[...BENCHES.keys()].join(', ')}.`);
  return { name, bench };
});
for (const { name, bench } of parts) {
  process.stderr.write(`Measuring ${name}, which takes minutes …\n`);
  const machine = describeMachine();
  const figures = await bench(options);
  printFigures(figures);
  // Another cluster has other slots: its figures stand beside those of the local one.
  if (values.record) await record(isClusterShared ? `${name}-rpc` : name, machine, figures);
}
