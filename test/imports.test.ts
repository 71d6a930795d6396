import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { IConfiguration, ICruiseResult } from 'dependency-cruiser';
import { ROOT } from './lanes.ts';

/** A file that breaks one rule: its path, its source, and the name of the rule. */
const OFFENCES = [
  ['packages/api/src/a.ts', "import { sign } from '../../sdk/src/index.ts';", 'from packages/api/src'],
  ['packages/localnet/src/a.ts', "import type { Batch } from '../../api/src/index.ts';", 'from packages/localnet/src'],
  ['packages/sdk/src/a.ts', "import { db } from '../../../apps/service/src/store/db.ts';", 'from packages/sdk/src'],
  ['apps/service/src/compile/a.ts', "import { db } from '../store/db.ts';", 'from apps/service/src/compile'],
  ['apps/service/src/store/a.ts', "export { chain } from '../solana/chain.ts';", 'from apps/service/src/store'],
  ['apps/service/src/batches/a.ts', "await import('../http/server.ts');", 'from apps/service/src/batches'],
  ['apps/service/src/http/a.ts', "import { db } from '../store/db.ts';", 'from apps/service/src/http'],
  ['apps/cli/src/a.ts', "import { db } from '../../service/src/store/db.ts';", 'from apps/cli/src'],
  ['apps/console/src/ui/a.tsx', "import '../app/shell.ts';", 'from apps/console/src/ui'],
  ['apps/service/src/billing/a.ts', "import '../store/db.ts';", 'every-place-has-a-row'],
  ['apps/service/src/batches/b.ts', "import { sql } from 'kysely';", 'only in apps/service/src/store: kysely'],
  ['apps/service/src/batches/c.ts', "import type { A } from 'fastify';", 'only in apps/service/src/http: fastify'],
  ['apps/service/src/model/a.ts', "import { readFileSync } from 'node:fs';", 'packages of apps/service/src/model'],
  ['packages/protocol/src/a.ts', "import 'node:crypto';", 'packages of packages/protocol/src'],
  ['packages/api/src/b.ts', "import 'ajv';", 'packages of packages/api/src'],
  ['packages/sdk/test/a.test.ts', "import '../../../apps/cli/src/main.ts';", 'tests-of-packages-import-no-apps'],
  ['apps/cli/test/a.test.ts', "import '../../service/src/store/db.ts';", 'tests-of-apps-import-no-other-app'],
  ['apps/cli/src/b.ts', "import '../test/run.ts';", 'no-tests-in-sources'],
  ['apps/cli/src/first.ts', "import type { B } from './second.ts';", 'no-circles-of-files'],
  ['apps/cli/src/commands/a.ts', "import type { A } from '../terminal/a.ts';", 'no-circles-of-folders'],
] as const;

/** Files that break no rule: those that the others import, and one of each allowed kind. */
const ALLOWED = [
  ['packages/api/src/index.ts', "import { z } from 'zod';"],
  ['packages/sdk/src/index.ts', "import '../../api/src/index.ts';"],
  ['apps/service/src/store/db.ts', "import type { Kysely } from 'kysely';"],
  ['apps/service/src/solana/chain.ts', "import { rpc } from '@solana/kit';"],
  ['apps/service/src/http/server.ts', "import { init } from '../batches/init.ts';"],
  ['apps/service/src/batches/init.ts', "import { db } from '../store/db.ts';"],
  ['apps/console/src/app/shell.ts', ''],
  ['apps/cli/src/main.ts', "import '../../service/src/index.ts';"],
  ['apps/service/src/index.ts', "import './http/server.ts';"],
  [
    'apps/cli/test/run.ts',
    "import { main } from '../src/main.ts'; await using server = await import('../src/main.ts');",
  ],
  ['apps/cli/src/second.ts', "import type { A } from './first.ts';"],
  ['apps/cli/src/terminal/a.ts', "import type { B } from '../commands/b.ts';"],
  ['apps/cli/src/commands/b.ts', ''],
] as const;

describe('the import rules', () => {
  let directory: string;
  let violations: ICruiseResult['summary']['violations'];

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'flywheel-imports-'));
    await symlink(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
    for (const [path, source] of [...OFFENCES, ...ALLOWED]) {
      await mkdir(join(directory, dirname(path)), { recursive: true });
      await writeFile(join(directory, path), `${source}\n`);
    }
    const { default: configuration } = await import(join(ROOT, '.dependency-cruiser.mjs'));
    await import(join(ROOT, 'test/typescript-6.mjs'));
    const { cruise } = await import('dependency-cruiser');
    const { forbidden, options }: Required<Pick<IConfiguration, 'forbidden' | 'options'>> = configuration;
    const cruised = await cruise(['packages', 'apps'], {
      ...options,
      baseDir: directory,
      validate: true,
      ruleSet: { forbidden },
    });
    assert.ok(typeof cruised.output === 'object');
    violations = cruised.output.summary.violations;
  });
  after(() => rm(directory, { recursive: true }));

  for (const [path, source, rule] of OFFENCES) {
    it(`find ${source} in ${path}`, () => {
      // A circle is reported once, and a circle of folders by their names.
      const found = violations.filter(({ from, to }) => [from, to].some((end) => path.startsWith(end)));
      assert.ok(
        found.some(({ rule: { name } }) => name === rule),
        JSON.stringify(found.map(({ rule: { name } }) => name)),
      );
    });
  }

  it('find nothing in valid files', () => {
    const kept: ReadonlySet<string> = new Set(ALLOWED.map(([path]) => path));
    const found = violations.filter(({ from, rule: { name } }) => kept.has(from) && name !== 'no-circles-of-files');
    assert.deepEqual(found, []);
  });
});
