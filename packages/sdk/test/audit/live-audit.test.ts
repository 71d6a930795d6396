import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  type AssetTotals,
  type AuditOptions,
  type AuditRecord,
  type AuditReport,
  type AuditState,
  auditVault,
  parseAuditState,
  proof,
  readVaultMovements,
  stringifyAuditState,
} from '@flywheel/sdk';
import { findMultisig, tokenAccountOf, tokenBalance } from '@flywheel/testing/chain';
import { closeMint, createClosableMint, createSeizableMint, mintTo, seize } from '@flywheel/testing/mints';
import { createProject, type TestProject } from '@flywheel/testing/project';
import { awaitFinalized, makeHistory, type VaultHistory } from '@flywheel/testing/vault-history';
import { openConsoleWorld, type World } from '@flywheel/testing/world';
import type { Address } from '@solana/kit';
import { recordVectors } from './record-vectors.ts';
import { checkVectors, readVectors, runVerifier, shapeOf, writeVectors } from './verify-vectors.ts';

describe('proofs and an audit of a vault on a cluster', () => {
  let world: World;
  let project: TestProject;
  let history: VaultHistory;
  let multisig: Address;
  let vault: Address;
  before(async () => {
    const opened = await openConsoleWorld();
    ({ world } = opened);
    project = await createProject(world);
    vault = project.vaultAddress as Address;
    ({ address: multisig } = await findMultisig(world, project));
    history = await makeHistory(world, project, opened.company);
  });
  after(() => world.stop());

  it('explains all that the vault did, and takes nothing of what strangers did for it', async () => {
    const records: AuditRecord[] = [];
    const report = await auditVault(world.localnet.url, { vault }, { onRecord: (record) => void records.push(record) });
    assert.deepEqual(report.gaps, []);
    assert.deepEqual([report.isComplete, report.isExplained, report.multisig], [true, true, multisig]);
    assert.deepEqual(report.pipelines, {
      total: 5,
      withoutProof: 0,
      byType: [
        { type: 'WATCH_AD', count: 2 },
        { type: 'WITHDRAW', count: 2 },
        { type: 'PURCHASE', count: 1 },
      ],
    });
    const [sol, token] = [assetOf(report, null), assetOf(report, project.mint)];
    assert.deepEqual(
      [token.burned, token.airdropped, token.withdrawn, token.unexplained, token.decimals],
      [history.burned, history.airdropped, history.withdrawnTokens, 0n, 6],
    );
    assert.equal(token.closing, await tokenBalance(world, project.mint, vault));
    assert.deepEqual([sol.withdrawn, sol.burned, sol.airdropped], [history.withdrawnLamports, 0n, 0n]);
    assert.ok(sol.rent > 0n, 'the vault paid for two token accounts');
    assert.equal(sol.closing, (await world.rpc.getBalance(vault).send()).value);
    for (const asset of report.assets) assertSum(asset);

    const hashes = records.flatMap((record) => (record.kind === 'pipeline' ? [record.hash] : []));
    assert.deepEqual(
      hashes.filter((hash) => history.pipelines.some((event) => proof.hash(event) === hash)).length,
      history.pipelines.length,
    );
    const dust = records.filter((record) => record.kind === 'deposited' && record.amountBaseUnits === 1n);
    assert.equal(dust.length, history.dust.length);
    const rotations = records.flatMap((record) => (record.kind === 'rotation' ? [record.changes] : []));
    assert.deepEqual(rotations, [`${history.newWallet} (vote) is added, then ${project.wallet.address} is removed`]);
    assert.ok(records.every(({ kind }) => kind !== 'foreign' && kind !== 'unexplained'));
  });

  it('reads the movements of both balances, newest first, whose sums are the balances', async () => {
    const { url } = world.localnet;
    const tokenAccount = await tokenAccountOf(world, project.mint, vault);
    const movements = await readVaultMovements(url, { vault, tokenAccount, limit: 1_000 });
    const sum = (amounts: readonly bigint[]) => amounts.reduce((total, amount) => total + amount, 0n);
    assert.equal(sum(movements.map(({ baseUnits }) => baseUnits)), await tokenBalance(world, project.mint, vault));
    assert.equal(sum(movements.map(({ lamports }) => lamports)), (await world.rpc.getBalance(vault).send()).value);
    const spent = movements.filter(({ isDeposit }) => !isDeposit).map(({ signature }) => signature);
    assert.deepEqual(spent.slice(-history.executions.length), history.executions.toReversed());
    assert.deepEqual(await readVaultMovements(url, { vault, tokenAccount, limit: 2 }), movements.slice(0, 2));
  });

  it('gives the same report when it goes on after each slot from what it had written', async () => {
    const whole = await collect();
    const records: AuditRecord[] = [];
    let [saved, steps]: [string | null, number] = [null, 0];
    for (let report: AuditReport | null = null; report === null; steps++) {
      const resume: AuditState | null = saved === null ? null : parseAuditState(saved);
      const slots = new Set<number | null>([resume?.slot ?? null]);
      const stop = new AbortController();
      const onCheckpoint = (state: AuditState) => {
        slots.add(state.slot);
        saved = stringifyAuditState(state);
        if (slots.size > STEP) stop.abort(INTERRUPTED);
      };
      const options: AuditOptions = { ...(resume && { resume }), onCheckpoint, signal: stop.signal };
      const onRecord = (record: AuditRecord) => void records.push(record);
      report = await auditVault(world.localnet.url, { vault, to: whole.headSlot }, { ...options, onRecord }).catch(
        (error: unknown) => {
          if (error === INTERRUPTED) return null;
          throw error;
        },
      );
      if (report) assert.deepEqual(withoutHead(report), withoutHead(whole.report));
    }
    assert.ok(steps > 3, `${steps} interruptions`);
    assert.deepEqual(records, whole.records);
  });

  it('counts a period alone, whose balances begin where the one before has ended', async () => {
    const { report, records, headSlot } = await collect();
    const slots = [...new Set(records.map(({ slot }) => slot))].toSorted((a, b) => a - b);
    const middle = slots[Math.floor(slots.length / 2)] ?? 0;
    const first = await auditVault(world.localnet.url, { vault, to: middle });
    const second = await auditVault(world.localnet.url, { vault, from: middle + 1, to: headSlot });
    assert.deepEqual([first.gaps, second.gaps], [[], []]);
    assert.equal(first.pipelines.total + second.pipelines.total, report.pipelines.total);
    for (const whole of report.assets) {
      const [before, after] = [assetOf(first, whole.mint), assetOf(second, whole.mint)];
      for (const part of [before, after]) assertSum(part);
      assert.deepEqual([before.opening, before.closing, after.closing], [0n, after.opening, whole.closing]);
      assert.equal(before.deposited + after.deposited, whole.deposited);
    }
  });

  it('finds tokens that the holder of a permanent delegate has burned, which no instruction of the vault did', async () => {
    const mint = await createSeizableMint(world);
    const other = await createProject(world, { mint: mint.address, vaultBaseUnits: 0n, vaultLamports: 10n ** 9n });
    const owner = other.vaultAddress as Address;
    const account = await mintTo(world, mint, owner, 1_000n);
    await seize(world, mint, owner, 400n);
    await awaitFinalized(world);
    const records: AuditRecord[] = [];
    const { address } = await findMultisig(world, other);
    const onRecord = (record: AuditRecord) => void records.push(record);
    const report = await auditVault(world.localnet.url, { vault: owner, multisig: address }, { onRecord });
    assert.deepEqual([report.gaps, report.isExplained, report.counts.unexplained], [[], false, 1]);
    const { deposited, unexplained, closing } = assetOf(report, mint.address);
    assert.deepEqual({ deposited, unexplained, closing }, { deposited: 1_000n, unexplained: 400n, closing: 600n });
    const outflow = records.find(({ kind }) => kind === 'unexplained');
    assert.ok(outflow?.kind === 'unexplained' && outflow.mint === mint.address, account);
  });

  it('ends although a stranger has given the vault a token account whose mint is closed', async () => {
    const mint = await createClosableMint(world);
    await mintTo(world, mint, vault, 0n);
    await closeMint(world, mint);
    await awaitFinalized(world);
    const report = await auditVault(world.localnet.url, { vault });
    assert.deepEqual([report.gaps, report.isExplained], [[], true]);
    const { opening, deposited, closing } = assetOf(report, mint.address);
    assert.deepEqual([opening, deposited, closing], [0n, 0n, 0n]);
  });

  it('names the slots that a node has deleted, and goes on where another node has a transaction', async () => {
    const slot = Number(await world.rpc.getSlot({ commitment: 'finalized' }).send());
    const { records } = await collect();
    const kept = records.at(Math.floor(records.length / 2))?.slot ?? 0;
    world.localnet.faults.set({ kind: 'forgetHistory', method: '*', slots: slot - kept, node: 'pruned' });
    const pruned = await auditVault(`${world.localnet.url}/nodes/pruned`, { vault });
    assert.equal(pruned.isComplete, false);
    assert.ok(pruned.gaps.every(({ fromSlot, toSlot }) => fromSlot <= toSlot));
    assert.ok(pruned.gaps.some(({ account, fromSlot }) => account === vault && fromSlot === 0));
    assert.ok(pruned.gaps.some(({ account, reason }) => account === multisig && /lacks the creation/.test(reason)));
    world.localnet.faults.clear();

    world.localnet.faults.set({ kind: 'forgetHistory', method: 'getTransaction', slots: slot - kept, node: 'pruned' });
    const urls = [`${world.localnet.url}/nodes/pruned`, world.localnet.url];
    assert.deepEqual((await auditVault(urls, { vault })).gaps, []);
    world.localnet.faults.clear();
  });

  it('are as in the vectors, whose shape a new recording has', async () => {
    const recorded = await recordVectors(world, project, history);
    if (process.env.FLYWHEEL_RECORD_VECTORS) await writeVectors(recorded);
    const kept = await readVectors();
    assert.deepEqual(recorded.proofs.map(shapeOf), kept.proofs.map(shapeOf));
    for (const vectors of [kept, recorded]) await checkVectors(vectors);
  });

  it('are found by the Python verifier on the cluster, and no others', async () => {
    const [event] = history.pipelines;
    const [signature] = history.executions;
    assert.ok(event && signature);
    const run = (payload: string) => runVerifier(world.localnet.url, [signature, vault, event.type, payload]);
    const [proven, other] = [await run(event.payload), await run(`${event.payload} `)];
    assert.ok(proven.proofs.includes(proof.memo(event)), JSON.stringify(proven));
    assert.deepEqual([proven.code, other.code, other.proofs], [0, 1, proven.proofs]);
  });

  it('refuses a multisig that has another vault, and a period that is none', async () => {
    const { url } = world.localnet;
    await assert.rejects(auditVault(url, { vault, multisig: project.mint }), /is not the vault of the multisig/);
    await assert.rejects(auditVault(url, { vault, from: 5, to: 4 }), RangeError);
    await assert.rejects(auditVault(url, { vault, from: 'yesterday' }), RangeError);
  });

  async function collect() {
    const records: AuditRecord[] = [];
    const onRecord = (record: AuditRecord) => void records.push(record);
    const report = await auditVault(world.localnet.url, { vault }, { onRecord });
    return { report, records, headSlot: report.period.headSlot };
  }
});

const STEP = 2;
const INTERRUPTED = new Error('the test has interrupted the audit');

function assetOf({ assets }: AuditReport, mint: string | null): AssetTotals {
  const found = assets.find((asset) => asset.mint === mint);
  assert.ok(found, `the report has no ${mint ?? 'SOL'}`);
  return found;
}

/** What moved makes the difference of the balances, to the base unit. */
function assertSum({ opening, closing, deposited, burned, airdropped, withdrawn, rent, unexplained }: AssetTotals) {
  assert.equal(opening + deposited - burned - airdropped - withdrawn - rent - unexplained, closing);
}

/** The slot at which an audit began differs from one to the next. */
function withoutHead({ period: _, ...report }: AuditReport) {
  return report;
}
