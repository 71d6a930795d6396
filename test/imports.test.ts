import assert from 'node:assert/strict';
import { glob, readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { checkImports, type Rules } from './check-imports.ts';

/**
 * Who may import whom (docs/architecture.md). A file belongs to the longest place that its path begins with. Inside its
 * own place it imports what it likes, of the other places those on its row.
 */
const RULES: Rules = {
  mayImport: {
    'packages/api/src': [],

    'packages/localnet/src': ['packages/squads/src'],
    'packages/protocol/src': [],
    'packages/solana-rpc/src': [],
    'packages/squads/src': [],
    'packages/testing/src': ['apps/service/src', 'packages'],
    'packages/sdk/src': ['packages/api/src', 'packages/squads/src', 'packages/protocol/src', 'packages/solana-rpc/src'],
    'apps/console/src': ['packages/sdk/src', 'packages/api/src'],
    'apps/cli/bin': ['apps/cli/src'],
    'apps/cli/src': [
      'packages/sdk/src',
      'packages/api/src',
      'apps/service/src/index.ts',
      'packages/localnet/src',
      'apps/cli/package.json',
    ],

    'apps/service/src/index.ts': service(
      'main.ts',
      'operate.ts',
      'examine.ts',
      'app.ts',
      'config.ts',
      'database.ts',
      'log.ts',
    ),
    'apps/service/src/main.ts': service('app.ts', 'config.ts', 'database.ts', 'log.ts'),
    // The files beside the folders: the composition root and what it is made of.
    'apps/service/src': [
      ...service('worker.ts', 'http', 'webhooks', 'batches', 'projects', 'solana', 'store', 'model', 'telemetry'),
      ...['packages/api/src', 'packages/localnet/src'],
    ],
    'apps/service/src/worker.ts': service('signers.ts', 'batches', 'solana', 'store', 'model'),
    'apps/service/src/http': [
      ...service('webhooks', 'company', 'treasury', 'batches', 'projects', 'proofs', 'compile', 'model', 'telemetry'),
      'packages/api/src',
    ],
    'apps/service/src/treasury': [
      ...service('batches', 'projects', 'compile', 'squads', 'solana', 'store', 'model'),
      'packages/api/src',
      'packages/squads/src',
    ],
    'apps/service/src/webhooks': [...service('projects', 'store', 'model', 'telemetry'), 'packages/api/src'],
    'apps/service/src/company': [
      ...service('batches', 'projects', 'squads', 'solana', 'store', 'model'),
      'packages/api/src',
      'packages/squads/src',
    ],
    'apps/service/src/batches': [
      ...service('compile', 'squads', 'solana', 'store', 'model', 'telemetry'),
      'packages/api/src',
      'packages/squads/src',
    ],
    'apps/service/src/projects': [
      ...service('compile', 'squads', 'solana', 'store', 'model'),
      'packages/api/src',
      'packages/squads/src',
    ],
    'apps/service/src/proofs': [
      ...service('squads', 'solana', 'store', 'model'),
      'packages/api/src',
      'packages/squads/src',
    ],
    'apps/service/src/compile': [...service('squads', 'model'), 'packages/api/src', 'packages/squads/src'],
    'apps/service/src/squads': [...service('model'), 'packages/api/src', 'packages/squads/src'],
    'apps/service/src/solana': [...service('model'), 'packages/api/src', 'packages/squads/src'],
    'apps/service/src/store': [...service('model', 'telemetry'), 'apps/service/migrations', 'packages/api/src'],
    'apps/service/src/model': ['packages/api/src', 'packages/squads/src'],
    'apps/service/src/telemetry': [],
    'apps/service/migrations': [],
  },

  /** A package that is named in these places alone. */
  onlyIn: {
    fastify: ['apps/service/src/http'],
    kysely: ['apps/service/src/store', 'apps/service/migrations'],
    pg: ['apps/service/src/store', 'apps/service/src/database.ts'],
    'pg-boss': ['apps/service/src/store'],
    'rate-limiter-flexible': ['apps/service/src/store'],
    litesvm: ['packages/localnet/src'],
    commander: ['apps/cli/src'],
    'prom-client': ['apps/service/src/telemetry'],
    '@opentelemetry/api': ['apps/service/src/telemetry'],
  },

  /** What these places may name of other packages: nothing else, so no clock, network, file or database. */
  onlyPackages: {
    'packages/api/src': ['zod'],
    'packages/squads/src': ['@solana/kit', '@solana-program/*'],
    'apps/service/src/model': ['@solana/kit', 'node:crypto'],
    'apps/service/src/squads': ['@solana/kit', '@solana-program/*', 'node:crypto'],
    // A payload's JSON Schema is another's text: ajv checks it, node:vm bounds the time that its patterns take.
    'apps/service/src/compile': ['@solana/kit', '@solana-program/*', 'node:crypto', 'zod', 'ajv', 'node:vm'],
    'apps/service/migrations': ['kysely'],
  },

  /** Words that stand in these places alone, comments aside. */
  words: [
    {
      pattern: /\bprocess\.env\b|\benv\b[^;]*from 'node:process'/,
      what: 'process.env',
      onlyIn: ['apps/service/src/main.ts', 'apps/cli/src', 'apps/cli/bin', 'packages/localnet/src/programs.ts'],
    },
    {
      pattern: /import[^;]*\b(create\w*Rpc|sendAndConfirm\w+Factory)\w*\b[^;]*from '@solana\/kit'/,
      what: 'an RPC function of @solana/kit',
      onlyIn: ['apps/service/src/solana', 'apps/cli/src', 'apps/console/src/lib/vault-movements.ts'],
    },
    {
      pattern: /\bDate\.now\b|\bnew Date\(\)|\bperformance\.|\bset(Timeout|Interval|Immediate)\b|\bMath\.random\b/,
      what: 'time or chance',
      notIn: [
        'packages/api/src',
        'packages/squads/src',
        'apps/service/src/model',
        'apps/service/src/squads',
        'apps/service/src/compile',
      ],
    },
    {
      pattern: /\bfetch\(|\bprocess\b|\bcrypto\.(getRandomValues|randomUUID)\b|\bgenerateKeyPair\w*/,
      what: 'the outside world',
      notIn: [
        'packages/api/src',
        'packages/squads/src',
        'apps/service/src/model',
        'apps/service/src/squads',
        'apps/service/src/compile',
      ],
    },
  ],
};

function service(...places: readonly string[]): string[] {
  return places.map((place) => `apps/service/src/${place}`);
}

/** A package of ours is its entry: what it exports is what others may use. */
const ENTRIES = {
  '@flywheel/api': 'packages/api/src/index.ts',
  '@flywheel/localnet': 'packages/localnet/src/index.ts',
  '@flywheel/sdk': 'packages/sdk/src/index.ts',
  '@flywheel/squads': 'packages/squads/src/index.ts',
  '@flywheel/service': 'apps/service/src/index.ts',
};

const ROOT = fileURLToPath(new URL('../', import.meta.url));

describe('who may import whom', () => {
  it('holds for every source file', async () => {
    const files = new Map<string, string>();
    for await (const path of glob(['{packages,apps}/*/{src,bin}/**/*.{ts,tsx,js}', 'apps/service/migrations/*.ts'], {
      cwd: ROOT,
    })) {
      if (!/^(node_modules|packages\/testing)/.test(path)) files.set(path, await readFile(`${ROOT}${path}`, 'utf8'));
    }
    assert.ok(files.size > 100, `only ${files.size} files were found`);
    assert.deepEqual(checkImports(files, RULES, ENTRIES), []);
  });

  const OFFENCES: readonly { readonly path: string; readonly source: string; readonly expected: RegExp }[] = [
    {
      path: 'packages/api/src/schemas.ts',
      source: "import { sign } from '@flywheel/sdk';",
      expected: /^packages\/api\/src\/schemas\.ts:1 .*sdk\/src\/index\.ts/,
    },
    {
      path: 'packages/localnet/src/bank.ts',
      source: "\nimport {\n  type Batch,\n} from '@flywheel/api';",
      expected: /^packages\/localnet\/src\/bank\.ts:2 /,
    },
    {
      path: 'apps/service/src/compile/size.ts',
      source: "import { openDb } from '../store/db.ts';",
      expected: /:1 .*service\/src\/store\/db\.ts.*service\/src\/compile may import/,
    },
    {
      path: 'apps/service/src/store/db.ts',
      source: "export { createChain } from '../solana/chain.ts';",
      expected: /:1 .*service\/src\/solana/,
    },
    {
      path: 'apps/service/src/batches/init.ts',
      source: "const { createServer } = await import('../http/server.ts');",
      expected: /service\/src\/http/,
    },
    {
      path: 'apps/service/src/http/server.ts',
      source: "import { findBatch } from '../store/batches/batches.ts';",
      expected: /service\/src\/store/,
    },
    {
      path: 'apps/service/src/http/server.ts',
      source: "import { signTransaction } from '../squads/approval.ts';",
      expected: /service\/src\/squads/,
    },
    {
      path: 'apps/service/src/batches/init.ts',
      source: "import { sql } from 'kysely/helpers/postgres';",
      expected: /kysely.*service\/src\/store/,
    },
    {
      path: 'apps/service/src/batches/init.ts',
      source: "import type { FastifyRequest } from 'fastify';",
      expected: /fastify/,
    },
    {
      path: 'packages/squads/src/packing.ts',
      source: "import { readFileSync } from 'node:fs';",
      expected: /node:fs/,
    },
    { path: 'packages/api/src/schemas.ts', source: "import 'ajv';", expected: /ajv/ },
    { path: 'apps/service/src/model/batch.ts', source: 'const now = new Date();', expected: /:1 .*time or chance/ },
    { path: 'apps/service/src/compile/size.ts', source: "await fetch('http://x');", expected: /outside world/ },
    { path: 'apps/service/src/app.ts', source: 'const { HOST } = process.env;', expected: /process\.env/ },
    { path: 'apps/service/src/app.ts', source: "import { env } from 'node:process';", expected: /process\.env/ },
    {
      path: 'apps/service/src/batches/run.ts',
      source: "import { createSolanaRpc } from '@solana/kit';",
      expected: /RPC function/,
    },
    { path: 'apps/service/src/app.ts', source: 'await import(name);', expected: /:1 .*literal/ },
    { path: 'apps/service/src/billing/invoice.ts', source: '', expected: /no rule/ },
    { path: 'apps/console/src/app/shell.tsx', source: "import '@flywheel/localnet';", expected: /localnet\/src/ },
    {
      path: 'apps/cli/src/main.ts',
      source: "import { x } from '../../service/src/store/db.ts';",
      expected: /service\/src/,
    },
  ];
  for (const { path, source, expected } of OFFENCES) {
    it(`is broken by ${JSON.stringify(source)} in ${path}`, () => {
      const faults = checkImports(new Map([[path, source]]), RULES, ENTRIES);
      assert.equal(faults.length, 1, faults.join('\n'));
      assert.match(faults[0] ?? '', expected);
    });
  }

  it('takes comments for comments', () => {
    const source =
      '/** Never new Date(): the time is passed in. */\n// process.env and fetch( neither\nexport const a = 1; // fetch(\n';
    assert.deepEqual(checkImports(new Map([['apps/service/src/model/amount.ts', source]]), RULES, ENTRIES), []);
  });
});
