import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { SHARD_HEADER } from '@flywheel/api';
import { decodeMultisig } from '@flywheel/squads';
import { executeSigned, setUpBatch, waitForBatch, waitUntil } from '@flywheel/testing/batches';
import { findMultisig } from '@flywheel/testing/chain';
import { burnPipeline } from '@flywheel/testing/client';
import { approveForCompany } from '@flywheel/testing/decisions';
import { WITH_HAPROXY } from '@flywheel/testing/haproxy';
import { requireOk, signIn, type TestProject } from '@flywheel/testing/project';
import { approve, rotateOperator, waitForWithdrawal } from '@flywheel/testing/treasury';
import { createProjectIn, openTwoShards, restartShard, type TwoShards } from '@flywheel/testing/two-shards';
import type { World } from '@flywheel/testing/world';
import { type Address, fetchEncodedAccount } from '@solana/kit';
import { createSignerFile } from '../../src/solana/signer.ts';

const OPERATOR_LAMPORTS = 100_000_000_000n;

describe('two shards behind one URL, one of which is changed or down', WITH_HAPROXY, () => {
  let shards: TwoShards;
  let directory: string;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'flywheel-faults-'));
    shards = await openTwoShards();
  });
  after(async () => {
    await shards?.stop();
    await rm(directory, { recursive: true });
  });

  it('work on after the operator of the second is replaced there', async () => {
    const { first, second, proxy, operator } = shards;
    const { address: next, file } = await createKey('next-operator.json');
    await first.localnet.bank.airdrop(next, OPERATOR_LAMPORTS);
    const staying = await createProjectIn(first, proxy);
    const project = await createProjectIn(second, proxy, { approvalMode: 'manual' });
    const decider = { wallet: operator, cookie: await signIn(proxy.url, operator, undefined, { [SHARD_HEADER]: '2' }) };
    const { OPERATOR_SIGNER: old = '' } = second.environment;
    await restartShard(second, { OPERATOR_SIGNER: file, OPERATOR_SIGNER_PREVIOUS: old });

    const rotation = requireOk(await rotateOperator(proxy, project, decider.cookie));
    assert.deepEqual([rotation.from, rotation.to], [first.operator.address, next]);
    const { batchId } = rotation;
    await waitForWithdrawal(proxy, project, batchId, ({ batch }) => batch.status === 'FINALIZED');
    requireOk(await approve(proxy, project, batchId));
    const world = { url: proxy.url, db: second.db, rpc: second.rpc };
    requireOk(await approveForCompany(world, decider, batchId));
    await waitForWithdrawal(proxy, project, batchId, ({ batch }) => batch.status === 'EXECUTED');
    const isMoved = (authorities: readonly (Address | null)[]) => authorities.join() === next;
    await waitUntil('the nonces of the second shard to be moved', () => readAuthorities(second), isMoved);
    // From here on the second shard does not have the old key.
    await restartShard(second, { OPERATOR_SIGNER: file });

    const batch = await setUpBatch(proxy, project, [burnPipeline()]);
    assert.equal((await executeSigned(proxy, project, batch)).status, 202);
    requireOk(await approveForCompany(world, decider, batch.id));
    await waitForBatch(proxy, project, batch.id, ({ status }) => status === 'EXECUTED');
    assert.deepEqual(await readOperators(second, project), [next, next]);
    assert.deepEqual(await readOperators(first, staying), [first.operator.address, first.operator.address]);
    const other = await setUpBatch(proxy, staying, [burnPipeline()]);
    assert.equal(requireOk(await executeSigned(proxy, staying, other)).status, 'EXECUTED');
  });

  async function createKey(name: string) {
    const file = join(directory, name);
    return { address: await createSignerFile(file), file };
  }
});

async function readAuthorities({ db }: World): Promise<(Address | null)[]> {
  const rows = await db.selectFrom('nonces').select('authority').distinct().execute();
  return rows.map(({ authority }) => authority);
}

/** Reads the operator of a project in the database, and on chain who gets the rent back. */
async function readOperators(shard: World, project: TestProject): Promise<(Address | null)[]> {
  const { address, operator } = await findMultisig(shard, project);
  const account = await fetchEncodedAccount(shard.rpc, address);
  assert.ok(account.exists);
  return [operator, decodeMultisig(account).rentCollector];
}
