import {
  getConfigTransactionExecuteInstruction,
  multisigAddress,
  SQUADS_PROGRAM_ADDRESS,
  transactionAddress,
  vaultAddress,
} from '@flywheel/squads';
import { AccountRole, type Address, createNoopSigner, type Instruction } from '@solana/kit';
import { getTransferSolInstruction } from '@solana-program/system';
import {
  AuthorityType,
  getBatchInstruction,
  getBurnCheckedInstruction,
  getBurnInstruction,
  getCloseAccountInstruction,
  getSetAuthorityInstruction,
  getTransferInstruction,
  TOKEN_PROGRAM_ADDRESS,
} from '@solana-program/token';
import {
  getBurnCheckedInstruction as getBurnCheckedInstruction2022,
  getTransferCheckedWithFeeInstruction,
  TOKEN_2022_PROGRAM_ADDRESS,
} from '@solana-program/token-2022';
import { addressNamed, DECIMALS, type Effects, memoBy, type SyntheticCall } from './synthetic-vault.ts';
import type { Finding } from './vault-books.ts';
import {
  type Deed,
  depositLamports,
  depositTokens,
  execute,
  executions,
  memoCall,
  proposed,
  rest,
  stolenMemo,
} from './vault-deeds.ts';
import { type DeedContext, sendInstruction } from './vault-pipelines.ts';

/** Ways to take something from a vault, or to try, other than by a pipeline. */
export const DISHONEST_DEEDS: readonly Deed[] = [
  (context) => execute(context, { before: [memoCall(context.vault.stranger, stolenMemo(context))] }),
  failedExecution,
  failedRotation,
  (context) => delegateTakes(context, (amount) => sendInstruction(context, amount, context.vault.stranger), 'checked'),
  (context) => delegateTakes(context, (amount) => plainTransfer(context, amount), 'plain'),
  (context) => delegateTakes(context, (amount) => burnBy(context, amount, getBurnCheckedInstruction), 'burn'),
  (context) => delegateTakes(context, (amount) => burnBy(context, amount, getBurnInstruction), 'burn'),
  delegateTakesByProgram,
  coveredTransfer,
  executeByProgram,
  vaultTransaction,
  spendingLimit,
  strangersBatchTakes,
  permanentDelegateSends,
  permanentDelegateBurns,
  giveAway,
  giveAwayAndBack,
  closeAndCreate,
  closeAndCreateAtOnce,
  changeMint,
];

/** Transactions that any stranger can make with a vault for a fee. */
export const DUST: readonly Deed[] = [
  depositLamports,
  depositTokens,
  (context) => mention(context, [memoCall(context.vault.stranger, stolenMemo(context))]),
  failedExecution,
  strangersBatch,
  (context) => {
    const memo = stolenMemo(context);
    const logs = [`Program log: Memo (len ${memo.length}): "${memo}"`, `Program ${SQUADS_PROGRAM_ADDRESS} success`];
    mention(context, [memoCall(context.vault.stranger, 'hello')], { logs });
  },
  (context) => {
    const { stranger, vault } = context.vault;
    const change = { owned: stranger, owner: createNoopSigner(stranger), newAuthority: vault };
    mention(context, [
      { instruction: getSetAuthorityInstruction({ ...change, authorityType: AuthorityType.CloseAccount }) },
    ]);
  },
];

/** An execution of the next pipeline fails: nothing is proven, and it can be executed later. */
function failedExecution(context: DeedContext): void {
  const { vault, books } = context;
  const [batch] = context.batches;
  const amount = context.amount();
  const call = vault.executionOf(batch?.index ?? 1n, batch?.position ?? 0, [
    memoBy(vault.vault, stolenMemo(context)),
    sendInstruction(context, amount),
  ]);
  books.land([call], { hasFailed: true, named: [vault.vault], tokens: { [vault.tokens]: -amount } });
}

function failedRotation({ vault, books }: DeedContext): void {
  const { multisig, stranger } = vault;
  const transaction = transactionAddress(multisig, 1n);
  const execution = { multisig, member: stranger, proposal: stranger, transaction, rentPayer: null };
  books.land([{ instruction: getConfigTransactionExecuteInstruction(execution) }], { hasFailed: true });
}

function plainTransfer({ vault }: DeedContext, amount: bigint) {
  const authority = createNoopSigner(vault.stranger);
  return getTransferInstruction({ source: vault.tokens, destination: vault.strangerTokens, amount, authority });
}

function burnBy(
  { vault }: DeedContext,
  amount: bigint,
  instruction: typeof getBurnInstruction | typeof getBurnCheckedInstruction,
): Instruction {
  const authority = createNoopSigner(vault.stranger);
  return instruction({ account: vault.tokens, mint: vault.mint, amount, decimals: DECIMALS, authority });
}

