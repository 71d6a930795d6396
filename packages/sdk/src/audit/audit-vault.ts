import { address, MAX_SIGNATURES_FOR_ADDRESS } from '@flywheel/protocol';
import type { RpcUrl } from '@flywheel/solana-rpc';
import { SQUADS_PROGRAM_ADDRESS, VAULT_INDEX, vaultAddress } from '@flywheel/squads';
import type { Address } from '@solana/kit';
import type { ChainTransaction } from '../chain/read-transaction.ts';
import type { Commitment } from '../chain/rpc.ts';
import { type AccountHistory, type AccountState, openHistory, writeBalance } from './account-history.ts';
import { ownedTokensOf, tokensIn } from './balances.ts';
import { movementsOf } from './flows.ts';
import { type Executed, missingAtStart, readMultisig } from './multisig-history.ts';
import { type AuditNode, type Entry, openAuditNode } from './node.ts';
import { type AuditBound, isAfter, isBefore, requireBegun, requirePeriod } from './period.ts';
import { type ReadAhead, readAhead } from './read-ahead.ts';
import { type AuditRecord, type AuditReport, addGap, assetTotals, count, createTally } from './report.ts';
import { type AuditState, STATE_FORMAT } from './state.ts';

/** The vault and the period of an audit. */
export interface AuditQuery {
  /** Address of the vault. It is public: take it from the project, not from the person who shows the audit. */
  readonly vault: string;
  /** The vault's multisig; by default the audit finds it where the vault has executed something. */
  readonly multisig?: string;
  /** First slot or time of the period; by default the beginning of the vault's history. */
  readonly from?: AuditBound;
  /** Last slot or time of the period; by default the newest slot. */
  readonly to?: AuditBound;
}

/** Options of an audit: how it reads, and who receives its findings. */
export interface AuditOptions {
  /** `finalized` by default, which can never be rolled back. */
  readonly commitment?: Commitment;
  /** Limits the rate of requests, for nodes that refuse more; no limit by default. */
  readonly requestsPerSecond?: number;
  /** Receives every finding of the period, newest first. The audit waits for it, so that it may write a file. */
  readonly onRecord?: (record: AuditRecord) => void | Promise<void>;
  /**
   * Called when all findings of a slot have been given. The state is valid until the call ends: write it with
   * `stringifyAuditState`.
   */
  readonly onCheckpoint?: (state: AuditState) => void | Promise<void>;
  /**
   * Continues an interrupted audit, from a copy. Its query and commitment are those of the state; `query` must name the
   * same vault.
   */
  readonly resume?: AuditState;
  readonly signal?: AbortSignal;
}

/**
 * Audits a vault over a period from the chain alone: every executed pipeline with its proof, all that was burned, airdropped,
 * withdrawn and deposited, changes of the multisig, and outflows without a proof. It reads the histories of the vault, of
 * every token account found that it owns or owned, and of the multisig, from the newest transaction back to the
 * period's start, and checks that the balances of each account are continuous. It keeps in memory what it knows of each
 * account, not of each transaction. The node is trusted to show transactions as they were: use one of your choice, or
 * two and compare.
 * @param rpcUrl a Solana node, or several of one cluster: the first healthy one lists the histories, and all are asked for a
 * transaction that it does not have.
 * @throws FlywheelError if no node answers, or one does not while the others lack a transaction; RangeError if the period is not
 * valid or begins after the newest slot, if the multisig is not that of the vault, or if the state belongs to another audit.
 *
 * @example
 * const report = await auditVault('https://api.mainnet-beta.solana.com', { vault, from: '2026-01-01T00:00:00Z' });
 * console.log(report.isComplete, report.isExplained, report.assets);
 */
