import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { CreatedKey, KeySummary, ProjectOverview, ProjectSettings, RotatedKey } from '@flywheel/api';
import { createSolanaRpc } from '@solana/kit';
import { type CliProject, openCliProject } from './cli-project.ts';
import { openLyingService } from './lying-service.ts';
import { runCommand } from './run-command.ts';
import { writeWallet } from './wallet-files.ts';

const LIMITS = ['--burn-limit', '1', '--airdrop-limit', '1', '--scopes', 'burn'];
const REQUEST = {
  pipelines: [{ type: 'WATCH_AD', payload: '{"adId":"ad-1"}', actions: [{ action: 'BURN', amount: 0.5 }] }],
};

describe('flywheel project, keys and register', () => {
  let world: CliProject;
  let env: CliProject['env'];
  let walletFile: string;
  let mint: string;
  let project: CliProject['project'];
  let run: CliProject['run'];
  let failure: CliProject['failure'];
  let folder: CliProject['folder'];

  before(async () => {
    const limits = ['--burn-limit', '100', '--airdrop-limit', '100', '--scopes', 'burn,airdrop'];
    const proofTypes = ['--proof-type', 'WATCH_AD:A rewarded video: watched', '--proof-type', 'REFERRAL'];
    world = await openCliProject({ terms: [...limits, ...proofTypes] });
    ({ env, mint, project, run, failure, folder } = world);
    walletFile = world.wallet.file;
  });
  after(() => world?.stop());

  it('show prints the vault’s balance and the rest of today’s limits', async () => {
    const found = await run<ProjectOverview>('project', 'show', '--wallet', walletFile);
    assert.equal(found.id, project.projectId, 'the wallet’s only project');
    assert.equal(found.limits.burn.cap, '100');
    const { stdout } = await runCommand(['project', 'show', '--wallet', walletFile], env);
    assert.match(stdout, new RegExp(`^Project ${project.projectId}\\n  token +${mint}\\n`));
    assert.match(stdout, /airdrop +\d+ of 100 tokens used today, \d+ left until /);
    assert.match(stdout, /holds +[\d.]+ tokens, [\d.]+ SOL\n/);
  });

  it('limits changes the named limit and prints both', async () => {
    const who = ['--wallet', walletFile, '--project', project.projectId];
    const changed = await run<ProjectSettings>('project', 'limits', ...who, '--airdrop', '12345.5');
    assert.deepEqual([changed.burnLimit, changed.airdropLimit], ['100', '12345.5']);
    const { stdout } = await runCommand(['project', 'limits', ...who, '--airdrop', '100'], env);
    assert.match(stdout, /^Changed\. Applies to new batches\.\n/);
    assert.match(stdout, /airdrop +100 tokens per UTC day \(was 12,345\.5\)/);
    const same = await runCommand(['project', 'limits', ...who, '--airdrop', '100.0'], env);
    assert.match(same.stdout, /^Nothing to change\.\n/);
    assert.equal((await failure('project', 'limits', ...who, '--burn', 'many')).error, 'ERR_USAGE');
  });

  it('limits and proof-types do not replace what another person has changed after they were read', async (context) => {
    const { service } = world;
    const lying = await openLyingService({ url: service.url, rpc: createSolanaRpc(service.rpcUrl) });
    context.after(() => lying.stop());
    const who = ['--wallet', walletFile, '--project', project.projectId];
    for (const [ours, theirs] of [
      [
        ['limits', ...who, '--airdrop', '5000'],
        ['limits', ...who, '--burn', '7'],
      ],
      [
        ['proof-types', ...who, '--add', 'OURS'],
        ['proof-types', ...who, '--add', 'THEIRS'],
      ],
    ] as const) {
      const before = await run<ProjectSettings>('project', 'limits', ...who);
      const change = async (answer: string) => {
        lying.tell(null);
        await run('project', ...theirs);
        return answer;
      };
      lying.tell({ path: /\/settings$/, change });
      const refused = await runCommand(['project', ...ours, '--json'], { ...env, FLYWHEEL_URL: lying.url });
      assert.equal(JSON.parse(refused.stderr).error, 'ERR_SETTINGS_CHANGED');
      const { burnLimit, airdropLimit, proofTypes } = await run<ProjectSettings>('project', 'limits', ...who);
      assert.equal(airdropLimit, '100');
      assert.deepEqual(
        [burnLimit, proofTypes.map(({ type }) => type)],
        ['7', [...before.proofTypes.map(({ type }) => type), ...(theirs[0] === 'limits' ? [] : ['THEIRS'])].toSorted()],
      );
    }
    await run('project', 'limits', ...who, '--burn', '100');
    await run('project', 'proof-types', ...who, '--remove', 'THEIRS');
  });

  it('proof-types adds, removes and describes types, and empties the list only with --any', async () => {
    const types = ['project', 'proof-types', '--wallet', walletFile];
    const typesOf = ({ proofTypes }: ProjectSettings) => proofTypes.map(({ type }) => type);
    assert.deepEqual(typesOf(await run(...types)), ['REFERRAL', 'WATCH_AD']);
    const changed = await run<ProjectSettings>(...types, '--add', 'SEASON', '--remove', 'REFERRAL');
    assert.deepEqual(changed.proofTypes, [
      { type: 'SEASON' },
      { type: 'WATCH_AD', description: 'A rewarded video: watched' },
    ]);
    const last = await failure(...types, '--remove', 'WATCH_AD', '--remove', 'SEASON');
    assert.match(last.message, /Removing the last type would allow all types/);
    const unknown = await failure(...types, '--remove', 'LOTTERY');
    assert.match(unknown.message, /LOTTERY is not in the list of allowed types\. The list allows: SEASON, WATCH_AD\./);
    assert.deepEqual(typesOf(await run(...types, '--any')), []);
    const narrowed = await runCommand([...types, '--add', 'WATCH_AD'], env);
    assert.match(narrowed.stdout, /^Changed\. .*types +1 type and no other \(was all\)\n +WATCH_AD\n$/s);
    assert.deepEqual(typesOf(await run(...types)), ['WATCH_AD']);
  });

  it('keys create prints a key that works until keys revoke', async () => {
    const who = ['--wallet', walletFile, '--project', project.projectId];
    const { keyId, apiKey } = await run<CreatedKey>('keys', 'create', ...who, '--scopes', 'airdrop', '--name', 'ads');
    env.FLYWHEEL_API_KEY = apiKey;
    const requestFile = await folder.write('request.json', JSON.stringify(REQUEST));
    const unscoped = await failure('init', requestFile);
    assert.equal(unscoped.error, 'ERR_KEY_SCOPES_UNAUTHORIZED');

    const revoked = await run<{ keyId: string }>('keys', 'revoke', ...who, '--key', keyId, '--yes');
    assert.equal(revoked.keyId, keyId);
    const { error, message } = await failure('init', requestFile);
    assert.equal(error, 'ERR_UNAUTHORIZED');
    assert.match(message, /flywheel keys create/);
    env.FLYWHEEL_API_KEY = project.apiKey;
  });

  it('keys list shows the control characters of a name, and --json has the name as it is', async () => {
    const who = ['--wallet', walletFile, '--project', project.projectId];
    const name = 'ads\u001B[2J\u0007\u009B8m\u202Esda';
    await run<CreatedKey>('keys', 'create', ...who, '--name', name);
    const { stdout } = await runCommand(['keys', 'list', ...who], env);
    assert.match(stdout, / ads\uFFFD\[2J\uFFFD\uFFFD8m\uFFFDsda /);
    const { keys } = await run<{ keys: KeySummary[] }>('keys', 'list', ...who);
    assert.ok(keys.some((key) => key.name === name));
  });

  it('a request that the service refuses exits with 2, and names the option that was typed', async () => {
    const who = ['--wallet', walletFile, '--project', project.projectId];
    for (const [words, says] of [
      [['batches', '--cursor', 'xx'], /^✗ ERR_INVALID_REQUEST {2}--cursor is not a cursor of this list\./],
      [['keys', 'revoke', ...who, '--key', 'k', '--yes'], /^.*\n✗ ERR_INVALID_REQUEST {2}--key must be a UUID\./],
      [['preview', await folder.write('list.json', '[]')], /^✗ ERR_INVALID_REQUEST {2}body /],
      [
        ['keys', 'create', ...who, '--expires', '2020-01-01'],
        /^✗ ERR_INVALID_REQUEST {2}--expires is 2020-01-01T\S+, which /,
      ],
      [['keys', 'create', ...who, '--name', 'x'.repeat(81)], /^✗ ERR_INVALID_REQUEST {2}--name must have at most 80 /],
      [
        ['project', 'limits', ...who, '--burn', '0.0000001'],
        /^✗ ERR_INVALID_REQUEST {2}The daily burn limit 0\.0000001 has more than /,
      ],
      [
        ['webhooks', 'create', ...who, '--receiver', 'http://u:p@localhost/'],
        /^✗ ERR_INVALID_REQUEST {2}--receiver contains a user or password/,
      ],
      [['preview', await folder.write('none.json', '{"pipelines":[]}')], /^✗ ERR_FLYWHEEL_NO_INSTRUCTIONS {2}/],
      [
        [
          'preview',
          await folder.write('empty.json', '{"pipelines":[{"type":"WATCH_AD","payload":"{}","actions":[]}]}'),
        ],
        /^✗ ERR_FLYWHEEL_ACTIONS_EMPTY {2}/,
      ],
    ] as const) {
      const { exitCode, stderr } = await runCommand(words, env);
      assert.match(stderr, says);
      assert.equal(exitCode, 2, stderr);
    }
  });

  it('keys rotate replaces a key, and keys list shows both while they overlap', async () => {
    const who = ['--wallet', walletFile, '--project', project.projectId];
    const old = await run<CreatedKey>('keys', 'create', ...who, '--name', 'server');
    const { keyId, apiKey, replacedExpiresAt } = await run<RotatedKey>(
      ...['keys', 'rotate', ...who, '--key', old.keyId, '--overlap-hours', '2'],
    );
    const overlapMs = Date.parse(replacedExpiresAt) - Date.now();
    assert.ok(overlapMs > 7_000_000 && overlapMs <= 7_200_000, `${overlapMs} ms`);
    for (const each of [old.apiKey, apiKey]) {
      env.FLYWHEEL_API_KEY = each;
      assert.equal((await failure('status', crypto.randomUUID())).error, 'ERR_BATCH_NOT_FOUND');
    }
    env.FLYWHEEL_API_KEY = project.apiKey;
    const { keys } = await run<{ keys: KeySummary[] }>('keys', 'list', ...who);
    assert.deepEqual(
      keys.slice(0, 2).map((key) => [key.keyId, key.name, key.state]),
      [
        [keyId, 'server', 'active'],
        [old.keyId, 'server', 'replaced'],
      ],
    );
    const { stdout } = await runCommand(['keys', 'list', ...who], env);
    assert.match(stdout, /^KEY +PREFIX +NAME +SCOPES +STATE +LAST USED +EXPIRES\n/);
    assert.match(
      stdout,
      new RegExp(`${old.keyId} +fwk_\\w{8} +server +burn,airdrop +replaced +20.*${replacedExpiresAt}`),
    );
  });

  it('keys create prints how to revoke the key at the same service', async () => {
    const { FLYWHEEL_URL = '', ...without } = env;
    const who = ['--wallet', walletFile, '--project', project.projectId];
    const { stdout } = await runCommand(['keys', 'create', ...who, '--url', FLYWHEEL_URL], without);
    const [, words = ''] = /^ {2}flywheel (keys revoke .*)$/m.exec(stdout) ?? [];
    const { exitCode, stderr } = await runCommand([...words.split(' '), '--yes'], without);
    assert.equal(exitCode, 0, stderr);
  });

  it('keys rotate keeps the expiry of the old key unless --expires names another one', async () => {
    const who = ['--wallet', walletFile, '--project', project.projectId];
    const expiryOf = async (keyId: string) => {
      const { keys } = await run<{ keys: KeySummary[] }>('keys', 'list', ...who);
      return keys.find((key) => key.keyId === keyId)?.expiresAt;
    };
    const rotate = (keyId: string, ...words: readonly string[]) =>
      run<RotatedKey>('keys', 'rotate', ...who, '--key', keyId, ...words);
    const first = await run<CreatedKey>('keys', 'create', ...who, '--expires', '2099-01-31');
    const second = await rotate(first.keyId);
    assert.equal(await expiryOf(second.keyId), '2099-01-31T00:00:00.000Z');
    const third = await rotate(second.keyId, '--expires', '2099-02-01T12:00:00Z');
    assert.equal(await expiryOf(third.keyId), '2099-02-01T12:00:00.000Z');
    const fourth = await rotate(third.keyId, '--expires', 'never');
    assert.equal(await expiryOf(fourth.keyId), undefined);
    assert.equal((await failure('keys', 'create', ...who, '--expires', 'tomorrow')).error, 'ERR_USAGE');
  });

  it('keys rotate says that the old key has ended if there is no overlap', async () => {
    const who = ['--wallet', walletFile, '--project', project.projectId];
    const { keyId } = await run<CreatedKey>('keys', 'create', ...who);
    const words = ['keys', 'rotate', ...who, '--key', keyId, '--overlap-hours', '0'];
    const { stdout } = await runCommand(words, env);
    assert.match(stdout, /\nThe old key stopped working\.\n$/);
  });

  it('mint shows a token and what its registration costs, and exits with 3 if it cannot be registered', async () => {
    const { stdout, exitCode } = await runCommand(['mint', mint, '--wallet', walletFile], env);
    assert.equal(exitCode, 0);
    assert.match(
      stdout,
      new RegExp(`^Mint ${mint}\n {2}supply +[\\d,.]+ tokens\n {2}decimals +6\n {2}program +SPL Token\n`),
    );
    assert.match(stdout, /\n {2}cost +0\.0\d+ SOL, paid by the wallet\n/);
    const other = await runCommand(['mint', world.wallet.signer.address, '--wallet', walletFile], env);
    assert.deepEqual([other.exitCode, other.stdout], [3, `Mint ${world.wallet.signer.address}\n`]);
    assert.match(other.stderr, /ERR_PREVIEW_FAILED {2}Mint \w+ \S/);
    const { error } = await failure('mint', 'nobody', '--wallet', walletFile);
    assert.equal(error, 'ERR_USAGE');
  });

  it('register names the balance and the cost if the wallet cannot pay, and does not wait', async () => {
    const { file, signer } = await writeWallet(folder, 'poor.json');
    const { error, message } = await failure('register', '--wallet', file, '--mint', mint, ...LIMITS);
    assert.equal(error, 'ERR_WALLET');
    const expected = new RegExp(`^The wallet ${signer.address} holds 0 SOL; the registration costs 0\\.\\d+ SOL\\.`);
    assert.match(message, expected);
  });

  it('keys create answers not found for another wallet’s project', async () => {
    const { file } = await writeWallet(folder, 'stranger.json');
    const { error } = await failure('keys', 'create', '--wallet', file, '--project', project.projectId);
    assert.equal(error, 'ERR_PROJECT_NOT_FOUND');
  });

  it('register prints npx flywheel in its next step if npm started it, otherwise flywheel', async () => {
    for (const npmCommand of ['exec', undefined]) {
      const command = npmCommand === undefined ? 'flywheel' : 'npx flywheel';
      const { file, signer } = await writeWallet(folder, 'hint.json');
      await run('localnet', 'fund', signer.address, '--sol', '5');
      const words = ['register', '--wallet', file, '--mint', mint, ...LIMITS];
      const { stdout, stderr } = await runCommand(words, { ...env, npm_command: npmCommand });
      assert.match(stdout, new RegExp(`^ {2}${command} run examples/rewards\\.json --wallet `, 'm'), stderr);
    }
  });
});
