import type { Batch, Pipeline } from '@flywheel/api';
import { parseAmountNumber, proofMemo, toDecimal } from '@flywheel/protocol';
import type { ExecutedTransaction, TokenState } from './chain-reader.ts';

/** The effects that pipelines must have on chain, derived from the request alone. */
export interface ExpectedEffects {
  readonly decimals: number;
  readonly burnedBaseUnits: bigint;
  /** Base units by recipient. */
  readonly airdrops: ReadonlyMap<string, bigint>;
  readonly airdroppedBaseUnits: bigint;
  /** In the order of the pipelines. */
  readonly proofs: readonly ExpectedProof[];
}

interface ExpectedProof {
  readonly type: string;
  /** Recomputed from type and payload. */
  readonly memo: string;
  /** Texts of the pipeline’s MEMO actions. */
  readonly messages: readonly string[];
}

/** Adds up burns and airdrops, and recomputes every proof memo. */
export function expectEffects(pipelines: readonly Pipeline[], decimals: number): ExpectedEffects {
  let burnedBaseUnits = 0n;
  let airdroppedBaseUnits = 0n;
  const airdrops = new Map<string, bigint>();
  for (const action of pipelines.flatMap(({ actions }) => actions)) {
    if (action.action === 'MEMO') continue;
    const amountBaseUnits = parseAmountNumber(action.amount, decimals);
    if (action.action === 'BURN') {
      burnedBaseUnits += amountBaseUnits;
    } else {
      airdroppedBaseUnits += amountBaseUnits;
      airdrops.set(action.toAddress, (airdrops.get(action.toAddress) ?? 0n) + amountBaseUnits);
    }
  }
  const proofs = pipelines.map(({ type, payload, actions }) => ({
    type,
    memo: proofMemo({ type, payload }),
    messages: actions.flatMap((action) => (action.action === 'MEMO' ? [action.message] : [])),
  }));
  return { decimals, burnedBaseUnits, airdroppedBaseUnits, airdrops, proofs };
}

export interface Evidence {
  readonly batch: Pick<Batch, 'id' | 'status' | 'executeResult'>;
  readonly expected: ExpectedEffects;
  readonly before: TokenState;
  readonly after: TokenState;
  readonly transactions: readonly ExecutedTransaction[];
}

/** The result with its evidence. Amounts are whole tokens as plain decimal text. */
export interface Verification {
  readonly ok: boolean;
  /** A sentence per mismatch. */
  readonly problems: readonly string[];
  /** Totals of the request. */
  readonly burned: string;
  readonly airdropped: string;
  readonly supply: AmountCheck;
  readonly vault: AmountCheck;
  readonly recipients: readonly RecipientCheck[];
  readonly proofs: readonly ProofCheck[];
  readonly messages: readonly MessageCheck[];
}

export interface AmountCheck {
  readonly before: string;
  readonly after: string;
  readonly expected: string;
  readonly ok: boolean;
}

export interface RecipientCheck extends AmountCheck {
  readonly address: string;
  /** True if the batch created its token account. */
  readonly isNew: boolean;
  readonly airdropped: string;
}

export interface ProofCheck {
  /** Position of the pipeline in the batch, from 0. */
  readonly pipeline: number;
  readonly type: string;
  /** Recomputed from type and payload. */
  readonly memo: string;
  /** Signature of the transaction with the memo; null if there is none. */
  readonly signature: string | null;
  readonly ok: boolean;
}

export interface MessageCheck {
  readonly pipeline: number;
  readonly message: string;
  readonly signature: string | null;
  readonly ok: boolean;
}

/**
 * Compares the expected effects with the chain: every amount must be exact, and every memo must be in a successful
 * transaction and signed by the vault. A memo on chain counts for one pipeline only.
 */
