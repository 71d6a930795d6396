import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { assertError, executeSigned, setUpBatch, waitForBatch, waitUntil } from '@flywheel/testing/batches';
import { findMultisig, land, tokenBalance } from '@flywheel/testing/chain';
import { airdropPipeline, burnPipeline, execute, getBatch, getCurrent, init, send } from '@flywheel/testing/client';
import { approveForCompany, type Decider } from '@flywheel/testing/decisions';
import { closeMint, createClosableMint } from '@flywheel/testing/mints';
import { createProject, requireOk, signIn, type TestProject } from '@flywheel/testing/project';
import { approve, readWithdrawal, setUpWithdrawal, waitForWithdrawal, withdraw } from '@flywheel/testing/treasury';
import type { World } from '@flywheel/testing/world';
import { openConsoleWorld } from '@flywheel/testing/world';
import { type Address, generateKeyPairSigner } from '@solana/kit';
import { getTransferSolInstruction } from '@solana-program/system';
import { TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';

const SOL = 1_000_000_000n;
const MIN_LAMPORTS = 890_880n;
const FEE_LAMPORTS = 5_000n;

describe('a withdrawal', () => {
  let world: World;
  let project: TestProject;
  let company: Decider;
  before(async () => {
    ({ world, company } = await openConsoleWorld());
    project = await createProject(world, { burnLimit: '5', airdropLimit: '5' });
  });
  after(() => world.stop());

  const lamportsOf = async (address: Address) => (await world.rpc.getBalance(address).send()).value;
  const newAddress = async () => (await generateKeyPairSigner()).address;
  const vaultOf = (of: TestProject) => of.vaultAddress as Address;

  async function executeWithdrawal(of: TestProject, batchId: string) {
    const waiting = requireOk(await approve(world, of, batchId));
    assert.equal(waiting.waitsFor, 'company');
    requireOk(await approveForCompany(world, company, batchId));
    return waitForWithdrawal(world, of, batchId, ({ batch }) => batch.status === 'EXECUTED');
  }

  it('transfers SOL to an address that is new on chain, after both sides approved', async () => {
    const to = await newAddress();
    const vault = vaultOf(project);
    const lamports = await lamportsOf(vault);
    const answer = requireOk(await withdraw(world, project, { asset: 'SOL', to, amount: '1.5' }));
    assert.match(answer.warnings.join(' '), new RegExp(`${to} has no account on this chain yet`));
    await waitForWithdrawal(world, project, answer.batchId, ({ batch }) => batch.status === 'FINALIZED');
    const path = `/console/api/projects/${project.projectId}/batches`;
    const { batches } = requireOk(await send(world.url, 'GET', path, { headers: { cookie: project.cookie } }));
    assert.deepEqual([batches[0].id, batches[0].withdrawal], [answer.batchId, { asset: 'SOL', amount: '1.5' }]);
    await executeWithdrawal(project, answer.batchId);
    assert.equal(await lamportsOf(to), (SOL * 3n) / 2n);
    assert.equal(await lamportsOf(vault), lamports - (SOL * 3n) / 2n);
  });

  it('transfers SOL after the mint of the project is closed, and a batch that needs the mint names what is missing', async () => {
    const mint = await createClosableMint(world);
    const closed = await createProject(world, { mint: mint.address, vaultBaseUnits: 0n });
    await world.localnet.bank.airdrop(vaultOf(closed), 2n * SOL);
    await closeMint(world, mint);
    const to = await newAddress();
    await executeWithdrawal(closed, await setUpWithdrawal(world, closed, { asset: 'SOL', to, amount: '1' }));
    assert.equal(await lamportsOf(to), SOL);
    const airdrop = await setUpBatch(world, closed, [airdropPipeline(to, 1)]);
    const missing = /holds 0 tokens; this batch needs 1.*The mint \S+ does not exist on this cluster/;
    assertError(await executeSigned(world, closed, airdrop), 409, 'ERR_BATCH_WOULD_FAIL', missing);
  });

  it('transfers tokens, over the daily limits, and creates the recipient’s account', async () => {
    const to = await newAddress();
    const batchId = await setUpWithdrawal(world, project, { asset: 'TOKEN', to, amount: '1000.000001' });
    const tokens = await tokenBalance(world, project.mint, vaultOf(project));
    await executeWithdrawal(project, batchId);
    assert.equal(await tokenBalance(world, project.mint, to), 1_000_000_001n);
    assert.equal(await tokenBalance(world, project.mint, vaultOf(project)), tokens - 1_000_000_001n);
    const used = await world.db
      .selectFrom('daily_amounts')
      .selectAll()
      .where('project_id', '=', project.projectId)
      .execute();
    assert.deepEqual(
      used.filter(({ burned, airdropped }) => burned + airdropped > 0n),
      [],
    );
  });

  it('has a proof memo of its amounts, and a ledger that does not count withdrawn SOL as rent', async () => {
    const to = await newAddress();
    const batchId = await setUpWithdrawal(world, project, { asset: 'SOL', to, amount: '2' });
    await executeWithdrawal(project, batchId);
    const { batch, pipelines } = await readWithdrawal(world, project, batchId);
    assert.equal(pipelines[0]?.type, 'WITHDRAW');
    assert.deepEqual(JSON.parse(pipelines[0]?.payload ?? ''), { asset: 'SOL', to, amount: '2' });
    assert.deepEqual(pipelines[0]?.actions, [{ action: 'WITHDRAW', asset: 'SOL', toAddress: to, amount: '2' }]);
    const closed = await waitForWithdrawal(world, project, batchId, (seen) => seen.batch.ledger?.isComplete === true);
    assert.equal(closed.batch.ledger?.vaultRentLamports, '0');
    assert.equal(closed.batch.ledger?.rentOutLamports, closed.batch.ledger?.rentBackLamports);
    assert.equal(batch.status, 'EXECUTED');
  });

  it('may empty the vault, and may not leave it below the rent-exempt minimum', async () => {
    const poor = await createProject(world, { vaultLamports: SOL });
    const to = await newAddress();
    const tooMuch = await setUpWithdrawal(world, poor, { asset: 'SOL', to, amount: '0.9999' });
    const refused = await approve(world, poor, tooMuch);
    assertError(refused, 409, 'ERR_VAULT_UNDERFUNDED', /must leave nothing or at least 890880: 790880 more/);
    const all = await setUpWithdrawal(world, poor, { asset: 'SOL', to, amount: '1' });
    await executeWithdrawal(poor, all);
    assert.deepEqual([await lamportsOf(vaultOf(poor)), await lamportsOf(to)], [0n, SOL]);
  });

  it('warns of, then rejects, an amount below the destination’s rent-exempt minimum', async () => {
    const to = await newAddress();
    const { batchId, warnings } = requireOk(await withdraw(world, project, { asset: 'SOL', to, amount: '0.0005' }));
    const problem = new RegExp(`${to} is new on chain: it must get at least ${MIN_LAMPORTS} lamports, not 500000`);
    assert.match(warnings.join(' '), problem);
    await waitForWithdrawal(world, project, batchId, ({ batch }) => batch.status === 'FINALIZED');
    assertError(await approve(world, project, batchId), 409, 'ERR_BATCH_WOULD_FAIL', problem);
    requireOk(
      await send(world.url, 'POST', `/console/api/projects/${project.projectId}/batches/${batchId}/cancel`, {
        headers: { cookie: project.cookie },
        body: {},
      }),
    );
  });

  it('is rejected for an address that is not a wallet’s, and for invalid amounts', async () => {
    const to = await newAddress();
    const multisig = await findMultisig(world, project);
    const bad = [
      [{ asset: 'SOL', to: vaultOf(project), amount: '1' }, /body\.to belongs to a program, not to a wallet/],
      [{ asset: 'SOL', to: multisig.operator, amount: '1' }, /body\.to .* is the operator, which pays/],
      [{ asset: 'SOL', to: TOKEN_PROGRAM_ADDRESS, amount: '1' }, /body\.to \w+ is the Token program, not a wallet/],
      [{ asset: 'SOL', to: `0${to.slice(1)}`, amount: '1' }, /body\.to/],
      [{ asset: 'SOL', to, amount: '0.0000000001' }, /body\.amount .*fraction digits/],
      [{ asset: 'TOKEN', to, amount: '0.0000001' }, /body\.amount .*fraction digits/],
      [{ asset: 'TOKEN', to, amount: '0.000' }, /body\.amount .*not greater than zero/],
      [{ asset: 'TOKEN', to, amount: '-1' }, /body\.amount/],
      [{ asset: 'USDC', to, amount: '1' }, /body\.asset/],
    ] as const;
    for (const [body, message] of bad) {
      assertError(await withdraw(world, project, body), 400, 'ERR_INVALID_REQUEST', message);
    }
    assert.deepEqual(await openKinds(), []);
  });

  it('waits with a warning for an operator without SOL, and is set up when it is funded', async () => {
    const { operator } = world;
    const destination = await newAddress();
    const unclosed = () => {
      const ended = world.db.selectFrom('batches').select('id').where('ended_at', 'is not', null);
      return ended.where('closed_at', 'is', null).execute();
    };
    await waitUntil('every ended batch to be closed', unclosed, (open) => open.length === 0);
    const takeAll = async () => {
      const amount = (await lamportsOf(operator.address)) - FEE_LAMPORTS;
      const transfer = getTransferSolInstruction({ source: operator, destination, amount });
      // The service pays for its nonces at the same time.
      await land(world, operator, [transfer]).catch(() => undefined);
      return lamportsOf(operator.address);
    };
    await waitUntil('the operator to have nothing', takeAll, (lamports) => lamports === 0n);
    const answer = await withdraw(world, project, { asset: 'SOL', to: await newAddress(), amount: '1' });
    await world.localnet.bank.airdrop(operator.address, 100n * SOL);
    const { batchId, warnings } = requireOk(answer);
    assert.match(warnings.join(' '), /The operator has no SOL now/);
    await waitForWithdrawal(world, project, batchId, ({ batch }) => batch.status === 'FINALIZED');
  });

  it('is not available to API keys', async () => {
    const to = await newAddress();
    const shared = randomUUID();
    const { batchId } = requireOk(await withdraw(world, project, { asset: 'SOL', to, amount: '1' }, shared));
    await waitForWithdrawal(world, project, batchId, ({ batch }) => batch.status === 'FINALIZED');
    const unknown = await getBatch(world.url, project.apiKey, randomUUID());
    const sameAs = (answer: typeof unknown) =>
      assert.deepEqual(
        [answer.status, answer.body.error, answer.body.message.replace(batchId, 'ID')],
        [unknown.status, unknown.body.error, unknown.body.message.replace(/[0-9a-f-]{36}/, 'ID')],
      );
    sameAs(await getBatch(world.url, project.apiKey, batchId));
    sameAs(await execute(world.url, project.apiKey, batchId, 'AA=='));
    sameAs(await send(world.url, 'POST', `/v1/flywheel/batch/${batchId}/cancel`, { key: project.apiKey }));
    const current = await getCurrent(world.url, project.apiKey);
    assert.equal(current.body, null);
    const list = requireOk(await send(world.url, 'GET', '/v1/flywheel/batches', { key: project.apiKey }));
    assert.deepEqual(list.batches, []);
    // Their idempotency keys are independent too.
    const { batch } = requireOk(await init(world.url, project.apiKey, [burnPipeline()], shared));
    assert.notEqual(batch.id, batchId);
    assert.equal(requireOk(await getCurrent(world.url, project.apiKey)).id, batch.id);
    const listed = requireOk(await send(world.url, 'GET', '/v1/flywheel/batches', { key: project.apiKey }));
    assert.deepEqual(
      listed.batches.map(({ id }: { id: string }) => id),
      [batch.id],
    );
  });

  it('is created once for its idempotency key, and is in the audit log once', async () => {
    const own = await createProject(world);
    const key = randomUUID();
    const body = { asset: 'SOL', to: own.wallet.address, amount: '1' } as const;
    const answers = await Promise.all(Array.from({ length: 4 }, () => withdraw(world, own, body, key)));
    assert.equal(new Set(answers.map((answer) => requireOk(answer).batchId)).size, 1);
    const other = await withdraw(world, own, { ...body, amount: '2' }, key);
    assertError(other, 422, 'ERR_DUPLICATE_IDEMPOTENCY_KEY');
    const audit = await world.db
      .selectFrom('audit_log')
      .selectAll()
      .where('project_id', '=', own.projectId)
      .where('action', '=', 'withdrawal.requested')
      .execute();
    assert.deepEqual(
      audit.map(({ actor, after }) => ({ actor, after })),
      [{ actor: own.wallet.address, after: body }],
    );
  });

  it('is available only to the project’s own wallet; others are answered as if the project did not exist', async () => {
    const stranger = await generateKeyPairSigner();
    const cookie = await signIn(world.url, stranger);
    const body = { asset: 'SOL', to: stranger.address, amount: '1' } as const;
    const answer = await withdraw(world, { projectId: project.projectId, cookie }, body);
    assertError(answer, 404, 'ERR_PROJECT_NOT_FOUND');
  });

  it('takes its turn with batches of pipelines, and leaves no index behind if it is cancelled', async () => {
    const own = await createProject(world);
    const first = requireOk(await withdraw(world, own, { asset: 'SOL', to: own.wallet.address, amount: '1' }));
    const cancelled = await send(
      world.url,
      'POST',
      `/console/api/projects/${own.projectId}/batches/${first.batchId}/cancel`,
      { headers: { cookie: own.cookie }, body: {} },
    );
    assert.equal(requireOk(cancelled).status, 'FAILED');
    const batch = await setUpBatch(world, own, [burnPipeline()]);
    assert.equal(batch.batchIndex, 2n);
    requireOk(await execute(world.url, own.apiKey, batch.id, batch.signedTx));
    await waitForBatch(world, own, batch.id, ({ status }) => status === 'EXECUTED');
  });

  async function openKinds() {
    const rows = await world.db
      .selectFrom('batches')
      .select('kind')
      .where('project_id', '=', project.projectId)
      .where('ended_at', 'is', null)
      .execute();
    return rows.map(({ kind }) => kind);
  }
});
