/**
 * A sentence that quotes a TransactionError, with its meaning in words where it is known. The quote stays behind it, for
 * those who look further.
 */
export function explainChainError(sentence: string): string {
  const quote = /^(.*?): (\{.*\}|"[A-Za-z]+")\.?$/s.exec(sentence);
  const [, before, err] = quote ?? [];
  if (before === undefined || err === undefined) return sentence;
  const meaning = MEANINGS.find(([pattern]) => pattern.test(err))?.[1];
  return meaning === undefined ? sentence : `${before}: ${meaning} (${err}).`;
}

/** Numbers are those of the token programs (spl-token, `TokenError`): of what a vault executes they alone have them. */
const MEANINGS: readonly (readonly [RegExp, string])[] = [
  [/"Custom":1\}/, 'the account it pays from holds too little'],
  [/"Custom":3\}/, 'a token account is of another mint'],
  [/"Custom":4\}/, 'a token account belongs to another owner'],
  [/"Custom":17\}/, 'a token account that it needs is frozen'],
  [/InsufficientFundsForRent/, 'an account would be left with less than its rent'],
  [/ComputationalBudgetExceeded|ProgramFailedToComplete/, 'it takes more compute than a transaction may'],
  [/InvalidAccountData|UninitializedAccount/, 'an account that it needs is gone or not what it was'],
];