export function verify({ batch, expected, before, after, transactions }: Evidence): Verification {
  const { burnedBaseUnits, airdroppedBaseUnits, decimals } = expected;
  const supply = checkAmount(
    before.supplyBaseUnits,
    after.supplyBaseUnits,
    before.supplyBaseUnits - burnedBaseUnits,
    decimals,
  );
  const vault = checkAmount(
    before.vaultBaseUnits,
    after.vaultBaseUnits,
    before.vaultBaseUnits - burnedBaseUnits - airdroppedBaseUnits,
    decimals,
  );
  const recipients = checkRecipients(expected, before, after);
  const { proofs, messages } = checkMemos(expected, transactions);
  const mismatches = [
    ...executionMismatches(batch, expected, transactions),
    ...(supply.ok ? [] : [`The supply is ${supply.after} tokens; expected ${supply.expected}.`]),
    ...(vault.ok ? [] : [`The vault holds ${vault.after} tokens; expected ${vault.expected}.`]),
    ...recipients
      .filter(({ ok }) => !ok)
      .map((wrong) => `${wrong.address} holds ${wrong.after} tokens; expected ${wrong.expected}.`),
    ...proofs
      .filter(({ ok }) => !ok)
      .map(({ pipeline, memo }) => `The proof memo of pipeline ${pipeline} is not on chain: ${memo}.`),
    ...messages
      .filter(({ ok }) => !ok)
      .map(({ pipeline, message }) => `A memo of pipeline ${pipeline} is not on chain: ${message}`),
  ];
  return {
    ok: mismatches.length === 0,
    problems: mismatches,
    burned: toDecimal(burnedBaseUnits, decimals),
    airdropped: toDecimal(airdroppedBaseUnits, decimals),
    supply,
    vault,
    recipients,
    proofs,
    messages,
  };
}

function checkAmount(before: bigint, after: bigint, expected: bigint, decimals: number): AmountCheck {
  return {
    before: toDecimal(before, decimals),
    after: toDecimal(after, decimals),
    expected: toDecimal(expected < 0n ? 0n : expected, decimals),
    ok: after === expected,
  };
}

function checkRecipients({ airdrops, decimals }: ExpectedEffects, before: TokenState, after: TokenState) {
  return [...airdrops].map(([address, airdropped]): RecipientCheck => {
    const held = before.balances.get(address) ?? null;
    const holds = after.balances.get(address) ?? null;
    return {
      address,
      isNew: held === null,
      airdropped: toDecimal(airdropped, decimals),
      ...checkAmount(held ?? 0n, holds ?? 0n, (held ?? 0n) + airdropped, decimals),
    };
  });
}

function checkMemos({ proofs }: ExpectedEffects, transactions: readonly ExecutedTransaction[]) {
  const onChain = transactions.flatMap(({ signature, vaultMemos }) => vaultMemos.map((text) => ({ signature, text })));
  const take = (text: string): string | null => {
    const position = onChain.findIndex((memo) => memo.text === text);
    const [taken] = position < 0 ? [] : onChain.splice(position, 1);
    return taken?.signature ?? null;
  };
  const checkedProofs = proofs.map(({ type, memo }, pipeline): ProofCheck => {
    const signature = take(memo);
    return { pipeline, type, memo, signature, ok: signature !== null };
  });
  const checkedMessages = proofs.flatMap(({ messages }, pipeline) =>
    messages.map((message): MessageCheck => {
      const signature = take(message);
      return { pipeline, message, signature, ok: signature !== null };
    }),
  );
  return { proofs: checkedProofs, messages: checkedMessages };
}

function executionMismatches(
  { id, status, executeResult }: Evidence['batch'],
  { proofs }: ExpectedEffects,
  transactions: readonly ExecutedTransaction[],
): string[] {
  const mismatches: string[] = [];
  if (status !== 'EXECUTED') {
    mismatches.push(`Batch ${id} is ${status}: ${executeResult?.failedTxMsg ?? 'the service gave no reason'}.`);
  }
  const successful = executeResult?.totalSuccessful ?? 0;
  if (successful !== proofs.length) {
    mismatches.push(`The service reports ${successful} of ${proofs.length} pipelines as executed.`);
  }
  for (const { signature, succeeded } of transactions) {
    if (!succeeded) mismatches.push(`Transaction ${signature} is not on chain, or failed.`);
  }
  return mismatches;
}
