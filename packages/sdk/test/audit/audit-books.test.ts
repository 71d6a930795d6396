import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { describe, it } from 'node:test';
import { seededRandom } from '@flywheel/localnet';
import { SOL_DECIMALS } from '@flywheel/protocol';
import {
  type AssetTotals,
  type AuditGap,
  type AuditOptions,
  type AuditRecord,
  type AuditReport,
  type AuditState,
  auditVault,
  parseAuditState,
  stringifyAuditState,
} from '@flywheel/sdk';
import {
  type AuditEvents,
  type AuditVerdict,
  auditVerdict,
  matchEvents,
  readAuditEvents,
} from '@flywheel/sdk/audit-findings';
import { DECIMALS, openSyntheticVault, type SyntheticVault } from '@flywheel/testing/synthetic-vault';
import type { BookedFinding, VaultBooks } from '@flywheel/testing/vault-books';
import { liveAtRandom } from '@flywheel/testing/vault-life';

const SEED = Number(process.env.FLYWHEEL_SOAK_SEED ?? randomInt(2 ** 31));
/** `npm run soak` has ten thousand; each takes 2 ms of a core. */
const DUST = Number(process.env.FLYWHEEL_SOAK_DUST ?? 1_200);
const TRANSACTIONS = 1_800;
/** Probability that the audit is interrupted at a slot. */
const STOP_CHANCE = 0.05;

describe('an audit of a vault with a random life', () => {
  it('finds in thousands of transactions exactly what the books of the vault say', async (test) => {
    test.diagnostic(`seed ${SEED}`);
    await using vault = await openSyntheticVault();
    const books = liveAtRandom(vault, { seed: SEED, transactions: TRANSACTIONS, dust: DUST });
    assert.ok(books.landed >= TRANSACTIONS + DUST, `${books.landed} transactions`);
    const { report, records } = await audit(vault);
    await assertEqualBooks({ vault, books, report, records });
  });

  it('finds the same in another life when it is interrupted at random', async (test) => {
    const seed = SEED + 1;
    test.diagnostic(`seed ${seed}`);
    const random = seededRandom(seed);
    await using vault = await openSyntheticVault();
    const books = liveAtRandom(vault, { seed, transactions: 500, dust: 100 });
    const stopped = new Error('the test has stopped the audit');
    const records: AuditRecord[] = [];
    let [saved, stops]: [string | null, number] = [null, 0];
    const onCheckpoint = (state: AuditState) => {
      if (random() >= STOP_CHANCE) return;
      saved = stringifyAuditState(state);
      throw stopped;
    };
    for (;;) {
      const resume = saved === null ? null : parseAuditState(saved);
      const part = await audit(vault, { onCheckpoint, ...(resume && { resume }) }, records).catch((error: unknown) => {
        if (error !== stopped) throw error;
        stops += 1;
        return null;
      });
      if (!part) continue;
      assert.ok(stops > 0, 'the audit was not interrupted');
      await assertEqualBooks({ vault, books, ...part });
      return;
    }
  });

  it('explains an honest life, misses an event that was never paid, and names the slots that a node has deleted', async (test) => {
    const seed = SEED + 2;
    test.diagnostic(`seed ${seed}`);
    await using vault = await openSyntheticVault();
    const books = liveAtRandom(vault, { seed, transactions: 300, dust: 100, isHonest: true });
    const { report, records } = await audit(vault);
    await assertEqualBooks({ vault, books, report, records });
    const events = await eventsOf(books.events);
    assert.equal(auditVerdict(report, await matchEvents(events, iterate(records))), 'explained');
    const unpaid = await eventsOf([...books.events, JSON.stringify({ type: 'REWARD', payload: 'unpaid' })]);
    const { unproven, ...matches } = await matchEvents(unpaid, iterate(records));
    assert.deepEqual(
      unproven.map(({ line }) => line),
      [books.events.length + 1],
    );
    assert.equal(auditVerdict(report, { unproven, ...matches }), 'unproven');

    const firstKept = Math.floor(vault.slot() / 2);
    vault.node.prune(firstKept);
    const pruned = await audit(vault);
    const kept = books.findings.filter(({ slot }) => slot >= firstKept);
    assertSame('kept findings', pruned.records.map(withoutContent), kept.map(withoutContent));
    assert.deepEqual([pruned.report.isComplete, pruned.report.isExplained], [false, true]);
    assert.equal(auditVerdict(pruned.report, null), 'incomplete');
    // Every account of the vault had a balance then, and the multisig transactions whose creation is deleted.
    const gaps = pruned.report.gaps.filter(({ reason }) => reason.startsWith('Its known history begins here'));
    assertSame('gaps', gaps.map(toSlots), books.oldestFrom(firstKept));
    const others = pruned.report.gaps.filter((gap) => !gaps.includes(gap));
    assert.ok(others.length > 0 && others.every(({ account }) => account === vault.multisig), JSON.stringify(others));
  });
});

function toSlots({ account, fromSlot, toSlot }: AuditGap) {
  return { account, fromSlot, toSlot };
}

/** The changes of a rotation are in its creation, which may be deleted. */
function withoutContent({ kind, slot, signature }: BookedFinding | AuditRecord) {
  return { kind, slot, signature };
}

