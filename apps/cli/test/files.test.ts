import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { writeReceipt } from '../src/commands/airdrop/receipt.ts';
import { openFindings, writeFindings } from '../src/commands/audit/findings.ts';
import { CliError, exitCodeOf } from '../src/errors.ts';
import { writeWhole } from '../src/files.ts';
import { makeTemporaryFolder } from './wallet-files.ts';

const NO_FINDINGS = {
  read: async function* () {
    yield* [];
  },
};

describe('writeWhole', () => {
  it('leaves no draft behind, whether it succeeds or fails', async () => {
    await using folder = await makeTemporaryFolder();
    const path = join(folder.path, 'state.json');
    writeWhole(path, 'old');
    writeWhole(path, 'new');
    assert.equal(await readFile(path, 'utf8'), 'new');
    await mkdir(join(folder.path, 'taken', 'by'), { recursive: true });
    assert.throws(() => writeWhole(join(folder.path, 'taken'), 'text'), { code: 'EISDIR' });
    assert.deepEqual((await readdir(folder.path)).sort(), ['state.json', 'taken']);
  });
});

describe('a receipt and a list of findings', () => {
  it('are written without touching a file whose name is theirs and ".part"', async () => {
    await using folder = await makeTemporaryFolder();
    const receipt = join(folder.path, 'receipt.csv');
    const findings = join(folder.path, 'audit.csv');
    for (const path of [receipt, findings]) await writeFile(`${path}.part`, 'of another program');
    writeReceipt(receipt, [], []);
    await writeFindings(findings, NO_FINDINGS);
    for (const path of [receipt, findings]) assert.equal(await readFile(`${path}.part`, 'utf8'), 'of another program');
    assert.deepEqual((await readdir(folder.path)).sort(), [
      'audit.csv',
      'audit.csv.part',
      'receipt.csv',
      'receipt.csv.part',
    ]);
  });

  it('names the receipt that cannot be written, and what to do when rows are paid', async () => {
    await using folder = await makeTemporaryFolder();
    const path = join(folder.path, 'missing', 'receipt.csv');
    assert.throws(() => writeReceipt(path, [], []), {
      ...{ code: 'ERR_FILE', exitCode: 1 },
      message: /^Cannot write the receipt \S+: ENOENT.*\. What is paid stays paid\. Run the same command again/,
    });
  });

  it('leave no draft behind when they cannot be written', async () => {
    await using folder = await makeTemporaryFolder();
    const path = join(folder.path, 'audit.csv');
    const read = async function* (): AsyncGenerator<never> {
      yield* [];
      throw new Error('The findings cannot be read.');
    };
    await assert.rejects(writeFindings(path, { read }), /cannot be read/);
    assert.deepEqual(await readdir(folder.path), []);
  });
});

describe('the files of an audit', () => {
  it('that cannot be written are named, also while the audit runs', { skip: !existsSync('/dev/full') }, async () => {
    await using folder = await makeTemporaryFolder();
    const [state, full] = [join(folder.path, 'state'), join(folder.path, 'state.findings')];
    await symlink('/dev/full', full);
    const findings = await openFindings(state);
    findings.add({ slot: 1, executedAt: null, signature: '', kind: 'rotation', changes: null });
    const isNamed = (error: unknown) => {
      assert.ok(error instanceof CliError && error.code === 'ERR_FILE' && exitCodeOf(error) === 1, String(error));
      assert.match(
        error.message,
        /^Cannot write .*state\.findings: ENOSPC.*\. Make room there, or name another file\.$/,
      );
      return true;
    };
    await assert.rejects(findings.read().next(), isNamed);
    await findings.close();
    await assert.rejects(openFindings(join(import.meta.filename, 'state')), /Cannot read the state .*ENOTDIR/);
  });
});
