import {
  type BatchAccount,
  type ConfigAction,
  type LookupTable,
  PERMISSION,
  type ProposalAccount,
} from '@flywheel/squads';
import {
  type Address,
  getStructEncoder,
  getU8Encoder,
  getU32Encoder,
  getU64Encoder,
  type Instruction,
  isWritableRole,
} from '@solana/kit';
import { COMPUTE_BUDGET_PROGRAM_ADDRESS } from '@solana-program/compute-budget';
import type { LiteSVM } from 'litesvm';
import { type Accounts, accountLayouts } from '../../../src/squads-emulation/program/accounts.ts';
import { ephemeralSignerAddress } from '../../../src/squads-emulation/program/addresses.ts';
import { decodeAccount, transfer } from '../../../src/squads-emulation/program/call.ts';
import type { TestAccounts } from '../accounts.ts';
import {
  type BatchKey,
  batchAccountsClose,
  batchAddTransaction,
  batchCreate,
  batchExecuteTransaction,
  batchOf,
  configTransactionAccountsClose,
  configTransactionCreate,
  configTransactionExecute,
  multisigAddMember,
  multisigChangeThreshold,
  multisigCreateV2,
  multisigRemoveMember,
  multisigSetTimeLock,
  proposalActivate,
  proposalCreate,
  proposalOf,
  proposalVote,
  transactionOf,
  vaultBatchTransactionAccountClose,
} from '../instructions.ts';
import type { TransactionInput } from '../transaction.ts';
import { burn } from '../vault-instructions.ts';
import { damageInstruction } from './damage-instruction.ts';
import { plannedMessage, signedOrNot } from './planned-message.ts';
import { remainingAccounts } from './remaining-accounts.ts';
import type { Addition, ConfigActionPlan, ConfigChange, Person, Step, TransactionPlan } from './run-plan.ts';

/** Chain and accounts of a run. */
export interface FuzzContext {
  readonly accounts: TestAccounts;
  readonly svm: LiteSVM;
  readonly table: LookupTable;
}

/** Turns a plan into a transaction for the present state of the chain. */
export async function act(context: FuzzContext, plan: TransactionPlan): Promise<TransactionInput> {
  const instructions: Instruction[] = [];
  const pending = { created: 0n, added: 0, executed: 0 };
  for (const step of plan.steps) instructions.push(...(await perform({ ...context, pending }, step)));
  const { damage } = plan;
  const damaged = instructions.map((instruction, each) => {
    const isChosen = damage !== null && each === damage.instruction % instructions.length;
    if (!isChosen) return instruction;
    const candidate = damageInstruction(instruction, damage.damage);
    return writesProgram(candidate, instructions) ? instruction : candidate;
  });
  return {
    feePayer: context.accounts.operator,
    version: plan.version,
    tables: plan.tables ? [context.table] : [],
    instructions: [...priceInstructions(plan), ...damaged],
  };
}

/** Detects a transaction that kit cannot build: one that writes a program it calls. */
function writesProgram({ accounts = [] }: Instruction, instructions: readonly Instruction[]): boolean {
  const programs = new Set(instructions.map(({ programAddress }) => programAddress));
  return accounts.some(({ address, role }) => isWritableRole(role) && programs.has(address));
}

/** Changes by earlier steps of the same transaction, before a step runs. */
interface Pending {
  created: bigint;
  added: number;
  executed: number;
}

interface StepContext extends FuzzContext {
  readonly pending: Pending;
}

async function perform(context: StepContext, step: Step): Promise<Instruction[]> {
  const { accounts, pending } = context;
  switch (step.kind) {
    case 'next':
      return perform(context, nextStep(context, step));
    case 'create': {
      pending.created += 1n;
      const key = batchKey(context, 0);
      const additions = await Promise.all(
        step.additions.map((addition, each) => addInstruction(context, key, each + 1 + addition.off, addition)),
      );
      const creator = accounts[step.by];
      const rentPayer = accounts[step.rentPayer];
      const proposal = step.propose ? [proposalCreate(key, creator, { rentPayer, draft: step.draft })] : [];
      return [batchCreate(key, creator, { rentPayer }), ...proposal, ...additions];
    }
    case 'propose':
      return [proposalCreate(batchKey(context, step.back, step.off), accounts[step.by], { draft: step.draft })];
    case 'add': {
      const key = batchKey(context, step.back);
      const position = (batchAt(context, key)?.size ?? 0) + ++pending.added + step.off;
      return [await addInstruction(context, key, position, step)];
    }
    case 'activate':
      return [proposalActivate(batchKey(context, step.back), accounts[step.by])];
    case 'vote':
      return [proposalVote(step.vote, batchKey(context, step.back), accounts[step.by])];
    case 'execute': {
      const key = batchKey(context, step.back);
      const position = (batchAt(context, key)?.executedTransactionIndex ?? 0) + ++pending.executed + step.off;
      const remaining = remainingOf(context, key, position);
      return [batchExecuteTransaction(key, { position: Math.max(0, position), member: accounts[step.by], remaining })];
    }
    case 'close transaction': {
      const key = batchKey(context, step.back);
      const position = Math.max(0, (batchAt(context, key)?.size ?? 1) + step.off);
      return [vaultBatchTransactionAccountClose(key, position, accounts[step.to])];
    }
    case 'close batch':
      return [batchAccountsClose(batchKey(context, step.back), accounts[step.to])];
    case 'create config': {
      pending.created += 1n;
      const key = batchKey(context, 0);
      const creator = accounts[step.by];
      const actions = step.actions.flatMap((action) => configActions(accounts, action));
      const create = configTransactionCreate(key, { creator, rentPayer: accounts[step.rentPayer], actions });
      return step.propose ? [create, proposalCreate(key, creator, { draft: step.draft })] : [create];
    }
    case 'execute config':
      return [
        configTransactionExecute(
          batchKey(context, step.back),
          accounts[step.by],
          step.paid ? accounts.operator : undefined,
        ),
      ];
    case 'close config':
      return [configTransactionAccountsClose(batchKey(context, step.back), accounts[step.to])];
    case 'configure':
      return [configInstruction(accounts, step.by, step.change)];
    case 'found':
      return [foundInstruction(accounts, step)];
    case 'pay':
      return [signedOrNot(transfer(accounts[step.from], payee(context, step.to), step.lamports), step)];
    case 'burn directly':
      return [signedOrNot(burn(accounts, accounts.tokens[0], step.amount), step)];
  }
}

