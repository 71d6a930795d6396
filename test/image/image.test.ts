import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chown, copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { loadSigner } from '@flywheel/service/internal/solana/signer.ts';
import { executeSigned, openBatch } from '@flywheel/testing/batches';
import { burnPipeline } from '@flywheel/testing/client';
import { TEST_ROLES } from '@flywheel/testing/postgres';
import { createPairedServer, findFreePort, type PairedServer } from '@flywheel/testing/postgres-pair';
import { createProject, requireOk } from '@flywheel/testing/project';
import { openWorld, type World } from '@flywheel/testing/world';
import { parse } from 'yaml';
import { findMissing } from '../../scripts/image.ts';
import { ROOT } from '../lanes.ts';
import { type Container, type MountedImage, mountImage, startContainer } from './container.ts';

/** A build installs all packages twice; where Debian was not made before, that takes two minutes more. */
const BUILD_TIMEOUT_MS = 20 * 60_000;
const TAG = 'flywheel-test';
/** Twice what /app holds would mean that packages of the build or of the console are in it. */
const MAX_APP_MIB = 150;

const missing =
  findMissing() ??
  (spawnSync('runc', ['--version']).error
    ? 'runc is not installed: apt-get install --no-install-recommends runc'
    : null);

describe('the image, built without an engine', { skip: missing ?? false }, () => {
  let folder: string;
  let image: MountedImage;
  let database: PairedServer;
  let world: World;
  let settings: ComposeService;
  const containers: Container[] = [];

  before(
    async () => {
      folder = await mkdtemp(join(tmpdir(), 'flywheel-image-test-'));
      const compose = await readFile(join(ROOT, 'deploy/compose.yaml'), 'utf8');
      settings = parse(compose, { merge: true }).services.work;
      const storage = join(folder, 'storage.conf');
      const driver = process.env.STORAGE_DRIVER ?? 'overlay';
      const places = `graphroot = "${join(folder, 'graph')}"\nrunroot = "${join(folder, 'run')}"\n`;
      await writeFile(storage, `[storage]\ndriver = "${driver}"\n${places}`);
      process.env.CONTAINERS_STORAGE_CONF = storage;
      const built = spawnSync(process.execPath, ['scripts/image.ts', '--tag', TAG], { cwd: ROOT, encoding: 'utf8' });
      assert.equal(built.status, 0, built.stderr);
      image = await mountImage(TAG);
      database = await createPairedServer('image');
      await database.start();
    },
    { timeout: BUILD_TIMEOUT_MS },
  );
  after(async () => {
    await Promise.all(containers.map((each) => each.stop()));
    await world?.stop();
    await database?.remove();
    image?.unmount();
    await rm(folder, { recursive: true });
  });

  async function start(command: string, environment: Readonly<Record<string, string>>, secrets?: string) {
    const container = await startContainer(image, {
      command: [command],
      environment,
      temporary: settings.tmpfs,
      ...(secrets !== undefined && { secrets }),
    });
    containers.push(container);
    return container;
  }

  it('migrates a database, serves and works, as a user without rights on files that it cannot change', async () => {
    const openDatabase = async () => {
      const migration = await start('migrate', { DATABASE_URL: database.url, ...TEST_ROLES });
      assert.equal(await migration.ended, 0);
      return { url: database.url, close: async () => undefined };
    };
    world = await openWorld({}, { openDatabase, roles: new Set() });
    const { OPERATOR_SIGNER = '', COMPANY_SIGNER = '', FLYWHEEL_DATA_DIR: _, ...shared } = world.environment;
    const secrets = join(folder, 'secrets');
    await mkdir(secrets);
    for (const [name, path] of Object.entries({ operator: OPERATOR_SIGNER, company: COMPANY_SIGNER })) {
      await copyFile(path, join(secrets, name));
      await chown(join(secrets, name), image.user.uid, image.user.gid);
    }
    const metricsPorts = [String(await findFreePort()), String(await findFreePort())] as const;
    const serve = await start('serve', {
      ...shared,
      METRICS_PORT: metricsPorts[0],
      OPERATOR_ADDRESS: world.operator.address,
      COMPANY_ADDRESS: (await loadSigner(COMPANY_SIGNER)).address,
    });
    const signers = { OPERATOR_SIGNER: '/run/secrets/operator', COMPANY_SIGNER: '/run/secrets/company' };
    const work = await start('work', { ...shared, METRICS_PORT: metricsPorts[1], ...signers }, secrets);
    const { url } = JSON.parse((await serve.firstLine) ?? '{}');
    assert.ok(url, 'serve is ready');
    assert.ok(await work.firstLine, 'work is ready');

    const served: World = Object.create(world, { url: { value: url } });
    const project = await createProject(served);
    const batch = await openBatch(served, project, [burnPipeline()]);
    const { status } = requireOk(await executeSigned(served, project, batch, { prefer: 'wait=60' }));
    assert.equal(status, 'EXECUTED');
    for (const path of ['/', '/docs', '/docs/operating']) {
      const page = await fetch(new URL(path, url));
      assert.match(await page.text(), /^<!doctype html>/i, path);
    }

    const { read_only, cap_drop, security_opt } = settings;
    assert.deepEqual([read_only, cap_drop, security_opt], [true, ['ALL'], ['no-new-privileges:true']], 'as here');
    for (const container of [serve, work]) {
      const rights = await container.readStatus();
      assert.match(rights, new RegExp(`^Uid:\\t${image.user.uid}\\t`, 'm'));
      assert.match(rights, /^CapEff:\t0+$/m);
      assert.match(rights, /^CapBnd:\t0+$/m);
      assert.match(rights, /^NoNewPrivs:\t1$/m);
      const written = container.execute('node', '-e', "fs.writeFileSync('/app/written', '')");
      assert.match(written.stderr, /EROFS/);
      for (const path of ['/tmp', '/var/lib/flywheel']) {
        const kept = container.execute('node', '-e', `fs.writeFileSync('${path}/written', '')`);
        assert.equal(kept.status, 0, kept.stderr);
      }
      assert.equal(container.execute(...image.healthCheck).status, 0, 'the health check passes');
    }
    assert.notEqual(image.user.uid, 0);
    assert.deepEqual(await Promise.all([serve.stop(), work.stop()]), [0, 0]);
  });

  it('holds what it runs, and nothing of tests, builds or the packages that they need', async (test) => {
    const app = join(image.files, 'app');
    assert.deepEqual((await readdir(app)).toSorted(), [
      ...['.npmrc', 'apps', 'docs', 'examples', 'node_modules', 'package-lock.json', 'package.json', 'packages'],
    ]);
    assert.deepEqual((await readdir(join(app, 'apps/console'))).toSorted(), ['dist', 'package.json']);
    const { packages } = JSON.parse(await readFile(join(app, 'package-lock.json'), 'utf8')) as LockFile;
    const unwanted = Object.entries(packages).filter(
      ([path, { dev, optional }]) => path.includes('node_modules/') && (dev || optional),
    );
    assert.ok(unwanted.length > 100);
    const ofConsole = ['react', 'lucide-react', '@tanstack/react-query'].map((name) => `node_modules/${name}`);
    const places = [...unwanted.map(([path]) => path), ...ofConsole, 'packages/testing/src', 'node_modules/.cache'];
    assert.deepEqual(
      places.filter((path) => existsSync(join(app, path))),
      [],
    );
    const own = await readdir(app, { recursive: true });
    const tests = own.filter((path) => !path.includes('node_modules') && /(^|\/)test(\/|$)|\.test\.ts$/.test(path));
    assert.deepEqual(tests, []);
    assert.deepEqual(
      ['root/.npm', 'root/.npmrc', 'root/certificates.pem'].filter((path) => existsSync(join(image.files, path))),
      [],
    );
    const mebibytes = (path: string) =>
      Math.round(Number.parseInt(spawnSync('du', ['-sk', path], { encoding: 'utf8' }).stdout, 10) / 1_024);
    test.diagnostic(`The image holds ${mebibytes(image.files)} MiB, ${mebibytes(app)} of them in /app.`);
    assert.ok(mebibytes(app) < MAX_APP_MIB);
  });
});

interface ComposeService {
  readonly tmpfs: readonly string[];
  readonly read_only: unknown;
  readonly cap_drop: unknown;
  readonly security_opt: unknown;
}

interface LockFile {
  readonly packages: Readonly<Record<string, { readonly dev?: boolean; readonly optional?: boolean }>>;
}
