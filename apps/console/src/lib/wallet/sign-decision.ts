import type { DecisionSignature } from '@flywheel/api';
import {
  address,
  type CompanyDecision,
  DECISION_NONCE_BYTES,
  findDecisionIssue,
  findDecisionSizeIssue,
  memoTransaction,
  startDecision,
  writeDecisionText,
  writeSignedDecision,
} from '@flywheel/protocol';
import { type Address, compileTransaction, getTransactionDecoder, getTransactionEncoder } from '@solana/kit';
import { signMessage } from './signing.ts';
import { findAccount } from './wallets.ts';

/** How the wallet is asked: for a message, or for a transaction that is never sent. */
export type DecisionEncoding = 'message' | 'memo';

/** Signs a decision with the wallet in this browser that holds the operator’s address. */
export interface DecisionRequest extends Omit<CompanyDecision, 'operator' | 'nonce' | 'expiresAt'> {
  readonly operator: string;
  readonly encoding: DecisionEncoding;
  /** Chain identifier of the Wallet Standard, for example `solana:mainnet`. */
  readonly chain: `solana:${string}`;
}

/**
 * Signs a decision, as the text that the worker writes as well.
 * @throws Error when the text is too long, no wallet holds the address, the wallet signs something else, or the person
 * declines.
 */
export async function signDecision({
  operator,
  encoding,
  chain,
  ...request
}: DecisionRequest): Promise<DecisionSignature> {
  const by = address(operator);
  const nonce = crypto.getRandomValues(new Uint8Array(DECISION_NONCE_BYTES));
  // This computer’s clock: by the service’s, a thief of `serve` could have a decision signed that counts for years.
  const decision = startDecision({ ...request, operator: by }, { nonce, now: new Date() });
  const text = writeDecisionText(decision);
  const sizeIssue = findDecisionSizeIssue(text);
  if (sizeIssue !== null) throw new Error(sizeIssue);
  const signed =
    encoding === 'memo'
      ? await signAsMemo(by, text, chain)
      : await signMessage(by, text, 'Sign the decision as a memo transaction.');
  const issue = await findDecisionIssue(text, by, signed);
  if (issue !== null) throw new Error(`${issue} Sign it as a memo transaction, or with another wallet.`);
  return writeSignedDecision(decision, signed);
}

async function signAsMemo(operator: Address, text: string, chain: `solana:${string}`) {
  const { wallet, account } = await findAccount(operator);
  const transaction = new Uint8Array(
    getTransactionEncoder().encode(compileTransaction(memoTransaction(text, operator))),
  );
  const feature = wallet.features['solana:signTransaction'];
  const [output] = await feature.signTransaction({ account, transaction, chain });
  if (!output) throw new Error(`${wallet.name} returned no signature.`);
  const { messageBytes, signatures } = getTransactionDecoder().decode(output.signedTransaction);
  const signature = signatures[operator];
  if (!signature) throw new Error(`${wallet.name} returned a transaction without its signature.`);
  return { signedMessage: messageBytes, signature };
}
