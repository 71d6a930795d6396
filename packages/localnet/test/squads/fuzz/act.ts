import {
  type Address,
  getStructEncoder,
  getU8Encoder,
  getU32Encoder,
  getU64Encoder,
  type Instruction,
  isWritableRole,
} from '@solana/kit';
import type { LiteSVM } from 'litesvm';
import { COMPUTE_BUDGET_PROGRAM_ADDRESS } from '../../../src/squads-emulation/compute-budget.ts';
import {
  type Accounts,
  accountDiscriminator,
  type Batch,
  type Proposal,
  permission,
} from '../../../src/squads-emulation/program/accounts.ts';
import { ephemeralSignerAddress } from '../../../src/squads-emulation/program/addresses.ts';
import { decodeAccount, transfer } from '../../../src/squads-emulation/program/call.ts';
import type { ConfigAction } from '../../../src/squads-emulation/program/config-action.ts';
import type { Cast } from '../cast.ts';
import type { LookupTable } from '../compile-vault-message.ts';
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

/** Where a run takes place. */
export interface Scene {
  readonly cast: Cast;
  readonly svm: LiteSVM;
  readonly table: LookupTable;
}

/** Turns a plan into a transaction for the state that the chain is in now. */
export async function act(scene: Scene, plan: TransactionPlan): Promise<TransactionInput> {
  const instructions: Instruction[] = [];
  const pending = { created: 0n, added: 0, executed: 0 };
  for (const step of plan.steps) instructions.push(...(await perform({ ...scene, pending }, step)));
  const { damage } = plan;
  const damaged = instructions.map((instruction, each) => {
    const isChosen = damage !== null && each === damage.instruction % instructions.length;
    if (!isChosen) return instruction;
    const candidate = damageInstruction(instruction, damage.damage);
    return writesProgram(candidate, instructions) ? instruction : candidate;
  });
  return {
    feePayer: scene.cast.operator,
    version: plan.version,
    tables: plan.tables ? [scene.table] : [],
    instructions: [...priceInstructions(plan), ...damaged],
  };
}

/** Kit builds no transaction that asks to write a program it calls. */
function writesProgram({ accounts = [] }: Instruction, instructions: readonly Instruction[]): boolean {
  const programs = new Set(instructions.map(({ programAddress }) => programAddress));
  return accounts.some(({ address, role }) => isWritableRole(role) && programs.has(address));
}

/** What earlier steps of the same transaction will have done when a step's turn comes. */
interface Pending {
  created: bigint;
  added: number;
  executed: number;
}

interface Moment extends Scene {
  readonly pending: Pending;
}

async function perform(moment: Moment, step: Step): Promise<Instruction[]> {
  const { cast, pending } = moment;
  switch (step.kind) {
    case 'next':
      return perform(moment, nextStep(moment, step));
    case 'create': {
      pending.created += 1n;
      const key = batchKey(moment, 0);
      const additions = await Promise.all(
        step.additions.map((addition, each) => addInstruction(moment, key, each + 1 + addition.off, addition)),
      );
      const creator = cast[step.by];
      const rentPayer = cast[step.rentPayer];
      const proposal = step.propose ? [proposalCreate(key, creator, { rentPayer, draft: step.draft })] : [];
      return [batchCreate(key, creator, { rentPayer }), ...proposal, ...additions];
    }
    case 'propose':
      return [proposalCreate(batchKey(moment, step.back, step.off), cast[step.by], { draft: step.draft })];
    case 'add': {
      const key = batchKey(moment, step.back);
      const position = (batchAt(moment, key)?.size ?? 0) + ++pending.added + step.off;
      return [await addInstruction(moment, key, position, step)];
    }
    case 'activate':
      return [proposalActivate(batchKey(moment, step.back), cast[step.by])];
    case 'vote':
      return [proposalVote(step.vote, batchKey(moment, step.back), cast[step.by])];
    case 'execute': {
      const key = batchKey(moment, step.back);
      const position = (batchAt(moment, key)?.executedTransactionIndex ?? 0) + ++pending.executed + step.off;
      const remaining = remainingOf(moment, key, position);
      return [batchExecuteTransaction(key, { position: Math.max(0, position), member: cast[step.by], remaining })];
    }
    case 'close transaction': {
      const key = batchKey(moment, step.back);
      const position = Math.max(0, (batchAt(moment, key)?.size ?? 1) + step.off);
      return [vaultBatchTransactionAccountClose(key, position, cast[step.to])];
    }
    case 'close batch':
      return [batchAccountsClose(batchKey(moment, step.back), cast[step.to])];
    case 'create config': {
      pending.created += 1n;
      const key = batchKey(moment, 0);
      const creator = cast[step.by];
      const actions = step.actions.flatMap((action) => configActions(cast, action));
      const create = configTransactionCreate(key, { creator, rentPayer: cast[step.rentPayer], actions });
      return step.propose ? [create, proposalCreate(key, creator, { draft: step.draft })] : [create];
    }
    case 'execute config':
      return [
        configTransactionExecute(batchKey(moment, step.back), cast[step.by], step.paid ? cast.operator : undefined),
      ];
    case 'close config':
      return [configTransactionAccountsClose(batchKey(moment, step.back), cast[step.to])];
    case 'configure':
      return [configInstruction(cast, step.by, step.change)];
    case 'found':
      return [foundInstruction(cast, step)];
    case 'pay':
      return [signedOrNot(transfer(cast[step.from], payee(moment, step.to), step.lamports), step)];
    case 'burn directly':
      return [signedOrNot(burn(cast, cast.tokens[0], step.amount), step)];
  }
}

