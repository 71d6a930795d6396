import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  findSuccessionIssue,
  followSuccessions,
  type KeyRole,
  type KeySuccession,
  type PublishedSuccession,
  writeSuccessionText,
} from '@flywheel/protocol';
import {
  type Address,
  generateKeyPairSigner,
  getBase58Decoder,
  getBase58Encoder,
  type KeyPairSigner,
  signBytes,
} from '@solana/kit';
import vectors from '../../../vectors/key-successions.json' with { type: 'json' };

const CLUSTER = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d';
const OTHER_CLUSTER = 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG';

describe('golden key successions', () => {
  for (const { name, text, signature, ...vector } of vectors.successions) {
    it(`findSuccessionIssue accepts the succession ${name}, and no change of it`, async () => {
      const succession = {
        role: vector.role === 'operator' ? ('operator' as const) : ('company' as const),
        from: vector.from as Address,
        to: vector.to as Address,
        genesisHash: vector.genesisHash,
      };
      assert.equal(writeSuccessionText(succession), text);
      assert.equal(await findSuccessionIssue(succession, signature), null);
      const other = (await generateKeyPairSigner()).address;
      const changes: readonly Partial<KeySuccession>[] = [
        { role: succession.role === 'company' ? 'operator' : 'company' },
        { from: other },
        { to: other },
        { from: succession.to, to: succession.from },
        { genesisHash: other },
      ];
      for (const change of changes) {
        const issue = await findSuccessionIssue({ ...succession, ...change }, signature);
        assert.match(issue ?? '', /has not signed that/, JSON.stringify(change));
      }
      const bytes = new Uint8Array(getBase58Encoder().encode(signature));
      bytes[20] = (bytes[20] ?? 0) ^ 1;
      for (const wrong of [getBase58Decoder().decode(bytes), '', 'not base58: 0OIl', signature.slice(1)]) {
        assert.match((await findSuccessionIssue(succession, wrong)) ?? '', /has not signed that/);
      }
    });
  }

  it('findSuccessionIssue refuses what is not an address, and a key that names itself', async () => {
    const { address: from } = await generateKeyPairSigner();
    const named = { role: 'company', from, genesisHash: CLUSTER } as const;
    const lines = `${from}\nCluster: ${OTHER_CLUSTER}` as Address;
    assert.match((await findSuccessionIssue({ ...named, to: lines }, '')) ?? '', /is not an address/);
    assert.match((await findSuccessionIssue({ ...named, to: from }, '')) ?? '', /names itself/);
  });
});

describe('followSuccessions', () => {
  it('walks several successions, and names every known key that they lead from', async () => {
    const [a, b, c, d] = await makeKeys();
    const published = [await sign(c, d), await sign(a, b), await sign(b, c)];
    assert.deepEqual(await follow([a], d, published), { predecessors: [a.address], issues: [] });
    const both = await follow([a, c], d, published);
    assert.deepEqual(both.predecessors, [a.address, c.address]);
    const backwards = await follow([d], a, published);
    assert.deepEqual(backwards, { predecessors: [], issues: [`${d.address} has named no successor.`] });
  });

  it('accepts no succession of another signer, role or cluster, or replayed for another address', async () => {
    const [known, next, thief] = await makeKeys();
    const honest = await sign(known, next);
    const forgeries: Readonly<Record<string, PublishedSuccession>> = {
      'signed by the new key': { ...(await sign(next, next)), from: known.address },
      'signed by a stranger': { ...(await sign(thief, next)), from: known.address },
      'of the other role': { ...(await sign(known, next, 'operator')), role: 'company' },
      'left in the other role': await sign(known, next, 'operator'),
      'of another cluster': await sign(known, next, 'company', OTHER_CLUSTER),
      'without a signature': { ...honest, signature: '' },
    };
    for (const [name, forged] of Object.entries(forgeries)) {
      const { predecessors, issues } = await follow([known], next, [forged]);
      assert.deepEqual(predecessors, [], name);
      assert.equal(issues.length, 1, name);
    }
    const replayed = { ...honest, to: thief.address };
    const { predecessors, issues } = await follow([known], thief, [replayed]);
    assert.deepEqual(predecessors, []);
    assert.match(issues.join(), new RegExp(`^${known.address} has not signed that ${thief.address} succeeds it`));
    // A forgery beside the honest one takes nothing from it.
    assert.deepEqual((await follow([known], next, [replayed, honest])).predecessors, [known.address]);
  });

  it('follows no key that has signed two successors, and ends in a circle', async () => {
    const [a, b, c, d] = await makeKeys();
    const [ab, ac, ba] = [await sign(a, b), await sign(a, c), await sign(b, a)];
    const forked = await follow([a], c, [ab, ac]);
    assert.deepEqual(forked.predecessors, []);
    assert.match(forked.issues.join(), new RegExp(`${a.address} has signed 2 successors`));
    // The same succession twice is one successor.
    assert.deepEqual((await follow([a], b, [ab, ab])).predecessors, [a.address]);
    const circle = await follow([a], d, [ab, ba]);
    assert.deepEqual(circle, {
      predecessors: [],
      issues: [`The successors of ${a.address} lead back to ${a.address}, and not to ${d.address}.`],
    });
    // A rotation that was taken back: who knows the second key follows it to the first.
    assert.deepEqual((await follow([b], a, [ab, ba])).predecessors, [b.address]);
  });
});

type Keys = [KeyPairSigner, KeyPairSigner, KeyPairSigner, KeyPairSigner];

async function makeKeys(): Promise<Keys> {
  const make = () => generateKeyPairSigner();
  return Promise.all([make(), make(), make(), make()]);
}

async function sign(
  from: KeyPairSigner,
  { address: to }: KeyPairSigner,
  role: KeyRole = 'company',
  genesisHash = CLUSTER,
): Promise<PublishedSuccession> {
  const text = writeSuccessionText({ role, from: from.address, to, genesisHash });
  const bytes = await signBytes(from.keyPair.privateKey, new TextEncoder().encode(text));
  return { role, from: from.address, to, signature: getBase58Decoder().decode(bytes) };
}

function follow(known: readonly KeyPairSigner[], to: KeyPairSigner, published: readonly PublishedSuccession[]) {
  const search = { role: 'company', to: to.address, genesisHash: CLUSTER, published } as const;
  return followSuccessions({ ...search, known: known.map(({ address }) => address) });
}
