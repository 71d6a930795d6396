import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import type { Command } from 'commander';
import { EXIT_CODE_OF, EXIT_CODES } from '../src/errors.ts';
import { createProgram } from '../src/main.ts';
import { createOutput } from '../src/output.ts';
import { runCommand } from './run-command.ts';
import { makeTemporaryFolder, writeWallet } from './wallet-files.ts';

/** Nothing listens on the discard port. */
const NOWHERE = { FLYWHEEL_URL: 'http://127.0.0.1:9', FLYWHEEL_API_KEY: 'fw_key' };

/** The words of every command, `flywheel` itself first. */
const COMMANDS = pathsOf(
  createProgram({
    environment: {},
    output: createOutput({ json: false, stdout: process.stdout, stderr: process.stderr, program: 'flywheel' }),
    stdin: process.stdin,
  }),
);

function pathsOf(command: Command, path: readonly string[] = []): (readonly string[])[] {
  return [path, ...command.commands.flatMap((child) => pathsOf(child, [...path, child.name()]))];
}

const BATCH = '0198a3c2-7d1e-7b40-9c1f-2a6d5e8f0b31';
const WRAPPED_SOL = 'So11111111111111111111111111111111111111112';
const NO_CLUSTER =
  'No cluster answers at http://127.0.0.1:9. Start one with npm start or flywheel localnet start, or set SOLANA_RPC_URL.';

function readCliPage(): Promise<string> {
  return readFile(new URL('../../../docs/cli.md', import.meta.url), 'utf8');
}

