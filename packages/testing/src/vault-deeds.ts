import { type Proof, proofMemo } from '@flywheel/protocol';
import {
  getConfigTransactionCreateInstruction,
  getConfigTransactionExecuteInstruction,
  PERMISSION,
  proposalAddress,
  transactionAddress,
} from '@flywheel/squads';
import { type Address, createNoopSigner } from '@solana/kit';
import { getTransferSolInstruction } from '@solana-program/system';
import { getTransferCheckedInstruction } from '@solana-program/token';
import { addressNamed, DECIMALS, memoBy, type SyntheticCall, type SyntheticVault } from './synthetic-vault.ts';
import type { Finding } from './vault-books.ts';
import { type DeedContext, mergeEffects, type Part, type PipelineDeed } from './vault-pipelines.ts';

/** One or more transactions. */
export type Deed = (context: DeedContext) => void;

/** Batches that are executed at the same time. */
const OPEN_BATCHES = 3;

/** Transactions of a project, its company and friendly people. */
export const HONEST_DEEDS: readonly Deed[] = [
  ...Array.from({ length: 6 }, (): Deed => (context) => void execute(context)),
  depositLamports,
  depositTokens,
  (context) => rotate(context, true),
  (context) => rotate(context, false),
];

/** Executes the next one to five pipelines of a batch. */
export function execute(context: DeedContext, beside: { readonly before?: readonly SyntheticCall[] } = {}): void {
  const { vault, books, random, batches, nextPipeline } = context;
  if (batches.length < OPEN_BATCHES) {
    const index = vault.takeIndex();
    books.land([vault.creation(index)]);
    batches.push({ index, position: 0, end: 1 + Math.floor(random() * 30) });
  }
  const place = Math.floor(random() * batches.length);
  const batch = batches[place];
  if (!batch) return;
  const first = batch.position;
  batch.position = Math.min(batch.end, first + 1 + Math.floor(random() * 5));
  if (batch.position === batch.end) batches.splice(place, 1);
  const deeds = Array.from({ length: batch.position - first }, () => nextPipeline()(context));
  const { calls, effects } = executions(context, { index: batch.index, first, deeds });
  const findings = findingsOf(deeds, transactionAddress(vault.multisig, batch.index));
  const signature = books.land([...(beside.before ?? []), ...calls], effects, findings);
  for (const { proven = [], provenOthers = [] } of deeds) {
    for (const event of proven) books.prove(event, signature);
    for (const proof of provenOthers) books.proveOther(proof, signature);
  }
}

interface Execution {
  readonly index: bigint;
  readonly first: number;
  readonly deeds: readonly PipelineDeed[];
}

/** The instructions that execute pipelines of a batch, and what they change. */
export function executions({ vault }: DeedContext, { index, first, deeds }: Execution) {
  const calls = deeds.map(({ memos, parts }, i) =>
    vault.executionOf(index, first + i, [...memos, ...parts.flatMap(({ inner }) => inner)]),
  );
  const parts = deeds.flatMap((deed) => deed.parts);
  return { calls, effects: mergeEffects([...parts.map(({ effects = {} }) => effects), { named: [vault.vault] }]) };
}

/** Lists the findings of an audit in a transaction that executes pipelines. */
export function findingsOf(deeds: readonly PipelineDeed[], batch: string): Finding[] {
  const pipelines = deeds.map(({ proof }): Finding => {
    const [type = null, , hash = null] = proof ? [proof.type, proof.payload, hashOf(proof)] : [];
    return { kind: 'pipeline', type, hash, batch };
  });
  const taken = deeds.flatMap(({ proof, parts }) => parts.flatMap((part) => findingOf(part, proof)));
  return [...pipelines, ...taken, ...restsOf(deeds.flatMap(({ parts }) => parts))];
}

function hashOf(proof: Proof): string {
  return proofMemo(proof).slice(-64); // the memo ends with the hash
}

