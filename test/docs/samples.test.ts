import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import * as api from '@flywheel/api';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { absenceOf } from './clients.ts';
import { type CodeBlock, codeBlocksOf, ROOT, readPages } from './code-blocks.ts';
import { completeFragment } from './complete-fragment.ts';
import { createScratchProject } from './scratch-project.ts';
import { type ScratchService, startScratchService } from './scratch-service.ts';

const SHELL = ['sh', 'bash'];
const PROGRAMS = ['ts', 'js'];
/** Languages that are shown, and never typed or sent by a reader. */
const NOT_CODE = ['', 'text'];

/** Pages that need no other page. A reader follows them in this order in one terminal, so none may disturb the next. */
const FROM_NOTHING = ['README.md', 'docs/tutorial.md', 'docs/cli.md'];

/** All pages take a minute, beside other work several; a longer wait means that a step hangs. */
const TIMEOUT_MS = 600_000;
/** The runner would end a test after half of it. */
const LONG = { timeout: TIMEOUT_MS };

const pages = await readPages();
const blocks = [...pages].flatMap(([page, markdown]) => codeBlocksOf(page, markdown));
const absences = new Map(
  blocks.flatMap(({ note }) => (note.kind === 'needs' ? [[note.client, absenceOf(note.client)] as const] : [])),
);
const isRun = ({ note }: CodeBlock) =>
  note.kind !== 'not run' && (note.kind !== 'needs' || absences.get(note.client) === null);
const of = (languages: readonly string[]) =>
  blocks.filter((block) => languages.includes(block.language) && isRun(block));
const locationOf = ({ page, line }: CodeBlock) => `${page}:${line}`;

describe('the samples of the documents', () => {
  it('are all of a tested kind, or state why not', (t) => {
    const tested = [...SHELL, ...PROGRAMS, ...NOT_CODE, 'json', 'yaml'];
    assert.deepEqual(blocks.filter((block) => isRun(block) && !tested.includes(block.language)).map(locationOf), []);
    for (const block of blocks) {
      if (block.note.kind !== 'not run') continue;
      assert.ok(block.note.reason.length > 10, `${locationOf(block)} gives no reason`);
      t.diagnostic(`not run: ${locationOf(block)}: ${block.note.reason}`);
    }
  });

  for (const block of blocks) {
    const skip = block.note.kind === 'needs' && absences.get(block.note.client);
    if (typeof skip === 'string') it(`${locationOf(block)} runs`, { skip });
  }

  for (const block of of(['json'])) {
    it(`${locationOf(block)} is JSON of its shape`, () => {
      const value: unknown = JSON.parse(block.text);
      if (block.note.kind === 'is') z.parse(schemaOf(block.note.shape), value);
    });
  }

  for (const block of of(['yaml'])) {
    it(`${locationOf(block)} is YAML`, () => {
      for (const document of parseAllDocuments(block.text)) assert.deepEqual(document.errors, []);
    });
  }
});

/** Finds the schema of `initBatch body`, `executeBatch 200`, or an exported name. */
function schemaOf(shape: string): z.ZodType {
  const [name = '', part = ''] = shape.split(' ');
  const table: Readonly<Record<string, api.Operation>> = { ...api.OPERATIONS, ...api.CONSOLE_OPERATIONS };
  const operation = table[name];
  const schema = operation
    ? part === 'body'
      ? operation.body
      : operation.responses[Number(part)]?.schema
    : Object.entries(api).find(([exported]) => exported === name)?.[1];
  if (schema instanceof z.ZodType) return schema;
  throw new Error(`There is no schema ${shape}.`);
}