/** Chooses the step that a batch needs next. */
function nextStep(context: StepContext, { back, addition }: Step & { kind: 'next' }): Step {
  const { accounts } = context;
  const key = batchKey(context, back);
  const proposal = proposalAt(context, key);
  const isConfig = hasAccount(context, batchOf(key), 'ConfigTransaction');
  const batch = isConfig ? null : batchAt(context, key);
  if (isConfig && proposal) return nextConfigStep(context.accounts, back, proposal);
  if (!batch || !proposal) {
    return { kind: 'create', by: 'operator', rentPayer: 'operator', draft: true, propose: true, additions: [addition] };
  }
  switch (proposal.status.__kind) {
    case 'Draft':
      return batch.size < WANTED_SIZE ? { ...addition, back } : { kind: 'activate', back, by: 'operator' };
    case 'Active': {
      const hasCompany = proposal.approved.includes(accounts.company);
      return { kind: 'vote', back, by: hasCompany ? 'wallet' : 'company', vote: 'approve' };
    }
    case 'Approved':
      return { kind: 'execute', back, by: 'operator', off: 0 };
    default:
      return batch.size > 0
        ? { kind: 'close transaction', back, off: 0, to: 'operator' }
        : { kind: 'close batch', back, to: 'operator' };
  }
}

function nextConfigStep(accounts: TestAccounts, back: number, { status, approved }: ProposalAccount): Step {
  switch (status.__kind) {
    case 'Draft':
      return { kind: 'activate', back, by: 'operator' };
    case 'Active':
      return { kind: 'vote', back, by: approved.includes(accounts.company) ? 'wallet' : 'company', vote: 'approve' };
    case 'Approved':
      return { kind: 'execute config', back, by: 'operator', paid: true };
    default:
      return { kind: 'close config', back, to: 'operator' };
  }
}

const WANTED_SIZE = 2;

async function addInstruction(
  context: StepContext,
  key: BatchKey,
  position: number,
  addition: Addition,
): Promise<Instruction> {
  const { accounts, table } = context;
  const message = await plannedMessage(accounts, key, addition, addition.tables ? [table] : []);
  return batchAddTransaction(key, {
    position: Math.max(0, position),
    member: accounts[addition.by],
    message,
    ephemeralSignerCount: addition.ephemerals,
  });
}

function remainingOf({ svm, accounts, table }: StepContext, key: BatchKey, position: number) {
  const stored = read({ svm }, transactionOf(key, Math.max(0, position)), 'VaultBatchTransaction');
  if (!stored) return [];
  const ephemerals = Array.from(
    stored.ephemeralSignerBumps,
    (_, each) => ephemeralSignerAddress(batchOf(key), each).address,
  );
  return remainingAccounts(stored.message, [accounts.vault, ...ephemerals], [table]);
}

function configActions(accounts: TestAccounts, action: ConfigActionPlan): ConfigAction[] {
  const people = [accounts.operator, accounts.company, accounts.wallet, accounts.stranger, ...accounts.recipients];
  const chosen = (who: number) => people[who] ?? accounts.stranger;
  switch (action.kind) {
    case 'replace member':
      return [
        { __kind: 'AddMember', newMember: { key: chosen(action.by), permissions: { mask: PERMISSION.vote } } },
        { __kind: 'RemoveMember', oldMember: chosen(action.who) },
      ];
    case 'add member':
      return [
        { __kind: 'AddMember', newMember: { key: chosen(action.who), permissions: { mask: action.permissions } } },
      ];
    case 'remove member':
      return [{ __kind: 'RemoveMember', oldMember: chosen(action.who) }];
    case 'threshold':
      return [{ __kind: 'ChangeThreshold', newThreshold: action.threshold }];
    case 'time lock':
      return [{ __kind: 'SetTimeLock', newTimeLock: action.seconds }];
    case 'rent collector':
      return [{ __kind: 'SetRentCollector', newRentCollector: action.isGiven ? accounts.operator : null }];
  }
}

