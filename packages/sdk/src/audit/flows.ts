import { isTokenProgram, WITHDRAWAL_TYPE } from '@flywheel/protocol';
import { readExecution, type VaultProof } from '@flywheel/squads';
import type { Instruction } from '@solana/kit';
import {
  CREATE_ACCOUNT_ALLOW_PREFUND_DISCRIMINATOR,
  CREATE_ACCOUNT_DISCRIMINATOR,
  CREATE_ACCOUNT_WITH_SEED_DISCRIMINATOR,
  getCreateAccountAllowPrefundInstructionDataDecoder,
  getCreateAccountInstructionDataDecoder,
  getCreateAccountWithSeedInstructionDataDecoder,
  getTransferSolInstructionDataDecoder,
  getTransferSolWithSeedInstructionDataDecoder,
  SYSTEM_PROGRAM_ADDRESS,
  TRANSFER_SOL_DISCRIMINATOR,
  TRANSFER_SOL_WITH_SEED_DISCRIMINATOR,
} from '@solana-program/system';
import {
  ASSOCIATED_TOKEN_PROGRAM_ADDRESS,
  BATCH_DISCRIMINATOR,
  BURN_CHECKED_DISCRIMINATOR,
  BURN_DISCRIMINATOR,
  CLOSE_ACCOUNT_DISCRIMINATOR,
  getBatchInstructionDataDecoder,
  getBurnCheckedInstructionDataDecoder,
  getBurnInstructionDataDecoder,
  getTransferCheckedInstructionDataDecoder,
  getTransferInstructionDataDecoder,
  TRANSFER_CHECKED_DISCRIMINATOR,
  TRANSFER_DISCRIMINATOR,
} from '@solana-program/token';
import {
  getTransferCheckedWithFeeInstructionDataDecoder,
  TRANSFER_CHECKED_WITH_FEE_DISCRIMINATOR,
  TRANSFER_CHECKED_WITH_FEE_TRANSFER_FEE_DISCRIMINATOR,
} from '@solana-program/token-2022';
import type { ChainTransaction } from '../chain/read-transaction.ts';
import { lamportsOf, type OwnedTokens, ownedTokensOf } from './balances.ts';

/**
 * Kinds of movements. Of pipelines with a proof: `burned`; `withdrawn`, of a withdrawal; `airdropped`, every other transfer;
 * `rent`, lamports for the token accounts of recipients. `deposited`: whatever came in. `unexplained`: whatever went out
 * without a proof.
 */
export type FlowKind = 'burned' | 'airdropped' | 'withdrawn' | 'rent' | 'deposited' | 'unexplained';

/** One movement of the vault's SOL or tokens. */
export interface Flow {
  readonly kind: FlowKind;
  /** null for SOL. */
  readonly mint: string | null;
  readonly amountBaseUnits: bigint;
  /** The wallet of a transfer of SOL, the token account of one of tokens; null if it is not a transfer. */
  readonly to: string | null;
  /** Proof type of the pipeline; null without one. */
  readonly type: string | null;
}

/** A pipeline that a transaction executed. */
export interface ExecutedPipeline {
  /** The multisig that executed it; a stranger may name the vault in a batch of their own. */
  readonly multisig: string;
  readonly batch: string;
  /** null if it wrote no proof of the vault: then whatever it takes out is unexplained. */
  readonly proof: VaultProof | null;
}

export interface VaultMovements {
  readonly pipelines: readonly ExecutedPipeline[];
  readonly flows: readonly Flow[];
}

/**
 * Finds all that a successful transaction moved into or out of a vault. What an instruction takes out is counted as that
 * instruction says; the rest of a balance's change is a deposit, or unexplained if it is negative. So a deposit does not hide
 * an outflow of the same transaction, and deposits less outflows always equal the balance's change. Tokens that a
 * stranger moves in an account before the vault becomes its owner are none of the vault's: they count only if the vault
 * itself signs.
 */
