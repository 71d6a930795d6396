import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { airdrop, burn, memo, type Pipeline, pipeline, runKeyOf } from '@flywheel/sdk';

const WALLET = '12ZgF2f89ZxX9ANd6eNLh8h8LywmmKj2E3DJRn7QxfV9';
const PIPELINES = [pipeline('WATCH_AD', '{"adId":"1"}', burn(0.25), airdrop(WALLET, 0.0000001), memo('a'))];

describe('runKeyOf', () => {
  it('derives the keys of release 0.2: another derivation would pay a resumed run twice', async () => {
    assert.deepEqual(
      await Promise.all([
        runKeyOf(PIPELINES),
        runKeyOf(PIPELINES, { run: 2 }),
        runKeyOf(PIPELINES, { run: 1, rest: 1 }),
      ]),
      [
        '6434a07f-be74-874c-ab16-d8744df09959',
        '09cabb35-b078-8f28-ae2f-d30efef710c3',
        '400d4470-77e7-8b3c-821a-e1cabc27bee9',
      ],
    );
  });

  it('does not depend on spacing, member order and notation of numbers in the request', async () => {
    const parse = (text: string): Pipeline[] => JSON.parse(text);
    const plain = parse('[{"type":"A","payload":"{}","actions":[{"action":"BURN","amount":0.1}]}]');
    const other = parse('[ {"actions":[{"amount":1.0e-1,"action":"BURN"}], "payload":"{}", "type":"A"} ]');
    assert.equal(await runKeyOf(other), await runKeyOf(plain));
  });

  it('depends on every part of every pipeline, on their order, on the run and on the rest', async () => {
    const [first] = PIPELINES;
    assert.ok(first);
    const variants: Pipeline[][] = [
      PIPELINES,
      [first, first],
      [{ ...first, type: 'B' }],
      [{ ...first, payload: '{"adId": "1"}' }],
      [{ ...first, actions: first.actions.toReversed() }],
      [{ ...first, actions: first.actions.slice(1) }],
      [{ ...first, actions: [burn(0.250001), ...first.actions.slice(1)] }],
      [{ ...first, actions: [memo('0.25'), ...first.actions.slice(1)] }],
    ];
    const keys = await Promise.all([
      ...variants.map((pipelines) => runKeyOf(pipelines)),
      ...[2, 3].map((run) => runKeyOf(PIPELINES, { run })),
      ...[1, 2].map((rest) => runKeyOf(PIPELINES, { rest })),
      runKeyOf(PIPELINES, { run: 2, rest: 1 }),
    ]);
    assert.equal(new Set(keys).size, keys.length);
  });
});