/** A delegate of the vault's token account takes tokens. Its transaction does not name the vault. */
function delegateTakes(context: DeedContext, instruction: (amount: bigint) => Instruction, kind: string): void {
  const { vault, books } = context;
  const amount = context.amount();
  const to = kind === 'burn' ? null : vault.strangerTokens;
  books.land(
    [memoCall(vault.stranger, stolenMemo(context)), { instruction: instruction(amount) }],
    lossOf(context, amount),
    [unexplained(vault.mint, amount, to)],
  );
}

/** Does as `delegateTakes`, deep inside a program of the delegate. */
function delegateTakesByProgram(context: DeedContext): void {
  const { vault, books } = context;
  const amount = context.amount();
  const inner = [
    memoBy(vault.stranger, stolenMemo(context)),
    { ...sendInstruction(context, amount, vault.stranger), stackHeight: 4 },
  ];
  books.land([{ instruction: callOf(addressNamed('a program')), inner }], lossOf(context, amount), [
    unexplained(vault.mint, amount, vault.strangerTokens),
  ]);
}

/** A delegate takes tokens by any instruction, and gives as many, or some more or fewer, back in the same transaction. */
function coveredTransfer(context: DeedContext): void {
  const { vault, books } = context;
  const [amount, back] = [context.amount(), context.amount()];
  const covered = context.random() < 0.5 ? amount : back;
  const deposit = getTransferInstruction({
    ...{ source: vault.strangerTokens, destination: vault.tokens, amount: covered },
    authority: createNoopSigner(vault.stranger),
  });
  const ways = [
    { instruction: getBatchInstruction([deposit, plainTransfer(context, amount)]), to: vault.strangerTokens },
    { instruction: sendInstruction(context, amount, vault.stranger), to: vault.strangerTokens },
    { instruction: plainTransfer(context, amount), to: vault.strangerTokens },
    { instruction: burnBy(context, amount, getBurnCheckedInstruction), to: null },
    { instruction: burnBy(context, amount, getBurnInstruction), to: null },
  ];
  for (const { instruction, to } of ways) {
    books.land([{ instruction }], { tokens: { [vault.tokens]: covered - amount }, isInSameSlot: true }, [
      unexplained(vault.mint, amount, to),
      rest(vault.mint, covered),
    ]);
  }
}

/** A member executes a pipeline through a program: its memo is no proof, because no instruction of the transaction executes it. */
function executeByProgram(context: DeedContext): void {
  const { vault, books } = context;
  const index = vault.takeIndex();
  books.land([vault.creation(index)]);
  const [amount, memo] = [context.amount(), memoBy(vault.vault, stolenMemo(context))];
  const { calls, effects } = executions(context, {
    ...{ index, first: 0 },
    deeds: [{ memos: [memo], proof: null, parts: [{ inner: [sendInstruction(context, amount)] }] }],
  });
  const inner = calls.flatMap((call) => [
    call.instruction,
    ...(call.inner ?? []).map((each) => ({ ...each, stackHeight: 3 })),
  ]);
  const loss = lossOf(context, amount);
  books.land([{ instruction: callOf(addressNamed('a program')), inner }], { ...effects, ...loss }, [
    unexplained(vault.mint, amount, vault.strangerTokens),
  ]);
}

/** The members execute a vault transaction, which is no batch: its memo is no proof. */
function vaultTransaction(context: DeedContext): void {
  const { vault, books } = context;
  const { multisig, transaction, proposal } = proposed(vault);
  const create = squadsCall([multisig, transaction, vault.stranger], VAULT_TRANSACTION_CREATE);
  books.land([{ instruction: create }], {}, [{ kind: 'foreign', discriminator: VAULT_TRANSACTION_CREATE }]);
  const amount = context.amount();
  const inner = [memoBy(vault.vault, stolenMemo(context)), sendInstruction(context, amount)];
  const execution = squadsCall([multisig, proposal, transaction, vault.stranger], VAULT_TRANSACTION_EXECUTE);
  books.land([{ instruction: execution, inner }], { ...lossOf(context, amount), named: [vault.vault] }, [
    { kind: 'foreign', discriminator: VAULT_TRANSACTION_EXECUTE },
    unexplained(vault.mint, amount, vault.strangerTokens),
  ]);
}

