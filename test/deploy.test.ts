import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { glob, readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { MAX_WAIT_SECONDS } from '@flywheel/api';
import { settingRows } from '@flywheel/service/internal/config.ts';
import { parseAllDocuments } from 'yaml';
import { findTaggedImages, reportUnpinned } from '../scripts/unpinned.ts';
import { ROOT } from './lanes.ts';

const read = (path: string) => readFile(new URL(`../${path}`, import.meta.url), 'utf8');

/** Reads the documents of a YAML file. The parser returns what it could read of an invalid one too, which no other program does. */
async function readYaml(path: string) {
  return parseAllDocuments(await read(path), { merge: true }).map((document) => {
    assert.deepEqual(document.errors, [], path);
    return document.toJS();
  });
}

async function readDeployment(name: string) {
  const objects = await readYaml('deploy/kubernetes/flywheel.yaml');
  return objects.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === name);
}

describe('the deployment files', () => {
  it('set only variables that the service reads', async () => {
    const known = new Set(settingRows().map((row) => row.split('`')[1]));
    assert.ok(known.has('DATABASE_URL'));
    const ours =
      /\b(?:HOST|PORT|PUBLIC_URL|TRUST_PROXY|LOG_LEVEL|[A-Z]+_(?:PORT|URL|SIGNER|ADDRESS|OPERATORS|DIR|ROLE))(?=[:=,]| [:=])/g;
    for (const path of ['deploy/Dockerfile', 'deploy/compose.yaml', 'deploy/kubernetes/flywheel.yaml']) {
      const named = new Set((await read(path)).match(ours));
      assert.ok(named.size > 0, path);
      assert.deepEqual(
        [...named].filter((name) => !known.has(name)),
        [],
        path,
      );
    }
  });

  it('let a proxy wait longer than the longest execution is waited for', async () => {
    const [, seconds] = /timeout server (\d+)s/.exec(await read('deploy/haproxy/shards.cfg')) ?? [];
    assert.ok(Number(seconds) > MAX_WAIT_SECONDS, seconds);
  });

  it('let connections to the database listen in silence for hours, whatever the proxy has by default', async () => {
    const guide = await read('docs/how-to/survive-a-failover.md');
    const [, settings = ''] = /^listen flywheel\n(.+?)^```/ms.exec(guide) ?? [];
    for (const side of ['client', 'server']) assert.match(settings, new RegExp(`^  timeout ${side} \\d+h$`, 'm'));
  });

  it('are valid YAML, and their services and containers run existing commands', async () => {
    const [compose] = await readYaml('deploy/compose.yaml');
    assert.deepEqual([compose.services.serve.command, compose.services.work.command], [['serve'], ['work']]);
    const objects = await readYaml('deploy/kubernetes/flywheel.yaml');
    const args = objects.flatMap(
      ({ spec }) => spec?.template?.spec.containers.flatMap((each: { args: string[] }) => each.args) ?? [],
    );
    assert.deepEqual(args, ['migrate', 'serve', 'work']);
  });

  it('divide one request a second to the block engine among their workers', async () => {
    const [{ services }] = await readYaml('deploy/compose.yaml');
    const { deploy, environment } = services.work;
    const rate = environment.BLOCK_ENGINE_REQUESTS_PER_SECOND.match(/:-(.+)\}$/)?.[1];
    assert.equal(deploy.replicas * Number(rate), 1);
    const { spec } = await readDeployment('flywheel-work');
    const { value } = spec.template.spec.containers[0].env.find(
      ({ name }: { name: string }) => name === 'BLOCK_ENGINE_REQUESTS_PER_SECOND',
    );
    assert.equal(spec.replicas * Number(value), 1);
  });

  it('copy only existing files into the image', async () => {
    const sources = [...(await read('deploy/Dockerfile')).matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(
      ([, paths = '']) => paths.split(' '),
    );
    assert.ok(sources.length > 5);
    assert.deepEqual(
      sources.filter((path) => !existsSync(new URL(`../${path}`, import.meta.url))),
      [],
    );
  });

  it('copy the manifest of every workspace before npm installs packages', async () => {
    const manifests = await Array.fromAsync(glob('{apps,packages}/*/package.json', { cwd: ROOT }));
    const copied = [...(await read('deploy/Dockerfile')).matchAll(/^COPY (\S+\/package\.json) /gm)];
    assert.deepEqual(copied.map(([, path]) => path).toSorted(), manifests.toSorted());
  });

  it('cannot be released while they name an image by tag', () => {
    const digest = `sha256:${'0a'.repeat(32)}`;
    const tagged = ['FROM node:26 AS build', '    image: postgres:18', '          image: flywheel:0.3.0'].join('\n');
    assert.deepEqual(findTaggedImages('a', tagged), ['a: node:26', 'a: postgres:18']);
    const others = [
      '# syntax=docker/dockerfile:1',
      `from --platform=linux/amd64 node@${digest} AS tools`,
      'COPY --from=tools /a /a',
      'COPY --from=busybox:1 /a /a',
      '  - { name: a, image: "redis:8" }',
      '#   image: in-a-comment',
    ].join('\n');
    assert.deepEqual(findTaggedImages('a', others), ['a: docker/dockerfile:1', 'a: busybox:1', 'a: redis:8']);
    const argument = ['ARG BASE=node:26', 'FROM $BASE AS build', 'FROM build', 'FROM $BASE'].join('\n');
    assert.deepEqual(findTaggedImages('a', argument), ['a: node:26']);
    assert.deepEqual(findTaggedImages('a', argument.replace('node:26', `node:26@${digest}`)), []);
    assert.equal(findTaggedImages('a', 'ARG BASE\nFROM $BASE').length, 1);
    const pinned = tagged.replace('node:26', `node:26@${digest}`).replace('postgres:18', `postgres@${digest}`);
    assert.deepEqual(findTaggedImages('a', pinned), []);
  });

  it('cannot be released while a package has no hash; the report names each with the next step', () => {
    const lockFile = JSON.stringify({
      packages: {
        '': { version: '0.3.0' },
        'node_modules/hashed': { version: '1.0.0', integrity: 'sha512-AA==' },
        'node_modules/@flywheel/api': { link: true },
        'node_modules/loose': { version: '1.5.0' },
      },
    });
    assert.deepEqual(reportUnpinned([{ path: 'Dockerfile', text: 'FROM node:26 AS build' }], lockFile), [
      'Dockerfile: node:26 is a tag. Append its digest: docker buildx imagetools inspect node:26',
      'package-lock.json: node_modules/loose@1.5.0 has no hash. npm install with a registry that has it.',
      'Not released: 1 images by tag, 1 packages without a hash.',
    ]);
    const pinned = JSON.parse(lockFile);
    delete pinned.packages['node_modules/loose'];
    const image = { path: 'Dockerfile', text: `FROM node:26@sha256:${'0a'.repeat(32)}` };
    assert.deepEqual(reportUnpinned([image], JSON.stringify(pinned)), []);
  });

  it('use only existing metrics', async () => {
    const code = await read('apps/service/src/telemetry/metrics.ts');
    const known = new Set(code.match(/flywheel_[a-z_]+/g));
    for (const path of ['deploy/grafana/flywheel.json', 'deploy/prometheus/alerts.yaml']) {
      const watched = new Set((await read(path)).match(/flywheel_[a-z_]+/g));
      assert.ok(watched.size > 5, path);
      const unknown = [...watched].filter((name) => !known.has(name.replace(/_(?:bucket|count|sum)$/, '')));
      assert.deepEqual(unknown, [], path);
    }
    const dashboard = await read('deploy/grafana/flywheel.json');
    assert.deepEqual(
      [...known].filter((name) => !dashboard.includes(name)),
      [],
      'the dashboard shows every metric',
    );
    const [alerts] = await readYaml('deploy/prometheus/alerts.yaml');
    for (const { alert, expr, annotations } of alerts.groups[0].rules) {
      assert.ok(alert && expr && annotations.summary, JSON.stringify(alert));
    }
  });
});
