import { benchExecution } from './execution.ts';
import { printFigures } from './figures.ts';
import { benchInit } from './init.ts';
import { benchLocalnet } from './localnet.ts';

// These machines are noisy: read ratios, not single figures. Each benchmark runs beside what it is measured against.
for (const bench of [benchInit, benchExecution, benchLocalnet]) printFigures(await bench());
