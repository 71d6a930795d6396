/**
 * Who may import whom (docs/architecture.md), for dependency-cruiser: `npm run check:imports`. A file belongs to the
 * place that its path begins with; a place imports itself, the places on its row, and packages that no rule keeps from it.
 */
const PURE = ['packages/protocol/src', 'packages/squads/src'];
const RULES = ['packages/api/src', 'packages/protocol/src', 'packages/squads/src', ...service('model')];

/** @type {Readonly<Record<string, readonly string[]>>} */
const MAY_IMPORT = {
  'packages/api/src': [],
  'packages/protocol/src': [],
  'packages/squads/src': ['packages/protocol/src'],
  'packages/solana-rpc/src': [],
  'packages/localnet/src': [...PURE, 'packages/solana-rpc/src'],
  'packages/sdk/src': ['packages/api/src', 'packages/solana-rpc/src', ...PURE],
  'packages/testing/src': ['packages/[^/]+/src', 'apps/service/(src|migrations)'],

  'apps/service/migrations': [],
  'apps/service/src/model': ['packages/api/src', ...PURE],
  'apps/service/src/squads': RULES,
  'apps/service/src/compile': [...RULES, ...service('squads')],
  'apps/service/src/payload-schemas': [...RULES],
  'apps/service/src/telemetry': [],
  // Both call servers of others, and must survive what these answer.
  'apps/service/src/solana': [...RULES, 'packages/solana-rpc/src', ...service('response-to[.]ts')],
  'apps/service/src/store': [...RULES, ...service('telemetry'), 'apps/service/migrations'],
  'apps/service/src/batches': [
    ...RULES,
    ...service('compile', 'payload-schemas', 'squads', 'solana', 'store', 'telemetry'),
  ],
  'apps/service/src/projects': [...RULES, ...service('compile', 'payload-schemas', 'squads', 'solana', 'store')],
  'apps/service/src/proofs': [...RULES, ...service('squads', 'solana', 'store')],
  'apps/service/src/company': [...RULES, ...service('batches', 'projects', 'squads', 'solana', 'store')],
  'apps/service/src/treasury': [...RULES, ...service('batches', 'projects', 'compile', 'squads', 'solana', 'store')],
  'apps/service/src/webhooks': [...RULES, ...service('projects', 'store', 'telemetry', 'response-to[.]ts')],
  // Reaches the database and the chain only through use cases.
  'apps/service/src/http': [
    ...['packages/api/src', 'packages/protocol/src'],
    ...service('batches', 'projects', 'proofs', 'company', 'treasury', 'webhooks', 'compile', 'payload-schemas'),
    ...service('model', 'telemetry'),
  ],
  // The files beside the folders: the composition root and what it is made of.
  'apps/service/src/[^/]+[.]ts': ['packages/(api|localnet|protocol)/src', 'apps/service/src'],

  'apps/cli/bin': ['apps/cli/src'],
  'apps/cli/src': [
    ...['packages/(api|sdk|localnet|protocol|squads|solana-rpc)/src', 'apps/service/src/index[.]ts'],
    'apps/cli/package[.]json',
  ],
  'apps/console/src/main[.]tsx': ['packages/(api|sdk)/src', ...consoleFolders('app', 'lib', 'styles[.]css')],
  'apps/console/src/app': ['packages/(api|sdk|protocol|solana-rpc)/src', ...consoleFolders('features', 'ui', 'lib')],
  'apps/console/src/features': ['packages/(api|sdk|protocol|solana-rpc)/src', ...consoleFolders('ui', 'lib')],
  'apps/console/src/ui': ['packages/(api|sdk|protocol|solana-rpc)/src', ...consoleFolders('lib')],
  'apps/console/src/lib': ['packages/(api|sdk|protocol|solana-rpc)/src'],
};

/** Packages that sources may name in these places alone. Node's modules have no prefix. */
const ONLY_IN = {
  fastify: service('http'),
  kysely: [...service('store'), 'apps/service/migrations', 'packages/testing/src'],
  pg: [...service('store', 'database[.]ts'), 'packages/testing/src'],
  'pg-boss': service('store'),
  'prom-client': service('telemetry'),
  '@opentelemetry/api': service('telemetry'),
  litesvm: ['packages/localnet/src'],
  // A schema is another's text: only the program of a thread compiles and runs it.
  ajv: service('payload-schemas/thread-program[.]ts'),
  commander: ['apps/cli/src'],
  'react(-dom)?': ['apps/console/src'],
};