/** A spending limit pays SOL, with or without an instruction that an audit knows. */
function spendingLimit(context: DeedContext): void {
  const { vault, books } = context;
  const [amount, source] = [context.amount(), createNoopSigner(vault.vault)];
  const isKnown = context.random() < 0.5;
  const pay = getTransferSolInstruction({ source, destination: vault.stranger, amount });
  const call = { instruction: squadsCall([vault.multisig], SPENDING_LIMIT_USE), inner: isKnown ? [pay] : [] };
  books.land([call], { lamports: { [vault.vault]: -amount }, named: [vault.vault] }, [
    { kind: 'foreign', discriminator: SPENDING_LIMIT_USE },
    isKnown ? unexplained(null, amount, vault.stranger) : rest(null, -amount),
  ]);
}

/** A stranger's vault, a delegate, takes tokens in a batch of its own, with a proof of its own. */
function strangersBatchTakes(context: DeedContext): void {
  const { vault, books } = context;
  const amount = context.amount();
  const { instruction, theirVault } = strangersExecution(context);
  const inner = [memoBy(theirVault, stolenMemo(context)), sendInstruction(context, amount, theirVault)];
  books.land([{ instruction, inner }], { ...lossOf(context, amount), named: [vault.multisig] }, [
    unexplained(vault.mint, amount, vault.strangerTokens),
  ]);
}

function permanentDelegateSends(context: DeedContext): void {
  const { vault, books, seizable } = context;
  fillSeizable(context);
  const [amount, fee] = [context.amount(), 1n];
  const destination = addressNamed('stranger seized');
  const transfer = { source: seizable.account, mint: seizable.mint, destination, amount, decimals: DECIMALS, fee };
  const authority = createNoopSigner(vault.stranger);
  books.land(
    [{ instruction: getTransferCheckedWithFeeInstruction({ ...transfer, authority }) }],
    { tokens: { [seizable.account]: -amount } },
    [unexplained(seizable.mint, amount, destination)],
  );
}

function permanentDelegateBurns(context: DeedContext): void {
  const { vault, books, seizable } = context;
  fillSeizable(context);
  const [amount, authority] = [context.amount(), createNoopSigner(vault.stranger)];
  const instruction = getBurnCheckedInstruction2022({ ...seizable, amount, decimals: DECIMALS, authority });
  books.land([{ instruction }], { tokens: { [seizable.account]: -amount } }, [
    unexplained(seizable.mint, amount, null),
  ]);
}

/** Someone sends more than is seized at once. */
function fillSeizable({ books, seizable }: DeedContext): void {
  books.land(
    [{ instruction: callOf(TOKEN_2022_PROGRAM_ADDRESS, seizable.account) }],
    { tokens: { [seizable.account]: 100_000n } },
    [rest(seizable.mint, 100_000n)],
  );
}

/** The vault makes a stranger the owner of a token account, outside of a pipeline. @returns the account. */
function giveAway(context: DeedContext): Address {
  const { vault, books, takeAccount } = context;
  const { account, mint, amount } = takeAccount();
  const change = { owned: account, owner: createNoopSigner(vault.vault), newAuthority: vault.stranger };
  const instruction = getSetAuthorityInstruction({ ...change, authorityType: AuthorityType.AccountOwner });
  books.land([{ instruction }], { owners: { [account]: vault.stranger } }, [rest(mint, -amount)]);
  // Its balance no longer concerns the vault.
  books.land([memoCall(vault.stranger, 'mine')], { named: [account, TOKEN_PROGRAM_ADDRESS] });
  return account;
}

/** Does as `giveAway`; then the stranger takes some tokens out, and gives the account back. */
function giveAwayAndBack(context: DeedContext): void {
  const { vault, books, takeAccount } = context;
  const { account, mint, amount } = takeAccount();
  const change = (owner: Address, newAuthority: Address) => ({
    instruction: getSetAuthorityInstruction({
      ...{ owned: account, owner: createNoopSigner(owner), newAuthority, authorityType: AuthorityType.AccountOwner },
    }),
  });
  books.land([change(vault.vault, vault.stranger)], { owners: { [account]: vault.stranger } }, [rest(mint, -amount)]);
  const program = [{ instruction: callOf(TOKEN_PROGRAM_ADDRESS, account) }];
  books.land(program, { tokens: { [account]: 5n - amount } });
  books.land([change(vault.stranger, vault.vault)], { owners: { [account]: vault.vault } }, [rest(mint, 5n)]);
}

/** A delegate empties a token account, its close authority closes it, and later a stranger creates it again with tokens. */
function closeAndCreate(context: DeedContext): void {
  const { books } = context;
  const taken = context.takeAccount();
  books.land(emptyAndClose(context, taken), { closed: [taken.account] }, [
    unexplained(taken.mint, taken.amount, context.vault.strangerTokens),
  ]);
  create(context, { ...taken, amount: context.amount() });
}