async function audit({ node, vault }: SyntheticVault, options: AuditOptions = {}, records: AuditRecord[] = []) {
  const onRecord = (record: AuditRecord) => void records.push(record);
  return { report: await auditVault(node.url, { vault }, { ...options, onRecord }), records };
}

interface Audited {
  readonly vault: SyntheticVault;
  readonly books: VaultBooks;
  readonly report: AuditReport;
  readonly records: readonly AuditRecord[];
}

async function assertEqualBooks({ vault, books, report, records }: Audited): Promise<void> {
  assert.deepEqual([report.gaps, report.gapCount, report.isComplete], [[], 0, true]);
  assertSame('findings', records.map(withoutTime), books.findings);
  assert.deepEqual(report.transactions, books.transactions);
  const of = (kind: BookedFinding['kind']) => books.findings.filter((finding) => finding.kind === kind);
  assert.deepEqual(report.counts, {
    ...{ withdrawals: of('withdrawn').length, rotations: of('rotation').length, deposits: of('deposited').length },
    ...{ unexplained: of('unexplained').length, foreign: of('foreign').length },
  });
  assert.equal(report.isExplained, of('unexplained').length === 0);
  const proofs = of('pipeline').flatMap((finding) => (finding.kind === 'pipeline' ? [finding.type] : []));
  assert.deepEqual(report.pipelines, {
    total: proofs.length,
    withoutProof: proofs.filter((type) => type === null).length,
    byType: countsOf(proofs.filter((type) => type !== null)),
  });
  assertSame('assets', report.assets.filter(hasMoved), assetsOf(books, vault));
  const matches = await matchEvents(await eventsOf(books.events), iterate(records));
  assert.equal(matches.events, books.proven + books.unproven.length);
  assert.deepEqual([matches.proven, matches.unprovenCount], [books.proven, books.unproven.length]);
  assert.deepEqual(
    matches.unproven.map(({ line }) => line),
    books.unproven.slice(0, MAX_LISTED),
  );
  assert.equal(matches.unmatchedCount, books.unmatched.length);
  assertSame('proofs of no event', matches.unmatched, books.unmatched);
  assert.equal(auditVerdict(report, matches), verdictOf(books));
}

/** An audit lists at most so many events and proofs. */
const MAX_LISTED = 1_000;

function verdictOf({ findings, unproven }: VaultBooks): AuditVerdict {
  if (findings.some(({ kind }) => kind === 'unexplained')) return 'unexplained';
  return unproven.length > 0 ? 'unproven' : 'explained';
}

function countsOf(types: readonly string[]) {
  const counts = new Map<string, number>();
  for (const type of types) counts.set(type, (counts.get(type) ?? 0) + 1);
  return [...counts]
    .map(([type, count]) => ({ type, count }))
    .toSorted((a, b) => b.count - a.count || (a.type < b.type ? -1 : 1));
}

/** The sums of the books by asset, with the balances that the vault has in the end. */
function assetsOf({ findings }: VaultBooks, vault: SyntheticVault): object[] {
  const sums = new Map<string | null, Record<string, bigint>>();
  for (const finding of findings) {
    if (!('amountBaseUnits' in finding)) continue;
    const { mint, kind, amountBaseUnits } = finding;
    const sum = sums.get(mint) ?? {
      burned: 0n,
      airdropped: 0n,
      withdrawn: 0n,
      rent: 0n,
      deposited: 0n,
      unexplained: 0n,
    };
    sums.set(mint, { ...sum, [kind]: (sum[kind] ?? 0n) + amountBaseUnits });
  }
  return [...sums].map(([mint, sum]) => {
    const decimals = mint === null ? SOL_DECIMALS : DECIMALS;
    return { mint, decimals, opening: 0n, closing: vault.balanceOf(mint), ...sum };
  });
}

function hasMoved({ deposited, unexplained }: AssetTotals): boolean {
  return deposited + unexplained > 0n;
}

async function eventsOf(lines: readonly string[]): Promise<AuditEvents> {
  const read = await readAuditEvents(iterate(lines));
  assert.ok('events' in read, JSON.stringify(read));
  return read.events;
}

async function* iterate<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  yield* items;
}

function assertSame(what: string, found: readonly object[], expected: readonly object[]): void {
  const [rest, missing]: [Map<string, number>, string[]] = [new Map(), []];
  for (const each of found.map(textOf)) rest.set(each, (rest.get(each) ?? 0) + 1);
  for (const each of expected.map(textOf)) {
    const left = rest.get(each) ?? 0;
    if (left === 0) missing.push(each);
    else rest.set(each, left - 1);
  }
  const extra = [...rest].flatMap(([each, left]) => Array.from({ length: left }, () => each));
  const differences = { missing: missing.slice(0, 20), extra: extra.slice(0, 20) };
  assert.deepEqual(differences, { missing: [], extra: [] }, `${what}: ${JSON.stringify(differences, null, 1)}`);
}

function textOf(value: object): string {
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return entries.map(([name, each]) => `${name}=${each}`).join(' ');
}

function withoutTime({ executedAt, ...record }: AuditRecord) {
  assert.equal(executedAt, new Date(record.slot * 1_000).toISOString());
  return record;
}