function findingOf({ taken, isRent }: Part, proof: Proof | null): Finding[] {
  if (!taken) return [];
  const { mint, amount: amountBaseUnits, to } = taken;
  const common = { mint, amountBaseUnits, to, type: proof?.type ?? null };
  if (proof === null) return [{ kind: 'unexplained', ...common }];
  if (isRent) return [{ kind: 'rent', ...common }];
  if (to === null) return [{ kind: 'burned', ...common }];
  return [{ kind: proof.type === 'WITHDRAW' ? 'withdrawn' : 'airdropped', ...common }];
}

function restsOf(parts: readonly Part[]): Finding[] {
  const rests = new Map<string | null, bigint>();
  for (const { rest } of parts) if (rest) rests.set(rest.mint, (rests.get(rest.mint) ?? 0n) + rest.amount);
  return [...rests].filter(([, amount]) => amount !== 0n).map(([mint, amount]) => rest(mint, amount));
}

/** A change that no instruction of the vault says: a deposit, or an outflow if it is negative. */
export function rest(mint: string | null, amount: bigint): Finding {
  const kind = amount > 0n ? 'deposited' : 'unexplained';
  return { kind, mint, amountBaseUnits: amount > 0n ? amount : -amount, to: null, type: null };
}

export function depositLamports({ vault, books, amount: nextAmount }: DeedContext): void {
  const [amount, source] = [nextAmount(), createNoopSigner(vault.stranger)];
  const instruction = getTransferSolInstruction({ source, destination: vault.vault, amount });
  books.land([{ instruction }], { lamports: { [vault.vault]: amount } }, [rest(null, amount)]);
}

export function depositTokens({ vault, books, amount: nextAmount }: DeedContext): void {
  const [amount, authority] = [nextAmount(), createNoopSigner(vault.stranger)];
  const transfer = { source: vault.strangerTokens, destination: vault.tokens, mint: vault.mint, amount };
  const instruction = getTransferCheckedInstruction({ ...transfer, decimals: DECIMALS, authority });
  const effects = { tokens: { [vault.tokens]: amount, [vault.strangerTokens]: -amount } };
  books.land([{ instruction }], { ...effects, isInSameSlot: true }, [rest(vault.mint, amount)]);
}

/** Proposes to replace a voter or the operator, and executes it or leaves it. */
function rotate({ vault, books, random, number }: DeedContext, isExecuted: boolean): void {
  const change = proposed(vault);
  const [from, to] = [addressNamed(`member ${number()}`), addressNamed(`member ${number()}`)];
  const isOperator = random() < 0.5;
  const mask = isOperator ? PERMISSION.initiate | PERMISSION.execute : PERMISSION.vote;
  const create = getConfigTransactionCreateInstruction({
    ...change,
    ...{ creator: from, rentPayer: from, memo: null },
    actions: [
      { __kind: 'AddMember', newMember: { key: to, permissions: { mask } } },
      ...(isOperator ? [{ __kind: 'SetRentCollector', newRentCollector: to } as const] : []),
      { __kind: 'RemoveMember', oldMember: from },
    ],
  });
  books.land([{ instruction: create }]);
  if (!isExecuted) return;
  const instruction = getConfigTransactionExecuteInstruction({ ...change, member: from, rentPayer: null });
  books.land([{ instruction }], { hasFailed: true });
  const changes = isOperator
    ? `${to} (initiate, execute) is added, then ${to} collects the rent, then ${from} is removed`
    : `${to} (vote) is added, then ${from} is removed`;
  books.land([{ instruction }], {}, [{ kind: 'rotation', changes }]);
}

/** Addresses of the next transaction of the multisig. */
export function proposed({ multisig, takeIndex }: Pick<SyntheticVault, 'multisig' | 'takeIndex'>) {
  const index = takeIndex();
  return { multisig, transaction: transactionAddress(multisig, index), proposal: proposalAddress(multisig, index) };
}

/** A memo that says a proof which its signer did not make. */
export function stolenMemo({ books, number, isHonest }: DeedContext): string {
  const event = { type: 'WATCH_AD', payload: `{"stolenId":${number()}}` };
  if (!isHonest) books.publish(event);
  return proofMemo(event);
}

export function memoCall(signer: Address, text: string): SyntheticCall {
  return { instruction: memoBy(signer, text) };
}
