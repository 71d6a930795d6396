import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { globAll, ROOT } from './lanes.ts';

/** A word that sources may use only in some folders, which import rules cannot check. */
interface WordRule {
  readonly pattern: RegExp;
  readonly what: string;
  readonly isAllowed: (path: string) => boolean;
}

/** Folders whose results depend only on their arguments. */
const PURE = /^(packages\/(api|protocol|squads)\/src|apps\/service\/src\/(model|squads|compile))\//;

const RULES: readonly WordRule[] = [
  {
    what: 'process.env',
    pattern: /\bprocess\.env\b|\benv\b[^;]*from 'node:process'/,
    isAllowed: (path) =>
      /^(apps\/service\/src\/main\.ts|apps\/cli\/|packages\/localnet\/src\/programs\.ts|packages\/testing\/)/.test(
        path,
      ),
  },
  {
    what: 'an RPC function of @solana/kit',
    pattern: /import[^;]*\b(create\w*Rpc|sendAndConfirm\w+Factory)\w*\b[^;]*from '@solana\/kit'/,
    isAllowed: (path) =>
      /^(packages\/(solana-rpc|testing)\/|packages\/localnet\/src\/rpc-bank\.ts|apps\/service\/src\/solana\/|apps\/cli\/src\/|apps\/console\/src\/lib\/)/.test(
        path,
      ),
  },
  {
    what: 'time or chance',
    pattern: /\bDate\.now\b|\bnew Date\(\)|\bperformance\.|\bset(Timeout|Interval|Immediate)\b|\bMath\.random\b/,
    // It chooses when something is computed; the result depends on its arguments.
    isAllowed: (path) => !PURE.test(path) || path === 'apps/service/src/model/in-slices.ts',
  },
  {
    what: 'the outside world',
    pattern: /\bfetch\(|\bprocess\b|\bcrypto\.(getRandomValues|randomUUID)\b|\bgenerateKeyPair\w*/,
    isAllowed: (path) => !PURE.test(path),
  },
  // A computed name would hide an import from the import rules.
  { what: 'an import by a computed name', pattern: /\bimport\((?!\s*['"])/, isAllowed: () => false },
];

function findWords(path: string, source: string): string[] {
  const code = blankComments(source);
  return RULES.filter(({ isAllowed }) => !isAllowed(path)).flatMap(({ pattern, what }) => {
    const at = code.search(pattern);
    return at === -1 ? [] : [`${path}:${code.slice(0, at).split('\n').length} names ${what}.`];
  });
}

/** Replaces comments by spaces, which keeps positions. Sufficient for sources that Biome has formatted. */
function blankComments(source: string): string {
  return source.replace(/^\s*(\/\*\*?[\s\S]*?\*\/|\/\/.*)|\s\/\/ .*/gm, (comment) => comment.replace(/[^\n]/g, ' '));
}

describe('restricted words', () => {
  it('occur only in allowed folders', async () => {
    const files = await globAll(['{packages,apps}/*/{src,bin}/**/*.{ts,tsx,js}', 'apps/service/migrations/*.ts']);
    assert.ok(files.length > 100, `only ${files.length} files were found`);
    const found = await Promise.all(
      files.map(async (path) => findWords(path, await readFile(join(ROOT, path), 'utf8'))),
    );
    assert.deepEqual(found.flat(), []);
  });

  const OFFENCES = [
    ['apps/service/src/model/batch.ts', 'const now = new Date();', /:1 .*time or chance/],
    ['apps/service/src/compile/size.ts', "\nawait fetch('http://x');", /:2 .*outside world/],
    ['packages/protocol/src/memo.ts', 'const key = generateKeyPairSigner();', /outside world/],
    ['apps/service/src/app.ts', 'const { HOST } = process.env;', /process\.env/],
    ['apps/service/src/app.ts', "import { env } from 'node:process';", /process\.env/],
    ['apps/service/src/batches/run.ts', "import { createSolanaRpc } from '@solana/kit';", /RPC function/],
    ['apps/service/src/app.ts', 'await import(name);', /:1 .*computed/],
  ] as const;
  for (const [path, source, expected] of OFFENCES) {
    it(`are found: ${JSON.stringify(source)} in ${path}`, () => {
      const found = findWords(path, source);
      assert.equal(found.length, 1, found.join('\n'));
      assert.match(found[0] ?? '', expected);
    });
  }

  it('are allowed in comments', () => {
    const source =
      '/** Never new Date(): the time is passed in. */\n// process.env and fetch( neither\nexport const a = 1; // fetch(\n';
    assert.deepEqual(findWords('apps/service/src/model/amount.ts', source), []);
  });
});