function configInstruction(accounts: TestAccounts, by: Person, change: ConfigChange): Instruction {
  const input = { multisig: accounts.multisig, configAuthority: accounts[by] };
  const people = [accounts.operator, accounts.company, accounts.wallet, accounts.stranger, ...accounts.recipients];
  const chosen = (who: number) => people[who] ?? accounts.stranger;
  switch (change.kind) {
    case 'add member': {
      const payer = change.paid ? { rentPayer: accounts.operator } : {};
      const member = { key: chosen(change.who), permissions: { mask: change.permissions } };
      return multisigAddMember({ ...input, ...payer }, member);
    }
    case 'remove member':
      return multisigRemoveMember(input, chosen(change.who));
    case 'threshold':
      return multisigChangeThreshold(input, change.threshold);
    case 'time lock':
      return multisigSetTimeLock(input, change.seconds);
  }
}

function foundInstruction(accounts: TestAccounts, step: Step & { kind: 'found' }): Instruction {
  const people = [accounts.company, accounts.operator, accounts.stranger, accounts.wallet];
  return multisigCreateV2({
    createKey: step.again ? accounts.createKey : accounts.stranger,
    creator: accounts.operator,
    treasury: step.toTreasury ? accounts.treasury : accounts.company,
    threshold: step.threshold,
    timeLock: step.timeLockSeconds,
    members: step.permissions.map((permissions, each) => ({
      key: (step.twins ? accounts.company : people[each]) ?? accounts.wallet,
      permissions: { mask: permissions },
    })),
  });
}

function payee(context: StepContext, to: (Step & { kind: 'pay' })['to']): Address {
  const next = { multisig: context.accounts.multisig, index: newestIndex(context) + 1n };
  switch (to) {
    case 'next batch':
      return batchOf(next);
    case 'next proposal':
      return proposalOf(next);
    case 'vault':
    case 'company':
      return context.accounts[to];
  }
}

/** Finds a batch by its distance from the newest one, counting those that this transaction creates. */
function batchKey(context: StepContext, back: number, off = 0): BatchKey {
  const index = newestIndex(context) - BigInt(back) + BigInt(off);
  return { multisig: context.accounts.multisig, index: index > 0n ? index : 1n };
}

function newestIndex({ svm, accounts, pending }: StepContext): bigint {
  return (read({ svm }, accounts.multisig, 'Multisig')?.transactionIndex ?? 0n) + pending.created;
}

function batchAt({ svm }: StepContext, key: BatchKey): BatchAccount | null {
  return read({ svm }, batchOf(key), 'Batch');
}

function proposalAt({ svm }: StepContext, key: BatchKey): ProposalAccount | null {
  return read({ svm }, proposalOf(key), 'Proposal');
}

function hasAccount({ svm }: Pick<FuzzContext, 'svm'>, address: Address, name: keyof Accounts): boolean {
  const account = svm.getAccount(address);
  if (!account.exists) return false;
  return accountLayouts[name].discriminator.every((byte, each) => account.data[each] === byte);
}

function read<Name extends keyof Accounts>(
  { svm }: Pick<FuzzContext, 'svm'>,
  address: Address,
  name: Name,
): Accounts[Name] | null {
  const account = svm.getAccount(address);
  return account.exists && hasAccount({ svm }, address, name) ? decodeAccount(account.data, name) : null;
}

const SET_UNIT_PRICE = 3;
const SET_UNIT_LIMIT = 2;
// Enough for any three steps.
const UNIT_LIMIT = 1_400_000;

function priceInstructions({ version, unitPriceMicroLamports: price }: TransactionPlan): Instruction[] {
  if (version === 1) return [];
  const limit = getStructEncoder([
    ['kind', getU8Encoder()],
    ['units', getU32Encoder()],
  ]);
  const limitData = limit.encode({ kind: SET_UNIT_LIMIT, units: UNIT_LIMIT });
  const setLimit = { programAddress: COMPUTE_BUDGET_PROGRAM_ADDRESS, data: limitData };
  if (price === null) return [setLimit];
  const priceEncoder = getStructEncoder([
    ['kind', getU8Encoder()],
    ['price', getU64Encoder()],
  ]);
  const priceData = priceEncoder.encode({ kind: SET_UNIT_PRICE, price });
  const setPrice = { programAddress: COMPUTE_BUDGET_PROGRAM_ADDRESS, data: priceData };
  // An odd price comes without a limit, so that the default limit is priced.
  return price % 2 === 1 ? [setPrice] : [setLimit, setPrice];
}
