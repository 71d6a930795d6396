import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { settingRows } from '../apps/service/src/config.ts';

const read = (path: string) => readFile(new URL(`../${path}`, import.meta.url), 'utf8');

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

  it('are valid YAML, and their services and containers run existing commands', async () => {
    const [compose] = parseAllDocuments(await read('deploy/compose.yaml'), { merge: true }).map((each) => each.toJS());
    assert.deepEqual([compose.services.serve.command, compose.services.work.command], [['serve'], ['work']]);
    const objects = parseAllDocuments(await read('deploy/kubernetes/flywheel.yaml')).map((each) => each.toJS());
    const args = objects.flatMap(
      ({ spec }) => spec?.template?.spec.containers.flatMap((each: { args: string[] }) => each.args) ?? [],
    );
    assert.deepEqual(args, ['migrate', 'serve', 'work']);
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

  it('use only existing metrics', async () => {
    const code = await read('apps/service/src/telemetry/metrics.ts');
    const known = new Set(code.match(/flywheel_[a-z_]+/g));
    for (const path of ['deploy/grafana/flywheel.json', 'deploy/prometheus/alerts.yaml']) {
      const watched = new Set((await read(path)).match(/flywheel_[a-z_]+/g));
      assert.ok(watched.size > 5, path);
      const unknown = [...watched].filter((name) => !known.has(name.replace(/_(?:bucket|count|sum)$/, '')));
      assert.deepEqual(unknown, [], path);
    }
    const [alerts] = parseAllDocuments(await read('deploy/prometheus/alerts.yaml')).map((each) => each.toJS());
    for (const { alert, expr, annotations } of alerts.groups[0].rules) {
      assert.ok(alert && expr && annotations.summary, JSON.stringify(alert));
    }
  });
});