/** The step that brings a batch forward. */
function nextStep(moment: Moment, { back, addition }: Step & { kind: 'next' }): Step {
  const { cast } = moment;
  const key = batchKey(moment, back);
  const proposal = proposalAt(moment, key);
  const isConfig = hasAccount(moment, batchOf(key), 'ConfigTransaction');
  const batch = isConfig ? null : batchAt(moment, key);
  if (isConfig && proposal) return nextConfigStep(moment.cast, back, proposal);
  if (!batch || !proposal) {
    return { kind: 'create', by: 'operator', rentPayer: 'operator', draft: true, propose: true, additions: [addition] };
  }
  switch (proposal.status.__kind) {
    case 'draft':
      return batch.size < WANTED_SIZE ? { ...addition, back } : { kind: 'activate', back, by: 'operator' };
    case 'active': {
      const hasCompany = proposal.approved.includes(cast.company);
      return { kind: 'vote', back, by: hasCompany ? 'wallet' : 'company', vote: 'approve' };
    }
    case 'approved':
      return { kind: 'execute', back, by: 'operator', off: 0 };
    default:
      return batch.size > 0
        ? { kind: 'close transaction', back, off: 0, to: 'operator' }
        : { kind: 'close batch', back, to: 'operator' };
  }
}

function nextConfigStep(cast: Cast, back: number, { status, approved }: Proposal): Step {
  switch (status.__kind) {
    case 'draft':
      return { kind: 'activate', back, by: 'operator' };
    case 'active':
      return { kind: 'vote', back, by: approved.includes(cast.company) ? 'wallet' : 'company', vote: 'approve' };
    case 'approved':
      return { kind: 'execute config', back, by: 'operator', paid: true };
    default:
      return { kind: 'close config', back, to: 'operator' };
  }
}

const WANTED_SIZE = 2;

async function addInstruction(
  moment: Moment,
  key: BatchKey,
  position: number,
  addition: Addition,
): Promise<Instruction> {
  const { cast, table } = moment;
  const message = await plannedMessage(cast, key, addition, addition.tables ? [table] : []);
  return batchAddTransaction(key, {
    position: Math.max(0, position),
    member: cast[addition.by],
    message,
    ephemeralSignerCount: addition.ephemerals,
  });
}

function remainingOf({ svm, cast, table }: Moment, key: BatchKey, position: number) {
  const stored = read({ svm }, transactionOf(key, Math.max(0, position)), 'VaultBatchTransaction');
  if (!stored) return [];
  const ephemerals = stored.ephemeralSignerBumps.map((_, each) => ephemeralSignerAddress(batchOf(key), each).address);
  return remainingAccounts(stored.message, [cast.vault, ...ephemerals], [table]);
}