export function movementsOf(transaction: ChainTransaction, vault: string): VaultMovements {
  const owned = ownedTokensOf(transaction, vault);
  const held = new Set(owned.filter(({ wasOwned }) => wasOwned));
  const pipelines: ExecutedPipeline[] = [];
  const flows: Flow[] = [];
  for (const call of transaction.calls) {
    const execution = readExecution(call);
    const proof = execution?.proof?.vault === vault ? execution.proof : null;
    if (execution) pipelines.push({ multisig: execution.multisig, batch: execution.batch, proof });
    let creation: number | null = null; // stack height of the creation of a token account that runs
    for (const { instruction, height } of flatten(call)) {
      if (creation !== null && height <= creation) creation = null;
      for (const part of partsOf(instruction)) {
        const taken = takenBy(part, { vault, owned, held });
        if (taken !== null) flows.push(toFlow(taken, proof, creation !== null));
        const closed = closedBy(part);
        for (const tokens of held) if (tokens.account === closed) held.delete(tokens);
      }
      if (creation === null && instruction.programAddress === ASSOCIATED_TOKEN_PROGRAM_ADDRESS) creation = height;
    }
  }
  return { pipelines, flows: [...flows, ...restsOf(transaction, vault, { owned, flows })] };
}

interface Taken {
  readonly mint: string | null;
  readonly amount: bigint;
  /** null for a burn. */
  readonly to: string | null;
}

interface Holdings {
  readonly vault: string;
  readonly owned: readonly OwnedTokens[];
  /** Those that were the vault's before the transaction, and that no earlier instruction of it closed. */
  readonly held: ReadonlySet<OwnedTokens>;
}

function* flatten({ instruction, inner }: ChainTransaction['calls'][number]) {
  yield { instruction, height: 1 };
  for (const each of inner) yield { instruction: each, height: each.stackHeight };
}

/**
 * Lists the instructions of a token program's `Batch`, which runs them without inner instructions; any other one is its
 * only part.
 */
function partsOf(instruction: Instruction): Instruction[] {
  const { programAddress, accounts = [], data = new Uint8Array() } = instruction;
  if (!isTokenProgram(programAddress) || data[0] !== BATCH_DISCRIMINATOR) return [instruction];
  let from = 0;
  return getBatchInstructionDataDecoder()
    .decode(data)
    .data.map(({ numberOfAccounts, instructionData }) => {
      const own = accounts.slice(from, from + numberOfAccounts);
      from += numberOfAccounts;
      return { programAddress, accounts: own, data: instructionData };
    });
}

function toFlow({ mint, amount, to }: Taken, proof: VaultProof | null, isCreation: boolean): Flow {
  const common = { mint, amountBaseUnits: amount, to, type: proof?.type ?? null };
  if (proof === null) return { ...common, kind: 'unexplained' };
  if (to === null) return { ...common, kind: 'burned' };
  if (isCreation && mint === null) return { ...common, kind: 'rent' };
  return { ...common, kind: proof.type === WITHDRAWAL_TYPE ? 'withdrawn' : 'airdropped' };
}

/** What an instruction takes out of the vault; null for nothing, and for a transfer between two accounts of the vault. */
function takenBy(instruction: Instruction, holdings: Holdings): Taken | null {
  const { programAddress } = instruction;
  if (programAddress === SYSTEM_PROGRAM_ADDRESS) return lamportsTaken(instruction, holdings.vault);
  return isTokenProgram(programAddress) ? tokensTaken(instruction, holdings) : null;
}

/** The token account that an instruction closes. Whoever creates it again at the same address begins with their own tokens. */
function closedBy({ programAddress, accounts = [], data = new Uint8Array() }: Instruction): string | null {
  const isClose = isTokenProgram(programAddress) && data[0] === CLOSE_ACCOUNT_DISCRIMINATOR;
  return isClose ? (accounts[0]?.address ?? null) : null;
}

