import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import Fastify from 'fastify';
import { percentile } from '../bench/figures.ts';
import { sendLoad } from '../bench/http-load.ts';
import { replacePart } from '../bench/results.ts';

describe('percentile', () => {
  it('is the value of the nearest rank', () => {
    const sample = [5, 1, 4, 2, 3];
    assert.deepEqual([percentile(sample, 0.5), percentile(sample, 0.99), percentile([7], 0.5)], [3, 5, 7]);
  });

  it('of a sample with missing measurements is an error that counts them', () => {
    assert.throws(() => percentile([1, undefined, undefined], 0.5), /1 of 3 are there/);
    assert.throws(() => percentile([Number.NaN, 2], 0.5), /1 of 2 are there/);
    assert.throws(() => percentile([], 0.5), /0 of 0 are there/);
  });
});

describe('the recorded results', () => {
  const recorded = '# Results\n\nHead.\n\n## init\n\nOld.\n\n## get\n\nKept.\n';

  it('keep the other parts when one is measured again', () => {
    const expected = recorded.replace('Old.', 'New.');
    assert.equal(replacePart(recorded, 'init', '## init\n\nNew.\n'), expected);
  });

  it('grow by a part that is measured for the first time', () => {
    assert.equal(replacePart(recorded, 'nonces', '## nonces\n\nFirst.\n'), `${recorded}\n## nonces\n\nFirst.\n`);
  });
});

describe('a load of HTTP requests', () => {
  it('measures answers of 200, and ends with an error at the first other one', async (t) => {
    const server = Fastify();
    t.after(() => server.close());
    server.get('/good', () => ({ ok: true }));
    server.get('/bad', () => {
      throw new Error('The statement failed.');
    });
    const port = Number(new URL(await server.listen({ port: 0, host: '127.0.0.1' })).port);
    const send = (path: string) => sendLoad({ port, senders: 2, requests: Array(4).fill({ method: 'GET', path }) });
    assert.equal((await send('/good')).length, 4);
    await assert.rejects(send('/bad'), /answered 500: \{"statusCode":500/);
  });
});
