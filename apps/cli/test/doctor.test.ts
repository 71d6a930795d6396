import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { startLocalnet } from '@flywheel/localnet';
import { callRpc, createRpcTransport } from '@flywheel/solana-rpc';
import { waitUntil } from '@flywheel/testing/batches';
import { setJobs, startTestJobs } from '@flywheel/testing/jobs';
import { startPgBouncer, WITH_PGBOUNCER } from '@flywheel/testing/pgbouncer';
import { migrate, openTestDatabase } from '@flywheel/testing/postgres';
import { randomAddress } from '@flywheel/testing/records';
import { type Check, TOPICS } from '../src/commands/doctor/check.ts';
import { checkQueue } from '../src/commands/doctor/database.ts';
import { AS_MAINNET, startLyingNode } from './lying-node.ts';
import { parseDocument, runCommand } from './run-command.ts';
import { startTestService, type TestService } from './test-service.ts';
import { type TemporaryFolder, writeWallet } from './wallet-files.ts';

/** An unassigned port below 1024: nothing listens on it. */
const UNUSED_PORT = '4';

const CONFIG = { noncePoolSize: 32 } as Parameters<typeof checkQueue>[0]; // checkQueue reads nothing else

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

  /** Runs the doctor, checks its exit code, and returns the checks that did not pass, by topic. */
  async function runDoctor(
    changes: Record<string, string> = {},
  ): Promise<{ [topic: string]: Pick<Check, 'state' | 'text'> }> {
    const { exitCode, stdout, stderr } = await runCommand(['doctor', '--json'], { ...env, ...changes });
    const { ok, findings }: { ok: boolean; findings: Check[] } = JSON.parse(stdout);
    assert.equal(ok, !findings.some(({ state }) => state === 'failure'));
    assert.equal(exitCode, ok ? 0 : 3);
    assert.equal(stderr === '' ? null : JSON.parse(stderr).error, ok ? null : 'ERR_UNHEALTHY');
    const unwell = findings.filter(({ state }) => state !== 'ok');
    assert.ok(unwell.every(({ remedy }) => remedy?.endsWith('.')));
    return Object.fromEntries(unwell.map(({ topic, state, text }) => [topic, { state, text }]));
  }

  it('passes all checks of a running service', async () => {
    // The pool of nonces is being filled when the service is ready.
    const found = await waitUntil('the nonces', runDoctor, ({ nonces }) => nonces === undefined);
    assert.deepEqual(found, {});
    const { stdout } = await runCommand(['doctor'], env);
    const lines = stdout.split('\n').slice(0, -2);
    const topics = lines.map((line) => /^✓ (\S+) /.exec(line)?.[1]);
    assert.deepEqual([...new Set(topics)], TOPICS);
    assert.match(stdout, new RegExp(`${lines.length} checks: all passed\\.\n$`));
  });

  it('reports invalid variables and runs no other check', async () => {
    const found = await runDoctor({ PORT: 'x', NONCE_POOL_SIZE: '-1' });
    assert.deepEqual(Object.keys(found), ['configuration']);
    const { stdout } = await runCommand(['doctor'], { ...env, PORT: 'x', NONCE_POOL_SIZE: '-1' });
    assert.match(stdout, /✗ configuration +PORT is "x"; it takes ports from 0 to 65535\./);
    assert.match(stdout, /✗ configuration +NONCE_POOL_SIZE is "-1"/);
    assert.match(stdout, /3 checks: 2 failed\.\n$/);
  });

  it('reports a database that does not answer, without its password, and runs all other checks', async () => {
    const { database: found, ...rest } = await runDoctor({
      DATABASE_URL: `postgres://u:secret@127.0.0.1:${UNUSED_PORT}/fw`,
    });
    assert.deepEqual(rest, {});
    assert.equal(found?.state, 'failure');
    assert.match(found?.text ?? '', /The database at 127\.0\.0\.1:4\/fw does not answer: connect ECONNREFUSED/);
  });

  it('reports what a pooler in front of the database needs', WITH_PGBOUNCER, async () => {
    const pgbouncer = await startPgBouncer(env.DATABASE_URL ?? '', ['flywheel']);
    const pooled = { DATABASE_URL: pgbouncer.through(env.DATABASE_URL ?? '') };
    try {
      const { stdout } = await runCommand(['doctor'], { ...env, ...pooled });
      const issues = stdout.split('\n').filter((line) => /^[✗!] pooler/.test(line));
      assert.match(issues[0] ?? '', /^✗ .*DATABASE_DIRECT_URL is not set\./);
      assert.match(issues[1] ?? '', /^! .*no statement_timeout or no idle_in_transaction_session_timeout/);
      assert.match(stdout, /✓ database +PostgreSQL 18/);
      const other = { ...pooled, DATABASE_DIRECT_URL: `postgres://u:secret@127.0.0.1:${UNUSED_PORT}/fw` };
      const { pooler } = await runDoctor(other);
      assert.equal(pooler?.state, 'failure');
      assert.match(pooler?.text ?? '', /^DATABASE_DIRECT_URL does not answer: connect ECONNREFUSED/);
    } finally {
      await pgbouncer.stop();
    }
  });

  it('lists the pending migrations of a database', async () => {
    const empty = await openTestDatabase();
    await empty.db.schema.dropSchema('public').cascade().execute();
    await empty.db.schema.createSchema('public').execute();
    const found = await runDoctor({ DATABASE_URL: empty.url });
    assert.deepEqual(Object.keys(found), ['schema']);
    assert.match(found.schema?.text ?? '', /pending migrations: 0001-projects-and-batches, /);
    await migrate(empty.db);
    assert.equal((await runDoctor({ DATABASE_URL: empty.url })).schema, undefined);
  });

  it('warns of a login that owns the tables when no roles are set, and reports a role that is missing', async () => {
    const { roles } = await runDoctor({ DATABASE_SERVE_ROLE: '', DATABASE_WORK_ROLE: '' });
    assert.equal(roles?.state, 'warning');
    assert.match(roles?.text ?? '', /^The login flywheel owns the tables, and DATABASE_SERVE_ROLE and .* are not set/);
    const found = await runDoctor({ DATABASE_SERVE_ROLE: 'no_such_role' });
    assert.deepEqual(found.roles, { state: 'failure', text: 'The role no_such_role does not exist.' });
  });

  it('reports that no cluster answers and that the balance cannot be read', async () => {
    const found = await runDoctor({ LOCALNET_PORT: UNUSED_PORT });
    assert.deepEqual(Object.keys(found), ['cluster', 'balance']);
    assert.match(found.cluster?.text ?? '', /No cluster answers: 127\.0\.0\.1:4 .*ECONNREFUSED/);
  });

  it('checks each node of a list, and names them by host only', async () => {
    const { port, host } = new URL(service.rpcUrl);
    const other = await startLocalnet({ squadsProgram: 'emulation' });
    const late = { kind: 'behind', method: '*', slots: [200], node: 'late' };
    await callRpc(createRpcTransport({ url: service.rpcUrl }), 'localnet_warp', [{ slots: 400 }]);
    await callRpc(createRpcTransport({ url: service.rpcUrl }), 'localnet_setFault', [late]);
    const rpcUrls = [`http://127.0.0.1:${UNUSED_PORT}/key-1`, `http://localhost:${port}/nodes/late`, service.rpcUrl];
    const signers = { OPERATOR_ADDRESS: wallet.signer.address, COMPANY_ADDRESS: wallet.signer.address };
    const list = { ...signers, SOLANA_RPC_URL: [...rpcUrls, `${other.url}/nodes/key-2`].join(', ') };
    const { stdout } = await runCommand(['doctor'], { ...env, ...list });
    await other.stop();
    await callRpc(createRpcTransport({ url: service.rpcUrl }), 'localnet_clearFaults');
    assert.doesNotMatch(stdout, /key-|\/nodes/);
    const checks = stdout.split('\n').filter((line) => /^. cluster/.test(line));
    assert.match(
      checks[0] ?? '',
      /^! cluster +127\.0\.0\.1:4 does not answer: .*ECONNREFUSED.* The other nodes are used\.$/,
    );
    assert.match(
      checks[1] ?? '',
      /^! cluster +localhost:\d+ answers: .*, slot \d+, (19\d|2\d\d) behind the newest node/,
    );
    assert.ok(checks[2]?.startsWith(`✓ cluster        ${host} answers: a private cluster`), checks[2]);
    assert.match(
      checks[3] ?? '',
      /^✗ cluster +127\.0\.0\.1:\d+ is of another cluster than localhost:\d+: genesis \w+, not \w+\.$/,
    );
    assert.match(stdout, /balance +The operator holds/);
  });

  it('reports who is served, and strangers without a bound on a cluster that is not local', async () => {
    const withoutOperators = await runDoctor({ REGISTRATION: 'approval', COMPANY_OPERATORS: '' });
    assert.match(
      withoutOperators.registration?.text ?? '',
      /^REGISTRATION is approval: .* COMPANY_OPERATORS is empty, so none can/,
    );
    assert.equal(
      (await runDoctor({ REGISTRATION: 'closed', COMPANY_OPERATORS: wallet.signer.address })).registration,
      undefined,
    );
    await using mainnet = await startLyingNode(service.rpcUrl, AS_MAINNET);
    const signers = { OPERATOR_ADDRESS: wallet.signer.address, COMPANY_ADDRESS: wallet.signer.address };
    const there = { ...signers, SOLANA_RPC_URL: mainnet.url };
    const { registration } = await runDoctor(there);
    assert.equal(registration?.state, 'failure');
    assert.match(registration?.text ?? '', /^REGISTRATION is open and MAX_LOCKED_LAMPORTS_UNADMITTED is not set/);
    const bounded = await runDoctor({ ...there, MAX_LOCKED_LAMPORTS_UNADMITTED: '1000000000' });
    assert.equal(bounded.registration, undefined);
  });

  it('reports a key of webhooks that cannot be read, with which no process starts, and no part of it', async () => {
    const missing = await runDoctor({ WEBHOOK_KEY_FILE: '/nowhere' });
    assert.match(missing.configuration?.text ?? '', /^WEBHOOK_KEY_FILE \/nowhere cannot be read: /);
    const short = await folder.write('webhook-key', 'aHVudGVyMg==');
    assert.deepEqual(await runDoctor({ WEBHOOK_KEY_FILE: short }), {
      configuration: { state: 'failure', text: `WEBHOOK_KEY_FILE ${short} must hold base64 of at least 32 bytes.` },
    });
  });

  it('reports what is wrong with a signer, and no part of its key', async () => {
    const broken = await folder.write('broken.json', '[1,2,3]');
    const found = await runDoctor({
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
    const kms = await runDoctor({ COMPANY_SIGNER: 'kms://gcp/key?address=1' });
    assert.match(kms.company?.text ?? '', /Signer kms:\/\/gcp\/key: it names gcp; it may name vault or aws\./);
  });

  it('rejects one key for both signers', async () => {
    const operator = join(folder.path, 'keys', 'operator.json');
    const found = await runDoctor({ OPERATOR_SIGNER: operator, COMPANY_SIGNER: operator });
    assert.match(found.signers?.text ?? '', /are the same key/);
  });

  it('rejects every other combination of keys with which no worker starts', async () => {
    const [operator, company] = ['operator', 'company'].map((name) => join(folder.path, 'keys', `${name}.json`));
    assert.ok(operator && company);
    const textOf = async (changes: Record<string, string>) => (await runDoctor(changes)).signers?.text ?? '';
    assert.match(await textOf({ OPERATOR_SIGNER_PREVIOUS: operator }), /^OPERATOR_SIGNER_PREVIOUS holds \w+, as /);
    assert.match(await textOf({ OPERATOR_SIGNER_PREVIOUS: company }), / is a key of the operator and of the company/);
    assert.match(await textOf({ COMPANY_SIGNER_PREVIOUS: operator }), / is a key of the operator and of the company/);
    const [, address] = /Operator (\w+); its key/.exec((await runCommand(['doctor'], env)).stdout) ?? [];
    assert.match(await textOf({ RECOVERY_ADDRESS: address ?? '' }), /^RECOVERY_ADDRESS is \w+, the operator or/);
  });

  it('reports an operator without funds, and one that is not a member of the projects', async () => {
    assert.match((await runDoctor({ OPERATOR_SIGNER: wallet.file })).balance?.text ?? '', /holds 0 SOL: too little/);
    await register();
    const found = await runDoctor({ OPERATOR_SIGNER: wallet.file });
    assert.deepEqual(Object.keys(found), ['operator', 'balance', 'nonces']);
    assert.match(found.operator?.text ?? '', /^The only project has another operator, e\.g\. /);
    await runCommand(['localnet', 'fund', wallet.signer.address, '--sol', '0.3'], { SOLANA_RPC_URL: service.rpcUrl });
    const { balance } = await runDoctor({ OPERATOR_SIGNER: wallet.file });
    assert.equal(balance?.state, 'warning');
    assert.match(balance?.text ?? '', /room for about \d\d open pipelines/);
  });

  it('accepts a previous company approver once COMPANY_SIGNER_PREVIOUS names it', async () => {
    const replaced = { COMPANY_SIGNER: wallet.file };
    assert.match((await runDoctor(replaced)).company?.text ?? '', /^The only project has another company approver/);
    const before = join(folder.path, 'keys', 'company.json');
    assert.deepEqual(await runDoctor({ ...replaced, COMPANY_SIGNER_PREVIOUS: before }), {});
    const gone = await runDoctor({ ...replaced, COMPANY_SIGNER_PREVIOUS: '/nowhere.json' });
    assert.deepEqual(Object.keys(gone), ['company']);
  });

  it('accepts a previous operator once OPERATOR_SIGNER_PREVIOUS names it, and counts its projects', async () => {
    const replaced = { OPERATOR_SIGNER: wallet.file };
    assert.match((await runDoctor(replaced)).operator?.text ?? '', /^The only project has another operator/);
    const before = join(folder.path, 'keys', 'operator.json');
    const both = await runDoctor({ ...replaced, OPERATOR_SIGNER_PREVIOUS: before });
    assert.deepEqual(Object.keys(both), ['balance', 'nonces']);
    const { stdout } = await runCommand(['doctor'], { ...env, ...replaced, OPERATOR_SIGNER_PREVIOUS: before });
    assert.match(stdout, /operator +1 project with the previous operator \w+, and [1-9]\d* nonces of it\./);
    const gone = await runDoctor({ ...replaced, OPERATOR_SIGNER_PREVIOUS: '/nowhere.json' });
    assert.equal(gone.operator?.state, 'failure');
  });

  it('only warns of another operator or approver where nothing is signed: workers need the key, and serve must not have it', async () => {
    const addresses = { OPERATOR_ADDRESS: wallet.signer.address, COMPANY_ADDRESS: randomAddress() };
    const found = await runDoctor(addresses);
    assert.deepEqual([found.operator?.state, found.company?.state], ['warning', 'warning']);
    assert.match(found.operator?.text ?? '', /^The only project has another operator/);
    const { stdout } = await runCommand(['doctor'], { ...env, ...addresses });
    assert.match(stdout, /Workers need that key as OPERATOR_SIGNER_PREVIOUS, and no other process does/);
    assert.match(stdout, /Workers need that key as COMPANY_SIGNER_PREVIOUS, and no other process does/);
  });

  it('fails if a previous operator cannot pay for the projects that still have it', async () => {
    const previous = await writeWallet(folder, 'previous.json');
    const operators = service.database.db.updateTable('flywheels');
    const { operator } = await service.database.db.selectFrom('flywheels').select('operator').executeTakeFirstOrThrow();
    const both = { OPERATOR_SIGNER_PREVIOUS: previous.file };
    assert.equal((await runDoctor(both)).balance, undefined);
    await operators.set({ operator: previous.signer.address }).execute();
    const { balance } = await runDoctor(both);
    await operators.set({ operator }).execute();
    assert.equal(balance?.state, 'failure');
    assert.match(balance?.text ?? '', /^The previous operator holds 0 SOL: too little to set up a batch/);
  });

  it('counts nonces in words that add up, without those of a previous operator', () => {
    const previous = wallet.signer.address;
    const operators = { present: randomAddress(), previous };
    const textOf = (available: number) => {
      const nonces = [
        { operator: null, state: 'available', count: available },
        { operator: previous, state: 'available', count: 32 },
        { operator: null, state: 'leased', count: 4 },
        { operator: null, state: 'creating', count: 1 },
        { operator: null, state: 'refreshing', count: 2 },
      ] as const;
      const service = {
        nonces,
        jobs: [],
        partitionsAheadSeconds: 0,
        workerSeenSecondsAgo: 1,
        members: [],
        waitingRotations: [],
      };
      const [check] = checkQueue(CONFIG, service, operators);
      return [check?.state, check?.text];
    };
    const [free, few, none] = [35, 7, 0].map(textOf);
    assert.deepEqual(free, ['ok', '35 nonces are free (NONCE_POOL_SIZE is 32), 4 leased, 3 being prepared.']);
    assert.deepEqual(few, ['warning', '7 nonces are free (NONCE_POOL_SIZE is 32), 4 leased, 3 being prepared.']);
    assert.equal(none?.[0], 'failure');
  });

  it('names the nonces of a key that is not set and that no project has, and the rent that they hold', () => {
    const [present, previous, absent, ofProject] = [1, 2, 3, 4].map(randomAddress);
    assert.ok(present && absent && ofProject);
    const nonces = [present, previous ?? null, absent, absent, ofProject].map((operator) => {
      return { operator, state: 'available', count: 16 } as const;
    });
    const members = [{ operator: ofProject, company: randomAddress(), projects: 1 }];
    const service = {
      nonces,
      jobs: [],
      partitionsAheadSeconds: 0,
      workerSeenSecondsAgo: 1,
      members,
      waitingRotations: [],
    };
    const checks = checkQueue(CONFIG, service, { present, previous });
    const [own, stranded] = checks.filter(({ topic }) => topic === 'nonces');
    assert.match(own?.text ?? '', /^16 nonces are free/);
    assert.equal(stranded?.text, `32 nonces of ${absent}, whose key is not set, hold 0.04632576 SOL of rent.`);
    assert.match(stranded?.remedy ?? '', /^Set OPERATOR_SIGNER_PREVIOUS .* flywheel recover-operator/);
    assert.equal(checks.filter(({ topic }) => topic === 'nonces').length, 2);
  });

  it('names each rotation that waits for open batches, and what it waits for', () => {
    const waitingRotations = [{ batchId: 'b1', message: 'It is held up: it waits for 2 open batches.' }];
    const service = {
      nonces: [],
      jobs: [],
      partitionsAheadSeconds: 0,
      workerSeenSecondsAgo: 1,
      members: [],
      waitingRotations,
    };
    const checks = checkQueue(CONFIG, service, { present: undefined, previous: undefined });
    const { state, text } = checks.find(({ topic }) => topic === 'rotation') ?? {};
    assert.deepEqual([state, text], ['warning', 'Rotation b1: It is held up: it waits for 2 open batches.']);
  });

  it('reports stuck jobs, a missing worker and an empty nonce pool', async () => {
    const idle = await openTestDatabase();
    const found = await runDoctor({ DATABASE_URL: idle.url, FLYWHEEL_URL: `http://127.0.0.1:${UNUSED_PORT}` });
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
    const stuck = await runDoctor({ DATABASE_URL: idle.url });
    assert.equal(stuck.worker?.state, 'failure');
    assert.equal(stuck.jobs?.text, '1 of 1 job stuck, e.g. the node said no.');
  });

  it('asks a service that listens on an IPv6 address', async () => {
    const { stdout } = await runCommand(['doctor'], { ...env, FLYWHEEL_URL: '', HOST: '::1', PORT: UNUSED_PORT });
    assert.match(stdout, /No service answers at http:\/\/\[::1\]:4: connect E/);
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
