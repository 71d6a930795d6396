import { parseArgs } from 'node:util';
import { isClusterShared } from '@flywheel/testing/cluster';
import { benchBesideFastify } from './beside-fastify.ts';
import { benchCosts } from './capacity/costs.ts';
import { benchFleets, predictFleets } from './capacity/fleets.ts';
import { benchCapacity } from './capacity/simulate.ts';
import { benchConsole } from './console.ts';
import { benchExecution } from './execution.ts';
import { printFigures } from './figures.ts';
import { benchInit } from './init.ts';
import { benchLargeInit } from './large-init.ts';
import { benchLocalnet } from './localnet.ts';
import { benchNeighbours } from './neighbours.ts';
import { benchNonces } from './nonces.ts';
import { describeMachine, record } from './results.ts';
import { benchSchemas } from './schemas.ts';
import { benchVersus } from './versus/versus.ts';
import { benchYear } from './year/year.ts';

const BENCHES = {
  init: benchInit,
  'beside-fastify': benchBesideFastify,
  'large-init': benchLargeInit,
  execution: benchExecution,
  schemas: benchSchemas,
  localnet: benchLocalnet,
  neighbours: benchNeighbours,
  nonces: benchNonces,
  versus: benchVersus,
  console: benchConsole,
  year: benchYear,
  costs: benchCosts,
  capacity: benchCapacity,
  predictions: predictFleets,
  fleets: benchFleets,
};
type Name = keyof typeof BENCHES;

// Machines are noisy: compare ratios, not single figures. Each benchmark runs beside its reference.
const { values, positionals: asked } = parseArgs({ options: { record: { type: 'boolean' } }, allowPositionals: true });
const isPart = (name: string): name is Name => name in BENCHES;
const unknown = asked.find((name) => !isPart(name));
if (unknown !== undefined) throw new Error(`${unknown} is no benchmark: ${Object.keys(BENCHES).join(', ')}.`);
for (const name of (asked.length === 0 ? Object.keys(BENCHES) : asked).filter(isPart)) {
  process.stderr.write(`Measuring ${name}, which takes minutes …\n`);
  const machine = describeMachine();
  const figures = await BENCHES[name]();
  printFigures(figures);
  // Another cluster has other slots: its figures stand beside those of the local one.
  if (values.record) await record(isClusterShared ? `${name}-rpc` : name, machine, figures);
}