/** Does as `closeAndCreate`, in one transaction: only the instruction shows that something went out. */
function closeAndCreateAtOnce(context: DeedContext): void {
  const { vault, books } = context;
  const { account, mint, amount } = context.takeAccount();
  const again = context.random() < 0.5 ? amount : context.amount();
  const opened = { [account]: { mint, owner: vault.vault, amount: again } };
  books.land(emptyAndClose(context, { account, amount }), { closed: [account], opened }, [
    unexplained(mint, amount, vault.strangerTokens),
    rest(mint, again),
  ]);
}

/** Does as `closeAndCreate`, with a token account of another mint in the end. */
function changeMint(context: DeedContext): void {
  const { vault, books } = context;
  const { account, mint, amount } = context.takeAccount();
  const again = { account, mint: addressNamed(`mint ${context.number()}`), amount: context.amount() };
  const calls = emptyAndClose(context, { account, amount });
  const found = unexplained(mint, amount, vault.strangerTokens);
  if (context.random() < 0.5) {
    books.land(calls, { closed: [account] }, [found]);
    create(context, again);
  } else {
    const opened = { [account]: { mint: again.mint, owner: vault.vault, amount: again.amount } };
    books.land(calls, { closed: [account], opened }, [found, rest(again.mint, again.amount)]);
  }
}

interface Taken {
  readonly account: Address;
  readonly mint: Address;
  readonly amount: bigint;
}

/** A stranger creates a token account for the vault, with tokens. */
export function create({ vault, books }: Pick<DeedContext, 'vault' | 'books'>, { account, mint, amount }: Taken): void {
  const opened = { [account]: { mint, owner: vault.vault, amount } };
  books.land([{ instruction: callOf(TOKEN_PROGRAM_ADDRESS, account) }], { opened }, [rest(mint, amount)]);
}

function emptyAndClose(
  { vault }: DeedContext,
  { account, amount }: Pick<Taken, 'account' | 'amount'>,
): SyntheticCall[] {
  const authority = createNoopSigner(vault.stranger);
  const transfer = { source: account, destination: vault.strangerTokens, amount, authority };
  const close = getCloseAccountInstruction({ account, destination: vault.stranger, owner: authority });
  return [{ instruction: getTransferInstruction(transfer) }, { instruction: close }];
}

/** A stranger executes a batch of their own, and names the vault and its multisig. */
function strangersBatch(context: DeedContext): void {
  const { instruction, theirVault } = strangersExecution(context);
  mention(context, [{ instruction, inner: [memoBy(theirVault, stolenMemo(context))] }]);
}

function strangersExecution({ vault }: DeedContext) {
  const theirs = multisigAddress(vault.stranger);
  const { instruction } = vault.executionOf(1n, 0, []);
  const [, ...others] = instruction.accounts ?? [];
  const accounts = [{ address: theirs, role: AccountRole.READONLY }, ...others];
  return { instruction: { ...instruction, accounts }, theirVault: vaultAddress(theirs, 0) };
}

/** A transaction names the vault, its token account and its multisig, and changes nothing of them. */
function mention({ vault, books, random }: DeedContext, calls: readonly SyntheticCall[], effects: Effects = {}): void {
  const named = [vault.vault, vault.tokens, vault.multisig, SQUADS_PROGRAM_ADDRESS];
  books.land(calls, { ...effects, named, isInSameSlot: random() < 0.5 });
}

function lossOf({ vault }: DeedContext, amount: bigint): Effects {
  return { tokens: { [vault.tokens]: -amount } };
}

function unexplained(mint: string | null, amountBaseUnits: bigint, to: string | null): Finding {
  return { kind: 'unexplained', mint, amountBaseUnits, to, type: null };
}

/** An instruction that no audit knows. */
function callOf(programAddress: Address, ...accounts: readonly Address[]): Instruction {
  const all = accounts.map((address) => ({ address, role: AccountRole.WRITABLE }));
  return { programAddress, accounts: all, data: Uint8Array.of(250) };
}

function squadsCall(accounts: readonly Address[], discriminator: string): Instruction {
  return { ...callOf(SQUADS_PROGRAM_ADDRESS, ...accounts), data: new Uint8Array(Buffer.from(discriminator, 'hex')) };
}

// Instructions of Squads that Flywheel does not use (IDL of Squads v4).
const VAULT_TRANSACTION_CREATE = '30fa4ea8d0e2dad3';
const VAULT_TRANSACTION_EXECUTE = 'c208a15799a419ab';
const SPENDING_LIMIT_USE = '1039827fc1149b86';