export async function auditVault(rpcUrl: RpcUrl, query: AuditQuery, options: AuditOptions = {}): Promise<AuditReport> {
  const { requestsPerSecond = null, signal } = options;
  const commitment = options.commitment ?? options.resume?.commitment ?? 'finalized';
  const node = await openAuditNode(rpcUrl, { commitment, requestsPerSecond, signal });
  const state = options.resume ? structuredClone(options.resume) : await beginAudit(node, { ...query, commitment });
  await requireSameAudit(node, state, { ...query, commitment });
  const audit: Audit = {
    ...{ node, state, vault: address(state.vault) },
    known: new Set(state.accounts.map(({ account }) => account)),
    histories: state.accounts.map((account) =>
      openHistory({ node, ...state, decimals: state.tally.decimals }, account),
    ),
    report: async (record) => {
      count(state.tally, record);
      await options.onRecord?.(record);
    },
  };
  const ahead = readAhead(node);
  for (;;) {
    signal?.throwIfAborted();
    await ahead.fill(audit.histories);
    const slot = newestSlot(audit.histories);
    if (slot === null) break;
    await readSlot(audit, slot, ahead.take);
    await options.onCheckpoint?.(state);
  }
  await closeHistories(audit);
  return toReport(state);
}

interface Audit {
  readonly node: AuditNode;
  readonly state: AuditState;
  readonly vault: Address;
  readonly histories: AccountHistory[];
  /** Addresses of the accounts among them. */
  readonly known: Set<string>;
  readonly report: (record: AuditRecord) => Promise<void>;
}

async function beginAudit(
  node: AuditNode,
  { vault, multisig, commitment, ...bounds }: AuditQuery & Pick<AuditState, 'commitment'>,
): Promise<AuditState> {
  const { from = null, to = null } = bounds;
  requirePeriod({ from, to });
  const owner = address(vault);
  const found = multisig === undefined ? await findMultisig(node, owner) : address(multisig);
  if (found !== null && vaultAddress(found, VAULT_INDEX) !== owner) {
    throw new RangeError(`${owner} is not the vault of the multisig ${found}.`);
  }
  const tally = createTally();
  const accounts: AccountState[] = [];
  for (const { account, mint, decimals, ...held } of await node.readTokenAccounts(owner)) {
    accounts.push(toState({ account, kind: 'tokens', mint }, held));
    if (decimals !== null) tally.decimals.set(mint, decimals);
  }
  const history = found && (await node.readMultisig(found));
  if (found && history) accounts.push(toState({ account: found, kind: 'multisig', mint: null }, history));
  accounts.push(toState({ account: owner, kind: 'vault', mint: null }, await node.readLamports(owner)));
  const genesisHash = await node.readGenesisHash();
  // The balances are those of a few slots in a row; what lies between them is read, and not counted.
  const period = { from, to, headSlot: accounts.reduce((least, { slot }) => Math.min(least, slot), Infinity) };
  requireBegun(period, typeof from === 'string' ? await node.readTime() : null);
  return {
    ...{ format: STATE_FORMAT, genesisHash, vault, commitment, accounts, tally, slot: null, counted: [], period },
    multisig: found && history && { multisig: found, nextIndex: history.transactionIndex, batches: [], changes: [] },
  };
}

type NewAccount = Pick<AccountState, 'account' | 'kind' | 'mint'>;

function toState(account: NewAccount, { slot, balance }: { readonly slot: number; readonly balance: bigint }) {
  const ends = { closing: null, closingMint: account.mint, opening: null };
  return { ...account, anchorSlot: slot, cursor: null, slot, expected: balance, ...ends };
}

/** Finds the multisig of a vault in its newest transaction with an instruction of Squads; null if there is none. */
async function findMultisig(node: AuditNode, vault: Address): Promise<Address | null> {
  for (let before: Entry | null = null; ; ) {
    const page: readonly Entry[] =
      (await node.listOlder(vault, { before, limit: MAX_SIGNATURES_FOR_ADDRESS, minContextSlot: 0 })) ?? [];
    for (const entry of page) {
      if (entry.hasFailed) continue;
      const transaction = await node.readTransaction(entry);
      const found = transaction && multisigOf(transaction, vault);
      if (found) return found;
    }
    before = page.at(-1) ?? null;
    if (before === null) return null;
  }
}

