import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { burnPipeline, execute, send } from '@flywheel/testing/client';
import { createProject, requireOk, signWith } from '@flywheel/testing/project';
import { openWorld, type World } from '@flywheel/testing/world';
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node';

describe('traces', () => {
  const exporter = new InMemorySpanExporter();
  const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  let world: World;
  before(async () => {
    provider.register();
    world = await openWorld();
  });
  after(async () => {
    await world.stop();
    await provider.shutdown();
  });

  it('continue from a caller’s request through its jobs to every bundle', async () => {
    const project = await createProject(world);
    const trace = (byte: string) => `00-${byte.repeat(16)}-${'ab'.repeat(8)}-01`;
    const made = await send(world.url, 'POST', '/v1/flywheel/batch/init', {
      key: project.apiKey,
      headers: { 'x-idempotency-key': randomUUID(), traceparent: trace('11') },
      body: { pipelines: [burnPipeline(1)] },
    });
    const { batch, proposalApproveTx } = requireOk(made);
    const signedTx = await signWith(project.wallet, proposalApproveTx);
    requireOk(await execute(world.url, project.apiKey, batch.id, signedTx, { traceparent: trace('22') }));

    const namesOf = (byte: string) =>
      exporter
        .getFinishedSpans()
        .filter((span) => span.spanContext().traceId === byte.repeat(16))
        .map(({ name }) => name);
    for (const name of ['POST /v1/flywheel/batch/init', 'job setup', 'bundle setup']) {
      assert.ok(namesOf('11').includes(name), `${name} is not in ${namesOf('11').join()}`);
    }
    assert.ok(namesOf('22').includes('bundle execution'), namesOf('22').join());
    const texts = exporter.getFinishedSpans().map(({ name, attributes }) => JSON.stringify({ name, attributes }));
    assert.ok(texts.every((text) => !text.includes(project.apiKey)));
  });
});