function configActions(cast: Cast, action: ConfigActionPlan): ConfigAction[] {
  const people = [cast.operator, cast.company, cast.wallet, cast.stranger, ...cast.recipients];
  const chosen = (who: number) => people[who] ?? cast.stranger;
  switch (action.kind) {
    case 'replace member':
      return [
        { __kind: 'addMember', newMember: { address: chosen(action.by), permissions: permission.vote } },
        { __kind: 'removeMember', oldMember: chosen(action.who) },
      ];
    case 'add member':
      return [{ __kind: 'addMember', newMember: { address: chosen(action.who), permissions: action.permissions } }];
    case 'remove member':
      return [{ __kind: 'removeMember', oldMember: chosen(action.who) }];
    case 'threshold':
      return [{ __kind: 'changeThreshold', newThreshold: action.threshold }];
    case 'time lock':
      return [{ __kind: 'setTimeLock', newTimeLockSeconds: action.seconds }];
    case 'rent collector':
      return [{ __kind: 'setRentCollector', newRentCollector: action.isGiven ? cast.operator : null }];
  }
}

function configInstruction(cast: Cast, by: Person, change: ConfigChange): Instruction {
  const input = { multisig: cast.multisig, configAuthority: cast[by] };
  const people = [cast.operator, cast.company, cast.wallet, cast.stranger, ...cast.recipients];
  const chosen = (who: number) => people[who] ?? cast.stranger;
  switch (change.kind) {
    case 'add member': {
      const payer = change.paid ? { rentPayer: cast.operator } : {};
      const member = { address: chosen(change.who), permissions: change.permissions };
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

function foundInstruction(cast: Cast, step: Step & { kind: 'found' }): Instruction {
  const people = [cast.company, cast.operator, cast.stranger, cast.wallet];
  return multisigCreateV2({
    createKey: step.again ? cast.createKey : cast.stranger,
    creator: cast.operator,
    treasury: step.toTreasury ? cast.treasury : cast.company,
    threshold: step.threshold,
    timeLockSeconds: step.timeLockSeconds,
    members: step.permissions.map((permissions, each) => ({
      address: (step.twins ? cast.company : people[each]) ?? cast.wallet,
      permissions,
    })),
  });
}

function payee(moment: Moment, to: (Step & { kind: 'pay' })['to']): Address {
  const next = { multisig: moment.cast.multisig, index: newestIndex(moment) + 1n };
  switch (to) {
    case 'next batch':
      return batchOf(next);
    case 'next proposal':
      return proposalOf(next);
    case 'vault':
    case 'company':
      return moment.cast[to];
  }
}

/** A batch counted back from the newest one, those that this transaction creates included. */
function batchKey(moment: Moment, back: number, off = 0): BatchKey {
  const index = newestIndex(moment) - BigInt(back) + BigInt(off);
  return { multisig: moment.cast.multisig, index: index > 0n ? index : 1n };
}

function newestIndex({ svm, cast, pending }: Moment): bigint {
  return (read({ svm }, cast.multisig, 'Multisig')?.transactionIndex ?? 0n) + pending.created;
}

function batchAt({ svm }: Moment, key: BatchKey): Batch | null {
  return read({ svm }, batchOf(key), 'Batch');
}

function proposalAt({ svm }: Moment, key: BatchKey): Proposal | null {
  return read({ svm }, proposalOf(key), 'Proposal');
}

function hasAccount({ svm }: Pick<Scene, 'svm'>, address: Address, name: keyof Accounts): boolean {
  const account = svm.getAccount(address);
  if (!account.exists) return false;
  return accountDiscriminator(name).every((byte, each) => account.data[each] === byte);
}

function read<Name extends keyof Accounts>(
  { svm }: Pick<Scene, 'svm'>,
  address: Address,
  name: Name,
): Accounts[Name] | null {
  const account = svm.getAccount(address);
  return account.exists && hasAccount({ svm }, address, name) ? decodeAccount(account.data, name) : null;
}

const SET_UNIT_PRICE = 3;
const SET_UNIT_LIMIT = 2;
// Enough for whatever three steps can do.
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
  // An odd price goes without a limit, so that the default limit is priced.
  return price % 2 === 1 ? [setPrice] : [setLimit, setPrice];
}