describe('help', () => {
  for (const words of COMMANDS) {
    it(`of ${['flywheel', ...words].join(' ')} matches the snapshot, on stdout`, async (test) => {
      const { exitCode, stdout, stderr } = await runCommand([...words, '--help']);
      assert.equal(exitCode, 0);
      assert.equal(stderr, '');
      // The default is an absolute path.
      const text = stdout.replace(/\(default:\s+"[^"]*rewards\.json"\)/, '(default: examples/rewards.json)');
      test.assert.snapshot(text, { serializers: [String] });
    });
  }

  it('of every command without subcommands shows an example and --json', async () => {
    for (const words of COMMANDS) {
      const { stdout } = await runCommand([...words, '--help']);
      if (stdout.includes('[command]')) continue;
      assert.match(stdout, /\nExample:\n {2}\S/, words.join(' '));
      assert.match(stdout, /--json/, words.join(' '));
    }
  });

  it('docs/cli.md mentions every command', async () => {
    const page = await readCliPage();
    const isNamed = (words: readonly string[]) =>
      page.includes(`flywheel ${words.join(' ')}`) ||
      page.includes(`\`${words.join(' ')}\``) ||
      page.includes(`\`${words.at(-1)}\``);
    assert.deepEqual(
      COMMANDS.filter((words) => words.length > 0 && !isNamed(words)),
      [],
    );
  });

  it('and docs/cli.md have the same table of exit codes, which is complete', async () => {
    const [, table = ''] = /\| exit code \| meaning \|\n\|---\|---\|\n((?:\|.*\n)+)/.exec(await readCliPage()) ?? [];
    const documented = [...table.matchAll(/^\| (\d+) \| (.+) \|$/gm)].map(([, code, meaning]) => [
      Number(code),
      meaning,
    ]);
    assert.deepEqual(documented, [...EXIT_CODES.map((row) => [...row])]);
    const { stdout } = await runCommand([]);
    for (const [code, meaning] of EXIT_CODES)
      assert.match(stdout, new RegExp(`^ {2}${code} +${meaning.replace(/[()]/g, '\\$&')}$`, 'm'));
    const used = new Set(Object.values(EXIT_CODE_OF));
    const known = new Set<number>(EXIT_CODES.map(([code]) => code));
    assert.deepEqual(
      [...used].filter((code) => !known.has(code)),
      [],
    );
  });

  it('is printed by flywheel without arguments', async () => {
    const { exitCode, stdout } = await runCommand([]);
    assert.equal(exitCode, 0);
    assert.equal(stdout, (await runCommand(['--help'])).stdout);
  });

  it('of every command is printed by flywheel help and its words', async () => {
    for (const words of COMMANDS) {
      const { exitCode, stdout } = await runCommand(['help', ...words]);
      assert.equal(exitCode, 0, words.join(' '));
      assert.equal(stdout, (await runCommand([...words, '--help'])).stdout);
    }
  });
});

describe('an error', () => {
  /** All other errors exit with 1. */
  const exitCodes = new Map([
    ['ERR_USAGE', 2],
    ['ERR_FILE', 2],
    ['ERR_WALLET', 2],
    ['ERR_UNREACHABLE', 4],
    ['ERR_CLUSTER', 4],
  ]);
  const failures: [words: string[], env: Record<string, string>, code: string, message: string][] = [
    [['status', BATCH], {}, 'ERR_API_KEY_MISSING', 'FLYWHEEL_API_KEY is not set. flywheel register prints a key.'],
    [
      ['status', BATCH],
      NOWHERE,
      'ERR_UNREACHABLE',
      'No service answers at http://127.0.0.1:9. Start one with npm start, or set FLYWHEEL_URL.',
    ],
    [
      ['status', BATCH, '--url', '127.0.0.1:4000'],
      NOWHERE,
      'ERR_USAGE',
      '127.0.0.1:4000 is not an http(s) URL. Set FLYWHEEL_URL to one like http://127.0.0.1:4000.',
    ],
    [
      ['status', BATCH, '--url', 'http://me:secret@127.0.0.1:4000'],
      NOWHERE,
      'ERR_USAGE',
      'The service’s URL may not have a user or password. Set FLYWHEEL_URL to one like http://127.0.0.1:4000.',
    ],
    [
      ['status', BATCH],
      { ...NOWHERE, FLYWHEEL_API_KEY: 'fwk_secret…' },
      'ERR_USAGE',
      'The API key has characters that HTTP cannot send.',
    ],
    [
      ['init', '/nowhere.json'],
      NOWHERE,
      'ERR_FILE',
      'Cannot read /nowhere.json. Expected an init request, like examples/rewards.json.',
    ],
    ...[
      ['status', 'abc'],
      ['cancel', 'abc'],
      ['execute', 'abc', 'def'],
      ['approve', 'abc', '--wallet', 'w'],
    ].map((words): (typeof failures)[number] => [
      words,
      NOWHERE,
      'ERR_USAGE',
      `Command-argument value 'abc' is invalid for argument 'batch-id'. It must be a UUID, such as 0198a3c2-7d1e-7b40-9c1f-2a6d5e8f0b31. See flywheel ${words[0]} --help.`,
    ]),
    [
      ['register', '--wallet', 'w', '--burn-limit', 'abc'],
      NOWHERE,
      'ERR_USAGE',
      "Option '--burn-limit <tokens>' argument 'abc' is invalid. It must be an amount in whole tokens, like 500 or 0.5. See flywheel register --help.",
    ],
    [
      ['webhooks', 'create', '--wallet', 'w', '--receiver', 'nope'],
      NOWHERE,
      'ERR_USAGE',
      "Option '--receiver <url>' argument 'nope' is invalid. It must be an http(s) URL. See flywheel webhooks create --help.",
    ],
    [
      ['project', 'show', '--wallet', '/nowhere.json'],
      NOWHERE,
      'ERR_WALLET',
      'Cannot read the wallet /nowhere.json. Create one with node examples/new-wallet.js /nowhere.json or solana-keygen new -o /nowhere.json.',
    ],
    [['stat', 'x'], {}, 'ERR_USAGE', "Unknown command 'stat' (Did you mean status?) See flywheel --help."],
    [['help', 'stat'], {}, 'ERR_USAGE', "Unknown command 'stat'. See flywheel --help."],
    [['help', 'keys', 'lst'], {}, 'ERR_USAGE', "Unknown command 'lst'. See flywheel keys --help."],
    [['keys'], {}, 'ERR_USAGE', 'flywheel keys needs a subcommand. See flywheel keys --help.'],
    [
      ['company', 'policy'],
      {},
      'ERR_USAGE',
      'flywheel company policy needs a subcommand. See flywheel company policy --help.',
    ],
    [['keys', 'lst'], {}, 'ERR_USAGE', "Unknown command 'lst' (Did you mean list?) See flywheel keys --help."],
    [
      ['company', 'policy', 'show', '--wallet', 'w'],
      {},
      'ERR_USAGE',
      "Missing required argument 'project-id'. See flywheel company policy show --help.",
    ],
    [['status'], NOWHERE, 'ERR_USAGE', "Missing required argument 'batch-id'. See flywheel status --help."],
    [
      ['execute', BATCH, 'y', '--wait', '121'],
      NOWHERE,
      'ERR_USAGE',
      "Option '--wait <seconds>' argument '121' is invalid. It must be a whole number from 0 to 120. See flywheel execute --help.",
    ],
    [
      ['keys', 'create', '--wallet', 'w', '--project', 'p', '--scopes', 'burn,mint'],
      {},
      'ERR_USAGE',
      "Option '--scopes <list>' argument 'burn,mint' is invalid. Scopes are burn, airdrop. See flywheel keys create --help.",
    ],
    [
      ['keys', 'create', '--wallet', 'w', '--project', 'p', '--expires', '2027-02-29'],
      {},
      'ERR_USAGE',
      "Option '--expires <date>' argument '2027-02-29' is invalid. It must be a day or a time in UTC, such as 2027-01-31T12:00:00Z, or never. See flywheel keys create --help.",
    ],
    [
      ['register', '--approval', 'never'],
      {},
      'ERR_USAGE',
      "Option '--approval <mode>' argument 'never' is invalid. Allowed choices are automatic, manual. See flywheel register --help.",
    ],
    [
      ['keys', 'rotate', '--wallet', 'w', '--project', 'p', '--key', 'k', '--overlap-hours', '721'],
      {},
      'ERR_USAGE',
      "Option '--overlap-hours <hours>' argument '721' is invalid. It must be a whole number from 0 to 720. See flywheel keys rotate --help.",
    ],
    [
      ['localnet', 'fund', WRAPPED_SOL],
      {},
      'ERR_USAGE',
      'No amount. Pass --sol AMOUNT, or --mint ADDRESS --tokens AMOUNT, or both.',
    ],
    [
      ['localnet', 'fund', WRAPPED_SOL, '--sol', '0.0000000001'],
      {},
      'ERR_USAGE',
      'Invalid amount 0.0000000001. Expected a number from 0 to 18446744073.709551615 with at most 9 decimals.',
    ],
    [
      ['localnet', 'create-token', '--decimals', '6'],
      { SOLANA_RPC_URL: 'http://127.0.0.1:9' },
      'ERR_CLUSTER',
      NO_CLUSTER,
    ],
    [['localnet', 'warp'], { SOLANA_RPC_URL: 'http://127.0.0.1:9' }, 'ERR_CLUSTER', NO_CLUSTER],
    [
      ['localnet', 'fund', WRAPPED_SOL, '--sol', '1'],
      { SOLANA_RPC_URL: 'http://127.0.0.1:9' },
      'ERR_CLUSTER',
      NO_CLUSTER,
    ],
    [
      ['localnet', 'fund', WRAPPED_SOL, '--mint', WRAPPED_SOL, '--tokens', '1'],
      { SOLANA_RPC_URL: 'http://127.0.0.1:9' },
      'ERR_CLUSTER',
      NO_CLUSTER,
    ],
    [
      ['localnet', 'warp'],
      { SOLANA_RPC_URL: 'wss://rpc.example/provider-key' },
      'ERR_USAGE',
      'The RPC URL is not an http(s) URL. Set SOLANA_RPC_URL to one like http://127.0.0.1:8899, or to several, separated by commas.',
    ],
    [
      ['localnet', 'warp'],
      { SOLANA_RPC_URL: 'http://127.0.0.1:9,provider-key' },
      'ERR_USAGE',
      'The RPC URL is not an http(s) URL. Set SOLANA_RPC_URL to one like http://127.0.0.1:8899, or to several, separated by commas.',
    ],
    // `--rpc` is the first name of `--rpc-url`, and is still accepted.
    ...['--rpc', '--rpc-url'].map((option): (typeof failures)[number] => [
      ['localnet', 'fetch-programs', option, 'rpc.example/provider-key'],
      {},
      'ERR_USAGE',
      'The RPC URL is not an http(s) URL. Set SOLANA_RPC_URL to one like http://127.0.0.1:8899, or to several, separated by commas.',
    ]),
  ];

  for (const [words, env, code, message] of failures) {
    it(`with --json is one JSON object on stderr: flywheel ${words.join(' ')}`, async () => {
      const { exitCode, stdout, stderr } = await runCommand([...words, '--json'], env);
      assert.deepEqual(JSON.parse(stderr), { error: code, message });
      assert.deepEqual([exitCode, stdout], [exitCodes.get(code) ?? 1, '']);
    });
  }

  it('names its command wherever --json stands', async () => {
    const { stderr } = await runCommand(['--json', 'keys', 'lst']);
    assert.match(JSON.parse(stderr).message, /See flywheel keys --help\.$/);
  });

  it('starts with its code, and has the next step on the second line', async () => {
    const { exitCode, stdout, stderr } = await runCommand(['status', BATCH], NOWHERE);
    assert.equal(
      stderr,
      '✗ ERR_UNREACHABLE  No service answers at http://127.0.0.1:9.\n  Start one with npm start, or set FLYWHEEL_URL.\n',
    );
    assert.deepEqual([exitCode, stdout], [4, '']);
  });

  it('is not that FLYWHEEL_URL is empty, as in a file of settings that leaves it out', async () => {
    const { stderr } = await runCommand(['status', BATCH], { ...NOWHERE, FLYWHEEL_URL: '' });
    assert.doesNotMatch(stderr, /is not an http/);
  });

  it('of a file that is not JSON says why', async () => {
    await using folder = await makeTemporaryFolder();
    const file = await folder.write('request.json', '{"pipelines": [}');
    const { stderr } = await runCommand(['init', file, '--json'], NOWHERE);
    const { error, message } = JSON.parse(stderr);
    assert.equal(error, 'ERR_FILE');
    assert.match(message, /request\.json is not JSON: Unexpected token '}'/);
  });

  it('of init has the random key with which the same line finds its batch, if there is one', async () => {
    await using folder = await makeTemporaryFolder();
    const file = await folder.write('request.json', '{"pipelines": []}');
    const { exitCode, stderr } = await runCommand(['init', file, '--json'], NOWHERE);
    const { error, idempotencyKey } = JSON.parse(stderr);
    assert.deepEqual([exitCode, error], [4, 'ERR_UNREACHABLE']);
    assert.match(idempotencyKey, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  });

  it('of signing says what is wrong with the transaction', async () => {
    await using folder = await makeTemporaryFolder();
    const { file } = await writeWallet(folder);
    const line = ['sign', '--wallet', file, '--multisig', WRAPPED_SOL, '--batch-index', '1', 'AAAA', '--json'];
    assert.match((await runCommand(line)).stderr, /ERR_USAGE.*Pass --company/);
    const { stderr } = await runCommand([...line, '--skip-verification']);
    assert.deepEqual(JSON.parse(stderr), {
      error: 'ERR_SIGNING_REFUSED',
      message:
        'Not signed: it is not a base64 transaction (4 characters). Check the wallet file and the source of the transaction.',
    });
  });
});
