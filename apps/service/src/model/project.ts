import { ApiError, type ApprovalMode, type ProofType, type Scope } from '@flywheel/api';
import type { LookupTable } from '@flywheel/squads';
import type { Address } from '@solana/kit';

/** Amounts burned and airdropped, of a batch, a day or a limit; in base units. */
export interface DailyTotals {
  readonly burnBaseUnits: bigint;
  readonly airdropBaseUnits: bigint;
}

/** Returns the unused part of a limit, which may have been lowered below its use. */
export function leftOf(capBaseUnits: bigint, usedBaseUnits: bigint): bigint {
  return capBaseUnits > usedBaseUnits ? capBaseUnits - usedBaseUnits : 0n;
}

/** A project: one token, one multisig, and one wallet that approves. */
export interface Project {
  readonly id: string;
  readonly wallet: Address;
  readonly scopes: ReadonlySet<Scope>;
  /** Base units per UTC day. */
  readonly dailyLimits: DailyTotals;
  readonly approvalMode: ApprovalMode;
  /** True while the company admits it. A registration alone admits nothing. */
  readonly isAdmitted: boolean;
  readonly token: Token;
  readonly flywheel: Flywheel;
}

/** A project as a search finds it: `token-gone` and `flywheel-gone` if that part was archived, null if it does not exist. */
export type FoundProject = Project | null | 'token-gone' | 'flywheel-gone';

/** The registered proof types of a project by name. If empty, every well-formed type is allowed. */
export type RegisteredTypes = ReadonlyMap<string, ProofType>;

/** A project as a registration creates it, not admitted. */
export interface NewProject extends Omit<Project, 'isAdmitted'> {
  readonly proofTypes: RegisteredTypes;
}

export interface Token {
  readonly id: string;
  readonly mint: Address;
  readonly decimals: number;
  /** SPL Token or Token-2022. */
  readonly programAddress: Address;
}

/** A project's multisig and its vault. */
export interface Flywheel {
  readonly id: string;
  readonly multisig: Multisig;
}

/** True while the recovery key acts for an operator whose key is lost: what is closed now pays rent to the lost one. */
export function isOperatorLost({ operator, rentCollector }: Pick<Multisig, 'operator' | 'rentCollector'>): boolean {
  return operator !== rentCollector;
}

/** The addresses of a Squads v4 multisig and its members. */
export interface Multisig {
  readonly address: Address;
  readonly vault: Address;
  readonly vaultIndex: number;
  /** Initiate and Execute; pays, proposes, executes; has no vote. The recovery key, while a lost operator is being replaced. */
  readonly operator: Address;
  /** Receives the rent of closed accounts: the operator, or the lost one until it is replaced. */
  readonly rentCollector: Address;
  /** Initiate and Execute, like the operator, in whose place it acts if that key is lost; null if there is none. */
  readonly recovery: Address | null;
  /** Vote. */
  readonly company: Address;
  /** Vote: the project approver. */
  readonly wallet: Address;
  /** Frozen at registration: it can never be changed or closed. */
  readonly lookupTable: LookupTable;
}

/** A move takes a second or two, so that a client that comes again after this time seldom waits twice. */
const MOVING_RETRY_SECONDS = 2;

/** Builds the error of a shard that a project leaves, or has left. The reverse proxy then asks which shard has it. */
export function projectMoving(): ApiError<'ERR_PROJECT_MOVING'> {
  return new ApiError('ERR_PROJECT_MOVING', { retryAfterSeconds: MOVING_RETRY_SECONDS });
}