/** The first account of almost every instruction of Squads is the multisig. The address of its vault proves it. */
function multisigOf({ calls }: ChainTransaction, vault: Address): Address | null {
  const candidates = calls
    .flatMap(({ instruction, inner }) => [instruction, ...inner])
    .filter(({ programAddress }) => programAddress === SQUADS_PROGRAM_ADDRESS)
    .flatMap(({ accounts = [] }) => accounts.slice(0, 1).map((account) => account.address));
  return candidates.find((candidate) => vaultAddress(candidate, VAULT_INDEX) === vault) ?? null;
}

async function requireSameAudit(
  node: AuditNode,
  state: AuditState,
  { vault, commitment }: AuditQuery & Pick<AuditState, 'commitment'>,
): Promise<void> {
  if (state.vault !== vault) throw new RangeError(`The state is that of an audit of ${state.vault}, not of ${vault}.`);
  if (state.commitment !== commitment) {
    throw new RangeError(`The state is that of an audit at the commitment ${state.commitment}, not ${commitment}.`);
  }
  if (state.genesisHash !== (await node.readGenesisHash())) throw new RangeError('The state is of another cluster.');
}

function newestSlot(histories: readonly AccountHistory[]): number | null {
  let newest: number | null = null;
  for (const { entries } of histories) {
    const [entry] = entries;
    if (entry && (newest === null || entry.slot > newest)) newest = entry.slot;
  }
  return newest;
}

/** Reads the known transactions of a slot. Those of one account are compared in its own order; each is counted once. */
async function readSlot(audit: Audit, slot: number, take: ReadAhead['take']): Promise<void> {
  const { state, histories } = audit;
  const counted = new Set(state.slot === slot ? state.counted : []);
  for (const history of [...histories]) {
    for (let [entry] = history.entries; entry?.slot === slot; [entry] = history.entries) {
      const known = entry.hasFailed ? null : await take(entry);
      const transaction = known?.hasInner ? known : null;
      const gap = history.pass(transaction);
      if (gap) addGap(state.tally, gap);
      if (isBefore(entry, state.period)) continue;
      if (history.state.kind === 'multisig' && transaction) await readConfiguration(audit, entry, transaction);
      if (counted.has(entry.signature)) continue;
      counted.add(entry.signature);
      if (transaction) await readMovements(audit, entry, transaction);
      else if (entry.hasFailed && !isAfter(entry, state.period)) state.tally.failed += 1;
    }
  }
  state.slot = slot;
  state.counted = [...counted];
}

async function readConfiguration(audit: Audit, entry: Entry, transaction: ChainTransaction): Promise<void> {
  const { state, report } = audit;
  if (!state.multisig) return;
  const { signature, slot } = entry;
  const place = { slot, executedAt: transaction.executedAt, signature };
  const isCounted = !isAfter(entry, state.period);
  const { multisig } = state.multisig;
  for (const finding of readMultisig(state.multisig, transaction, { ...place, isCounted })) {
    switch (finding.kind) {
      case 'missing': {
        const reason = `After the transaction ${signature}, ${finding.what} is missing.`;
        addGap(state.tally, { account: multisig, fromSlot: slot, toSlot: state.slot ?? slot, reason });
        break;
      }
      case 'rotation': {
        const { executed, changes } = finding;
        if (executed.isCounted) await report({ kind: 'rotation', ...placeOf(executed), changes });
        break;
      }
      case 'foreign':
        if (isCounted) await report({ kind: 'foreign', ...place, discriminator: finding.discriminator });
        break;
      default:
        finding satisfies never;
    }
  }
}

