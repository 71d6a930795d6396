import { benchBesideFastify } from './beside-fastify.ts';
import { benchConsole } from './console.ts';
import { benchExecution } from './execution.ts';
import { printFigures } from './figures.ts';
import { benchInit } from './init.ts';
import { benchLargeInit } from './large-init.ts';
import { benchLocalnet } from './localnet.ts';
import { benchNeighbours } from './neighbours.ts';
import { benchNonces } from './nonces.ts';
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
};
type Name = keyof typeof BENCHES;

// Machines are noisy: compare ratios, not single figures. Each benchmark runs beside its reference.
const asked = process.argv.slice(2);
const unknown = asked.find((name) => !(name in BENCHES));
if (unknown !== undefined) throw new Error(`${unknown} is no benchmark: ${Object.keys(BENCHES).join(', ')}.`);
for (const name of asked.length === 0 ? Object.keys(BENCHES) : asked) {
  process.stderr.write(`Measuring ${name}, which takes minutes …\n`);
  printFigures(await BENCHES[name as Name]());
}