const KIT = ['@solana/kit', '@solana-program/[^/]+'];

/** All that these places may name of packages and of Node: no clock, network, file or database. */
const ONLY_PACKAGES = {
  'packages/api/src': ['zod'],
  'packages/protocol/src': [...KIT, 'papaparse', '@noble/hashes'],
  'packages/squads/src': KIT,
  'packages/solana-rpc/src': ['@solana/kit'],
  'packages/sdk/src': [...KIT, 'eventsource-parser', 'standardwebhooks'],
  'apps/service/migrations': ['kysely'],
  'apps/service/src/model': ['@solana/kit', 'zod'],
  'apps/service/src/squads': [...KIT, 'crypto'],
  'apps/service/src/compile': [...KIT, 'zod'],
};

const SOURCES = '^(packages|apps)/[^/]+/(src|bin|migrations)/';

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    {
      name: 'no-circles-of-files',
      comment: 'Type-only imports count. Move what both need into the module that owns it.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-circles-of-folders',
      comment: 'A folder is all that lies below it: a circle between a folder and one inside it is none.',
      severity: 'error',
      scope: 'folder',
      from: { path: SOURCES.replace('/$', '') },
      to: { circular: true },
    },
    {
      name: 'every-place-has-a-row',
      comment: 'A new folder needs a row in MAY_IMPORT.',
      severity: 'error',
      from: { path: SOURCES, pathNot: Object.keys(MAY_IMPORT).map(pathOf) },
      to: {},
    },
    ...Object.entries(MAY_IMPORT).map(([place, others]) => ({
      name: `from ${place}`,
      comment: `${place} may import ${others.join(', ') || 'nothing but itself'}.`,
      severity: 'error',
      from: { path: pathOf(place) },
      to: { path: '^(packages|apps)/', pathNot: [place, ...others].map(pathOf) },
    })),
    ...Object.entries(ONLY_IN).map(([name, places]) => ({
      name: `only in ${places[0]}: ${name}`,
      comment: `Only ${places.join(', ')} may import ${name}.`,
      severity: 'error',
      from: { path: SOURCES, pathNot: places.map(pathOf) },
      to: { path: `node_modules/${name}/` },
    })),
    ...Object.entries(ONLY_PACKAGES).map(([place, names]) => ({
      name: `packages of ${place}`,
      comment: `${place} may import the packages ${names.join(', ')}.`,
      severity: 'error',
      from: { path: pathOf(place) },
      to: { pathNot: ['^(packages|apps)/', ...names.map((name) => `(^|node_modules/)${name}(/|$)`)] },
    })),
    {
      name: 'no-tests-in-sources',
      severity: 'error',
      from: { path: SOURCES, pathNot: '^packages/testing/' },
      to: { path: '/test/|^(test|bench|packages/testing)/' },
    },
    {
      name: 'tests-of-packages-import-no-apps',
      comment: 'packages/testing is the only package that may import an app.',
      severity: 'error',
      from: { path: '^packages/[^/]+/test/' },
      to: { path: '^apps/' },
    },
    {
      name: 'tests-of-apps-import-no-other-app',
      comment: 'What the tests of several packages share is in packages/testing.',
      severity: 'error',
      from: { path: '^apps/([^/]+)/test/' },
      to: { path: '^apps/', pathNot: ['^apps/$1/', '^apps/service/src/index[.]ts$'] },
    },
    {
      name: 'bench-imports-packages-by-name',
      comment: 'A measurement reaches a package as its users do; what it shares with tests is in packages/testing.',
      severity: 'error',
      from: { path: '^bench/' },
      to: {
        path: ['^packages/[^/]+/(src|test)/', '^apps/[^/]+/test/', '^apps/(cli|console)/src/'],
        pathNot: ['^packages/testing/src/', '/index[.]ts$'],
      },
    },
  ],
  options: {
    // Type-only imports count.
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    exclude: '^(packages|apps)/[^/]+/dist/',
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default'],
      extensions: ['.ts', '.tsx', '.js', '.mjs', '.json'],
    },
  },
};

/** @param {readonly string[]} names */
function service(...names) {
  return names.map((name) => `apps/service/src/${name}`);
}

/** @param {readonly string[]} names */
function consoleFolders(...names) {
  return names.map((name) => `apps/console/src/${name}`);
}

/** @param {string} place */
function pathOf(place) {
  return `^${place}(/|$)`;
}
