import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setJobs, startTestJobs } from '@flywheel/testing/jobs';
import { migrate, openTestDatabase } from '@flywheel/testing/postgres';
import type { Finding } from '../src/commands/doctor/check.ts';
import { parseDocument, runCommand } from './run-command.ts';
import { startTestService, type TestService } from './test-service.ts';
import { type TemporaryFolder, writeWallet } from './wallet-files.ts';

/** Nothing listens on it: below 1024, and assigned to nothing. */
const NOBODY = '4';

describe('flywheel doctor', () => {
  let folder: TemporaryFolder;
  let service: TestService;
  let env: Record<string, string>;
  let wallet: Awaited<ReturnType<typeof writeWallet>>;

  before(async () => {
    service = await startTestService();
    folder = service.folder;
    wallet = await writeWallet(folder, 'wallet.json');
    env = { ...service.settings, FLYWHEEL_URL: service.url, LOCALNET_PORT: new URL(service.rpcUrl).port };
  });
  after(async () => {
    await service?.stop();
  });

  /** What is not well, by topic; and that the exit code says so. */
  async function examine(
    changes: Record<string, string> = {},
  ): Promise<{ [topic: string]: Pick<Finding, 'state' | 'text'> }> {
    const { exitCode, stdout, stderr } = await runCommand(['doctor', '--json'], { ...env, ...changes });
    const { ok, findings }: { ok: boolean; findings: Finding[] } = JSON.parse(stdout);
    assert.equal(ok, !findings.some(({ state }) => state === 'failure'));
    assert.equal(exitCode, ok ? 0 : 3);
    assert.equal(stderr === '' ? null : JSON.parse(stderr).error, ok ? null : 'ERR_UNHEALTHY');
    const unwell = findings.filter(({ state }) => state !== 'ok');
    assert.ok(unwell.every(({ remedy }) => remedy?.endsWith('.')));
    return Object.fromEntries(unwell.map(({ topic, state, text }) => [topic, { state, text }]));
  }

  it('finds nothing wrong with a service that runs', async () => {
    assert.deepEqual(await examine(), {});
    const { stdout } = await runCommand(['doctor'], env);
    const topics = stdout.split('\n').map((line) => line.split(/\s+/).slice(0, 2).join(' '));
    assert.deepEqual(topics.slice(0, -2), [
      ...['✓ versions', '✓ configuration', '✓ database', '✓ schema', '✓ cluster', '✓ program', '✓ clock'],
      ...['✓ operator', '✓ company', '✓ balance', '✓ nonces', '✓ worker', '✓ jobs', '✓ http'],
    ]);
    assert.match(stdout, /14 checks: all is well\.\n$/);
  });

  it('names a variable that is wrong, and looks no further', async () => {
    const found = await examine({ PORT: 'x', NONCE_POOL_SIZE: '-1' });
    assert.deepEqual(Object.keys(found), ['configuration']);
    const { stdout } = await runCommand(['doctor'], { ...env, PORT: 'x', NONCE_POOL_SIZE: '-1' });
    assert.match(stdout, /✗ configuration +PORT is "x"; it takes ports from 0 to 65535\./);
    assert.match(stdout, /✗ configuration +NONCE_POOL_SIZE is "-1"/);
    assert.match(stdout, /3 checks: 2 failed\.\n$/);
  });

  it('says that the database does not answer, without its password, and looks at all else', async () => {
    const { database: found, ...rest } = await examine({ DATABASE_URL: `postgres://u:secret@127.0.0.1:${NOBODY}/fw` });
    assert.deepEqual(rest, {});
    assert.equal(found?.state, 'failure');
    assert.match(found?.text ?? '', /The database at 127\.0\.0\.1:4\/fw does not answer: connect ECONNREFUSED/);
  });

  it('says which migrations a database lacks', async () => {
    const empty = await openTestDatabase();
    await empty.db.schema.dropSchema('public').cascade().execute();
    await empty.db.schema.createSchema('public').execute();
    const found = await examine({ DATABASE_URL: empty.url });
    assert.deepEqual(Object.keys(found), ['schema']);
    assert.match(found.schema?.text ?? '', /migrations to apply: 0001-projects-and-batches, /);
    await migrate(empty.db);
    assert.equal((await examine({ DATABASE_URL: empty.url })).schema, undefined);
  });

  it('says that no cluster answers, and that it cannot tell the balance', async () => {
    const found = await examine({ LOCALNET_PORT: NOBODY });
    assert.deepEqual(Object.keys(found), ['cluster', 'balance']);
    assert.match(found.cluster?.text ?? '', /No cluster answers at 127\.0\.0\.1:4: .*ECONNREFUSED/);
  });

  it('says what is wrong with a signer, and never a part of its key', async () => {
    const broken = await folder.write('broken.json', '[1,2,3]');
    const found = await examine({
      OPERATOR_SIGNER: '/nowhere.json',
      COMPANY_SIGNER: broken,
    });
    assert.deepEqual(found, {
      operator: {
        state: 'failure',
        text: 'Keypair file /nowhere.json does not exist.',
      },
      company: { state: 'failure', text: `Keypair file ${broken} holds 3 numbers; a keypair has 64.` },
    });
    const kms = await examine({ COMPANY_SIGNER: 'kms://gcp/key?address=1' });
    assert.match(kms.company?.text ?? '', /Signer kms:\/\/gcp\/key: it names gcp; it may name vault or aws\./);
  });

  it('refuses one key for both signers', async () => {
    const operator = join(folder.path, 'keys', 'operator.json');
    const found = await examine({ OPERATOR_SIGNER: operator, COMPANY_SIGNER: operator });
    assert.match(found.signers?.text ?? '', /are the same key/);
  });

  it('says that an operator is poor, and is not the one of the projects', async () => {
    assert.match((await examine({ OPERATOR_SIGNER: wallet.file })).balance?.text ?? '', /holds 0 SOL: too little/);
    await register();
    const found = await examine({ OPERATOR_SIGNER: wallet.file });
    assert.deepEqual(Object.keys(found), ['operator', 'balance']);
    assert.match(found.operator?.text ?? '', /^The one project knows another operator, e\.g\. /);
    await runCommand(['localnet', 'fund', wallet.signer.address, '--sol', '0.3'], { SOLANA_RPC_URL: service.rpcUrl });
    const { balance } = await examine({ OPERATOR_SIGNER: wallet.file });
    assert.equal(balance?.state, 'warning');
    assert.match(balance?.text ?? '', /room for about \d\d open pipelines/);
  });

  it('takes a company approver of before for what it is, once it is named', async () => {
    const replaced = { COMPANY_SIGNER: wallet.file };
    assert.match((await examine(replaced)).company?.text ?? '', /^The one project knows another company approver/);
    const before = join(folder.path, 'keys', 'company.json');
    assert.deepEqual(await examine({ ...replaced, COMPANY_SIGNER_PREVIOUS: before }), {});
    const gone = await examine({ ...replaced, COMPANY_SIGNER_PREVIOUS: '/nowhere.json' });
    assert.deepEqual(Object.keys(gone), ['company']);
  });

  it('says that jobs are stuck, that no worker runs and that the pool is empty', async () => {
    const idle = await openTestDatabase();
    const found = await examine({ DATABASE_URL: idle.url, FLYWHEEL_URL: `http://127.0.0.1:${NOBODY}` });
    assert.deepEqual(
      Object.entries(found).map(([topic, { state }]) => [topic, state]),
      [
        ['nonces', 'failure'],
        ['worker', 'warning'],
        ['http', 'warning'],
      ],
    );
    const jobs = await startTestJobs(idle);
    await jobs.enqueue(idle.db, { type: 'refill-nonces' });
    await setJobs(idle.db, 'failing', 'the node said no');
    await jobs.stop();
    const stuck = await examine({ DATABASE_URL: idle.url });
    assert.equal(stuck.worker?.state, 'failure');
    assert.equal(stuck.jobs?.text, '1 of 1 job stuck, e.g. the node said no.');
  });

  async function register(): Promise<void> {
    const chain = { SOLANA_RPC_URL: service.rpcUrl, FLYWHEEL_URL: service.url };
    const owner = await writeWallet(folder, 'owner.json');
    await runCommand(['localnet', 'fund', owner.signer.address, '--sol', '1'], chain);
    const created = await runCommand(['localnet', 'create-token', '--decimals', '6', '--json'], chain);
    const { mint } = parseDocument<{ mint: string }>(created);
    const limits = ['--burn-limit', '1', '--airdrop-limit', '1', '--scopes', 'burn'];
    parseDocument(await runCommand(['register', '--wallet', owner.file, '--mint', mint, ...limits, '--json'], chain));
  }
});
