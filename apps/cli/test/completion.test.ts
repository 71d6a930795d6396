import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { runCommand } from './run-command.ts';
import { makeTemporaryFolder } from './wallet-files.ts';

const FLYWHEEL = fileURLToPath(new URL('../bin/flywheel.js', import.meta.url));
const execute = promisify(execFile);

describe('flywheel completion', () => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    const isHere = spawnSync(shell, ['-c', 'true']).status === 0;
    it(`${shell} prints a script that ${shell} can parse`, {
      skip: !isHere && `${shell} is not installed`,
    }, async () => {
      await using folder = await makeTemporaryFolder();
      const file = await folder.write('script', (await runCommand(['completion', shell])).stdout);
      await execute(shell, ['-n', file]);
    });
  }

  for (const shell of ['bash', 'zsh', 'fish']) {
    it(`${shell} includes every command and its options`, async () => {
      const { exitCode, stdout } = await runCommand(['completion', shell]);
      assert.equal(exitCode, 0);
      for (const path of ['airdrop', 'keys rotate', 'localnet fund', 'project proof-types', 'completion']) {
        assert.ok(stdout.includes(`'${path}'`) || stdout.includes(`"${path}"`), path);
      }
      for (const option of ['overlap-hours', 'receipt', 'payload-file', 'json']) {
        assert.ok(stdout.includes(option), option);
      }
    });
  }

  it('bash completes commands, options and the values of an option', async () => {
    const { stdout: script } = await runCommand(['completion', 'bash']);
    const offered = async (...words: string[]) => {
      const quoted = words.map((word) => `'${word}'`).join(' ');
      const lines = [
        script,
        `COMP_WORDS=(flywheel ${quoted}); COMP_CWORD=${words.length}; _flywheel`,
        `printf '%s\\n' "\${COMPREPLY[@]}"`,
      ];
      const { stdout } = await execute('bash', ['-c', lines.join('\n')]);
      return stdout.trim().split('\n');
    };
    assert.deepEqual(await offered('ru'), ['run']);
    assert.deepEqual(await offered('keys', ''), ['list', 'create', 'rotate', 'revoke']);
    assert.deepEqual(await offered('keys', 'rotate', '--ov'), ['--overlap-hours']);
    assert.deepEqual(await offered('airdrop', '--duplicates', 'm'), ['merge']);
    assert.deepEqual(await offered('airdrop', '--wallet', ''), [''], 'bash completes files');
    assert.deepEqual(await offered('airdrop', 'file.csv', '--dr'), ['--dry-run']);
    assert.deepEqual(await offered('keys', '--url', 'http://x', 'li'), ['list']);
  });

  it('rejects other shells', async () => {
    const { exitCode, stderr } = await runCommand(['completion', 'tcsh', '--json']);
    assert.equal(exitCode, 2);
    assert.match(JSON.parse(stderr).message, /Allowed choices are bash, zsh, fish/);
  });
});

describe('colour', () => {
  const said = async (words: readonly string[], env: Record<string, string>) => {
    const { NO_COLOR, FORCE_COLOR, FLYWHEEL_API_KEY, ...rest } = process.env;
    const { stdout, stderr } = await execute(process.execPath, [FLYWHEEL, ...words], {
      env: { ...rest, ...env },
    }).catch((failed: { readonly stdout: string; readonly stderr: string }) => failed);
    return stdout + stderr;
  };
  /** Fails without an API key. */
  const FAILING = ['batches'];
  const ESCAPE = '\u001B[';

  it('is off without a terminal and with NO_COLOR, and on with FORCE_COLOR', async () => {
    for (const words of [['--help'], FAILING]) {
      assert.ok(!(await said(words, {})).includes(ESCAPE), words.join(' '));
      assert.ok(!(await said(words, { NO_COLOR: '1' })).includes(ESCAPE), words.join(' '));
      assert.ok((await said(words, { FORCE_COLOR: '1' })).includes(ESCAPE), words.join(' '));
    }
  });
});