describe('a reader of the documents', { concurrency: 2, timeout: 1.2 * TIMEOUT_MS }, () => {
  let service: ScratchService;
  before(async () => {
    service = await startScratchService();
  });
  after(() => service[Symbol.asyncDispose]());

  const typed = Map.groupBy(
    blocks.filter((block) => isRun(block) && (SHELL.includes(block.language) || block.note.kind === 'file')),
    ({ page }) => page,
  );
  it(`can type ${FROM_NOTHING.join(', ')} one after the other`, LONG, async () => {
    const cwd = await service.openDirectory('from nothing');
    const steps = FROM_NOTHING.flatMap((page) => typed.get(page) ?? []);
    // The other pages need it: the tutorial's wallet has one project.
    await typeLines(cwd, [...linesOf(steps), 'flywheel project show --wallet .flywheel/wallet.json'], {});
  });
  for (const [page, steps] of typed) {
    if (FROM_NOTHING.includes(page)) continue;
    it(`can type ${page} from its first line to its last`, LONG, async () => {
      const cwd = await service.openDirectory(page);
      // Pages after the tutorial may use the project that it creates.
      await typeLines(cwd, linesOf(steps), (await createScratchProject(service, cwd)).environment);
    });
  }

  function linesOf(steps: readonly CodeBlock[]): string[] {
    return steps.map((step) => stepOf(service.localize(shortened(step)), step));
  }

  async function typeLines(cwd: string, lines: readonly string[], left: Readonly<Record<string, string>>) {
    const script = join(cwd, '.script.sh');
    await writeFile(script, ['set -euo pipefail', ...lines].join('\n'));
    const env = { ...service.environment, ...left };
    try {
      await promisify(execFile)('bash', [script], { cwd, env, timeout: TIMEOUT_MS });
    } catch (error) {
      // The last step that began is the one that failed.
      const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string }; // execFile's
      assert.fail(`${stderr.trim()}\n${stdout.slice(-2_000)}`);
    }
  }

  it('can run every program and every part of one', LONG, async () => {
    const project = await createScratchProject(service, await service.openDirectory('fragments'));
    const directory = await mkdtemp(join(tmpdir(), 'flywheel-samples-'));
    try {
      await mkdir(join(directory, 'test'));
      for (const linked of ['node_modules', 'packages']) await symlink(join(ROOT, linked), join(directory, linked));
      const programs = of(PROGRAMS).map((block, index) => {
        const file = join(directory, 'test', `${index}.ts`);
        return { block, file, source: completeFragment(service.localize(block.text)) };
      });
      await Promise.all(programs.map(({ file, source }) => writeFile(file, source)));
      await typeCheck(directory, programs);
      const env = {
        ...service.environment,
        ...project.environment,
        FRAGMENT_PROJECT: JSON.stringify({ ...project, url: service.url, rpcUrl: service.rpcUrl }),
      };
      for (const { block, file } of programs) {
        // The shell runs the saved file.
        if (block.note.kind === 'file') continue;
        await promisify(execFile)(process.execPath, [file], { cwd: directory, env }).catch((error) =>
          assert.fail(`${locationOf(block)}: ${error.stderr}`),
        );
      }
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});

/** Lets only the first page use npx for a command that is also on the PATH, because npx is slow. */
function shortened({ page, text }: CodeBlock): string {
  return page === 'README.md' ? text : text.replaceAll(/npx (flywheel|node)\b/g, '$1');
}

/** Writes a step as a line of its page's script; the name that it prints first says where the script stopped. */
function stepOf(text: string, block: CodeBlock): string {
  const { note } = block;
  if (note.kind === 'file') return `cat > '${note.name}' <<'END OF FILE'\n${text}\nEND OF FILE`;
  const said = `echo '--- ${locationOf(block)}' >&2`;
  if (note.kind !== 'exits') return `${said}\n${text}`;
  return `${said}\nset +e\n(set -e\n${text}\n)\ncode=$?\nset -e\n[ "$code" = ${note.code} ] || { echo "It ended with $code instead of ${note.code}." >&2; exit 1; }`;
}

interface Program {
  readonly block: CodeBlock;
  readonly file: string;
}

async function typeCheck(directory: string, programs: readonly Program[]): Promise<void> {
  const config = { extends: join(ROOT, 'tsconfig.json'), include: ['test/*.ts'], exclude: [] };
  await writeFile(join(directory, 'tsconfig.json'), JSON.stringify(config));
  await writeFile(join(directory, 'package.json'), JSON.stringify({ type: 'module' }));
  const tsc = join(ROOT, 'node_modules/.bin/tsc');
  await promisify(execFile)(tsc, ['-p', directory, '--pretty', 'false'], { cwd: directory }).catch(({ stdout }) => {
    const named = programs.reduce(
      (text, { file, block }) => text.replaceAll(file.slice(directory.length + 1), locationOf(block)),
      String(stdout),
    );
    assert.fail(named);
  });
}
