import type { Batch } from '@flywheel/api';
import { formatAmount } from '../../amount.ts';
import type { ExecutedTransaction, TokenState } from './chain-reader.ts';
import type { ExpectedEffects } from './expectation.ts';

export interface Evidence {
  readonly batch: Pick<Batch, 'id' | 'status' | 'executeResult'>;
  readonly expected: ExpectedEffects;
  readonly before: TokenState;
  readonly after: TokenState;
  readonly transactions: readonly ExecutedTransaction[];
}

/** The verdict and its evidence. Amounts are whole tokens as decimal text. */
export interface Verification {
  readonly ok: boolean;
  /** A sentence per thing that is not as it must be. */
  readonly problems: readonly string[];
  /** What the request burns and airdrops in all. */
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
  /** What the amount must have changed to. */
  readonly expected: string;
  readonly ok: boolean;
}

export interface RecipientCheck extends AmountCheck {
  readonly address: string;
  /** Whether the batch created its token account. */
  readonly isNew: boolean;
  readonly airdropped: string;
}

export interface ProofCheck {
  /** Zero-based position of the pipeline. */
  readonly pipeline: number;
  readonly type: string;
  /** Recomputed from type and payload. */
  readonly memo: string;
  /** Of the transaction that carries the memo; null when none does. */
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
 * Compares what the request must do with what the chain shows: every amount exactly, every memo in a transaction that
 * succeeded and signed by the vault. Each memo on chain vouches for one pipeline only.
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
  const problems = [
    ...problemsOfExecution(batch, expected, transactions),
    ...(supply.ok ? [] : [`The supply is ${supply.after} tokens and must be ${supply.expected}.`]),
    ...(vault.ok ? [] : [`The vault holds ${vault.after} tokens and must hold ${vault.expected}.`]),
    ...recipients
      .filter(({ ok }) => !ok)
      .map((wrong) => `${wrong.address} holds ${wrong.after} tokens and must hold ${wrong.expected}.`),
    ...proofs
      .filter(({ ok }) => !ok)
      .map(({ pipeline, memo }) => `The proof memo of pipeline ${pipeline} is not on chain: ${memo}.`),
    ...messages
      .filter(({ ok }) => !ok)
      .map(({ pipeline, message }) => `A memo of pipeline ${pipeline} is not on chain: ${message}`),
  ];
  return {
    ok: problems.length === 0,
    problems,
    burned: formatAmount(burnedBaseUnits, decimals),
    airdropped: formatAmount(airdroppedBaseUnits, decimals),
    supply,
    vault,
    recipients,
    proofs,
    messages,
  };
}

function checkAmount(before: bigint, after: bigint, expected: bigint, decimals: number): AmountCheck {
  return {
    before: formatAmount(before, decimals),
    after: formatAmount(after, decimals),
    expected: formatAmount(expected < 0n ? 0n : expected, decimals),
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
      airdropped: formatAmount(airdropped, decimals),
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

function problemsOfExecution(
  { id, status, executeResult }: Evidence['batch'],
  { proofs }: ExpectedEffects,
  transactions: readonly ExecutedTransaction[],
): string[] {
  const problems: string[] = [];
  if (status !== 'EXECUTED') {
    problems.push(`Batch ${id} is ${status}: ${executeResult?.failedTxMsg ?? 'the service gave no reason'}.`);
  }
  const successful = executeResult?.totalSuccessful ?? 0;
  if (successful !== proofs.length) {
    problems.push(`The service reports ${successful} of ${proofs.length} pipelines executed.`);
  }
  for (const { signature, succeeded } of transactions) {
    if (!succeeded) problems.push(`Transaction ${signature} is not on chain, or failed there.`);
  }
  return problems;
}