function lamportsTaken({ accounts = [], data = new Uint8Array() }: Instruction, vault: string): Taken | null {
  // Every instruction of the System program begins with its number, a u32.
  const [kind = -1] = data;
  const at = (index: number) => accounts[index]?.address ?? null;
  const taken = (from: string | null, amount: bigint, to: string | null): Taken | null =>
    from === vault && to !== vault && amount > 0n ? { mint: null, amount, to } : null;
  switch (kind) {
    case CREATE_ACCOUNT_DISCRIMINATOR:
      return taken(at(0), getCreateAccountInstructionDataDecoder().decode(data).lamports, at(1));
    case CREATE_ACCOUNT_WITH_SEED_DISCRIMINATOR:
      return taken(at(0), getCreateAccountWithSeedInstructionDataDecoder().decode(data).amount, at(1));
    case CREATE_ACCOUNT_ALLOW_PREFUND_DISCRIMINATOR:
      return taken(at(1), getCreateAccountAllowPrefundInstructionDataDecoder().decode(data).lamports, at(0));
    case TRANSFER_SOL_DISCRIMINATOR:
      return taken(at(0), getTransferSolInstructionDataDecoder().decode(data).amount, at(1));
    case TRANSFER_SOL_WITH_SEED_DISCRIMINATOR:
      return taken(at(0), getTransferSolWithSeedInstructionDataDecoder().decode(data).amount, at(2));
    default:
      return null;
  }
}

function tokensTaken(
  { accounts = [], data = new Uint8Array() }: Instruction,
  { vault, owned, held }: Holdings,
): Taken | null {
  const [kind, subkind] = data;
  const at = (index: number) => accounts[index]?.address ?? null;
  const sources = owned.filter(({ account }) => account === at(0));
  // All but a plain transfer name the mint, which differs if the account is closed and created again.
  const source = sources.find(({ mint }) => mint === at(1)) ?? sources[0];
  if (!source) return null;
  const { mint } = source;
  const taken = (amount: bigint, to: string | null, authority: string | null): Taken | null =>
    held.has(source) || authority === vault ? { mint, amount, to } : null;
  const transferred = (amount: bigint, to: string | null, authority: string | null): Taken | null =>
    [...held].some(({ account }) => account === to) ? null : taken(amount, to, authority);
  switch (kind) {
    case TRANSFER_DISCRIMINATOR:
      return transferred(getTransferInstructionDataDecoder().decode(data).amount, at(1), at(2));
    case TRANSFER_CHECKED_DISCRIMINATOR:
      return transferred(getTransferCheckedInstructionDataDecoder().decode(data).amount, at(2), at(3));
    case TRANSFER_CHECKED_WITH_FEE_DISCRIMINATOR:
      return subkind === TRANSFER_CHECKED_WITH_FEE_TRANSFER_FEE_DISCRIMINATOR
        ? transferred(getTransferCheckedWithFeeInstructionDataDecoder().decode(data).amount, at(2), at(3))
        : null;
    case BURN_DISCRIMINATOR:
      return taken(getBurnInstructionDataDecoder().decode(data).amount, null, at(2));
    case BURN_CHECKED_DISCRIMINATOR:
      return taken(getBurnCheckedInstructionDataDecoder().decode(data).amount, null, at(2));
    default:
      return null;
  }
}

/** What the instructions leave of each balance's change: deposits, or outflows that none of them says. */
function restsOf(
  transaction: ChainTransaction,
  vault: string,
  { owned, flows }: { readonly owned: readonly OwnedTokens[]; readonly flows: readonly Flow[] },
): Flow[] {
  const changes = new Map<string | null, bigint>();
  const add = (mint: string | null, amount: bigint) => changes.set(mint, (changes.get(mint) ?? 0n) + amount);
  const lamports = lamportsOf(transaction, vault);
  if (lamports) add(null, lamports.after - lamports.before);
  for (const { mint, before, after } of owned) add(mint, after - before);
  for (const { mint, amountBaseUnits } of flows) add(mint, amountBaseUnits);
  return [...changes]
    .filter(([, rest]) => rest !== 0n)
    .map(([mint, rest]) => ({
      kind: rest > 0n ? 'deposited' : 'unexplained',
      mint,
      amountBaseUnits: rest > 0n ? rest : -rest,
      to: null,
      type: null,
    }));
}