async function readMovements(audit: Audit, entry: Entry, transaction: ChainTransaction): Promise<void> {
  const { state, vault, report } = audit;
  discoverAccounts(audit, entry, transaction);
  if (isAfter(entry, state.period)) return;
  const { pipelines, flows } = movementsOf(transaction, vault);
  const place = { slot: entry.slot, executedAt: transaction.executedAt, signature: entry.signature };
  state.tally.read += 1;
  const own = pipelines.filter(({ multisig }) => multisig === state.multisig?.multisig);
  if (own.length + flows.length === 0) state.tally.idle += 1;
  for (const { batch, proof } of own) {
    await report({ kind: 'pipeline', ...place, type: proof?.type ?? null, hash: proof?.hash ?? null, batch });
  }
  for (const flow of flows) await report({ ...place, ...flow });
}

/** Adds token accounts that the vault owned before or after this transaction and no longer owns. */
function discoverAccounts({ node, state, histories, known }: Audit, entry: Entry, transaction: ChainTransaction): void {
  const { slot, signature } = entry;
  for (const { account, mint, decimals } of ownedTokensOf(transaction, state.vault)) {
    state.tally.decimals.set(mint, decimals);
    const change = known.has(account) ? null : tokensIn(transaction, state.vault, account);
    if (change === null) continue;
    known.add(account);
    const { before, after, mintBefore, mintAfter } = change;
    const found: AccountState = {
      ...{ account, kind: 'tokens', mint: mintBefore ?? mint, anchorSlot: slot, cursor: signature, slot },
      ...{ expected: before, opening: null, closingMint: mintAfter ?? mint },
      closing: isAfter(entry, state.period) ? null : after,
    };
    state.accounts.push(found);
    const { vault, period, tally } = state;
    histories.push(openHistory({ node, vault, period, decimals: tally.decimals }, found));
    const { headSlot } = period;
    if (after === 0n || slot > headSlot) continue;
    const had = writeBalance(after, 'tokens', { mint: mintAfter ?? mint, decimals: tally.decimals });
    const reason = `It had ${had} after the transaction ${signature}, and is no account of the vault now.`;
    addGap(state.tally, { account, fromSlot: slot, toSlot: headSlot, reason });
  }
}

async function closeHistories({ state, histories, report }: Audit): Promise<void> {
  const { multisig, tally } = state;
  for (const history of histories) {
    const { kind, account, opening, slot } = history.state;
    const gap = history.close();
    if (gap) addGap(tally, gap);
    const missing = kind === 'multisig' && opening === null && multisig ? missingAtStart(multisig) : null;
    if (missing !== null) addGap(tally, { account, fromSlot: 0, toSlot: slot, reason: `It lacks ${missing}.` });
  }
  // What these changes were was proposed before the period.
  for (const change of multisig?.changes.splice(0) ?? []) {
    if (change.isCounted) await report({ kind: 'rotation', ...placeOf(change), changes: null });
  }
}

function placeOf({ slot, executedAt, signature }: Executed) {
  return { slot, executedAt, signature };
}

function toReport({ vault, multisig, genesisHash, period, accounts, tally }: AuditState): AuditReport {
  const { flows, types, gaps, gapCount, read, idle, failed } = tally;
  const byType = [...types]
    .map(([type, number]) => ({ type, count: number }))
    .toSorted((a, b) => b.count - a.count || (a.type < b.type ? -1 : 1));
  return {
    ...{ vault, multisig: multisig?.multisig ?? null, genesisHash, period },
    transactions: { read, idle, failed },
    pipelines: { total: tally.pipelines, withoutProof: tally.withoutProof, byType },
    assets: assetTotals(tally, accounts),
    counts: {
      ...{ withdrawals: flows.withdrawn, deposits: flows.deposited, unexplained: flows.unexplained },
      ...{ rotations: tally.rotations, foreign: tally.foreign },
    },
    ...{ gaps: [...gaps], gapCount, isComplete: gapCount === 0, isExplained: flows.unexplained === 0 },
  };
}
