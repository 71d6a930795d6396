import { ApiError, type BatchKind, type InitWarning, isApiError } from '@flywheel/api';
import { type CompanyPolicy, proofHash, toDecimal } from '@flywheel/protocol';
import { dailyTotals } from '../compile/totals.ts';
import type { Batch, CompiledPipeline } from '../model/batch.ts';
import { secondsToNextUtcDay, startOfNextUtcDay, utcDay } from '../model/clock.ts';
import { mapInSlices } from '../model/in-slices.ts';
import { type Multisig, type Project, projectMoving, type Token } from '../model/project.ts';
import { type CapUse, type HeldUse, type KindUse, type RulesInForce, readCapUse } from '../store/batches/cap-use.ts';
import { capUnadmittedUse, lockUnadmittedSetups, readSetupUse, refusalOfCommit } from '../store/batches/exposure.ts';
import type { Reserved } from '../store/batches/new-batches.ts';
import { findMissedRotation, type OpenRotation } from '../store/batches/rotations.ts';
import { findHalt, type Halt, MOVING } from '../store/company/pauses.ts';
import { type CountedUses, findPolicyUses } from '../store/company/policy-uses.ts';
import type { Db } from '../store/db.ts';
import { reserveDailyAmounts } from '../store/projects/daily-limits.ts';
import {
  type AskedOfCaps,
  type FairUse,
  findCapErrors,
  findLamportsErrors,
  findUnadmittedErrors,
  unadmittedCaps,
} from './caps.ts';
import { kindOf } from './compile-again.ts';
import type { Deps } from './deps.ts';
import { boundBurnedIndex, boundExposure } from './exposure.ts';
import { admitByPolicy, type JudgedRequest, mayCount, type RuledRequest, readRuled } from './policy/at-init.ts';

/** A batch to be admitted. */
export interface Candidate {
  readonly project: Project;
  readonly kind: BatchKind;
  /** The API key that asks; null for the console. */
  readonly keyId: string | null;
  readonly pipelines: readonly CompiledPipeline[];
}

/** A batch to be admitted under the lock of its flywheel. */
export interface LockedCandidate extends Candidate, Pick<JudgedRequest, 'read'> {
  /** Members of the multisig, as they are under the lock. */
  readonly members: Members;
}

type Members = Pick<Multisig, 'operator' | 'company' | 'wallet'>;

/** The reservation of a new batch, and warnings for its answer. */
export interface Admission extends KindUse {
  readonly reserved: Reserved;
  readonly warnings: readonly InitWarning[];
}

/** The batch can be judged once the token accounts that batches of this UTC day count were looked up on chain. */
export interface UnreadTokenAccounts {
  readonly unreadOn: string;
}

/** The parts of limits and caps that a batch asks for, and its proofs. */
export interface Asked extends AskedOfCaps {
  /** Hashes of its proofs, one for each pipeline; none for withdrawals and rotations. */
  readonly proofHashes: readonly string[];
  /** Null if the project had no rules when the request began. */
  readonly ruled: RuledRequest | null;
}

/** Computes what a batch asks for. A thousand pipelines take 0.1 s, so no caller holds a lock meanwhile. */
export async function computeAsked(
  { prices }: Pick<LimitDeps, 'prices'>,
  { project: { flywheel, token }, kind, pipelines }: Candidate,
  hasRules = false,
): Promise<Asked> {
  return {
    kind,
    pipelineCount: pipelines.length,
    proofHashes: kind === 'pipelines' ? await mapInSlices(pipelines, proofHash) : [],
    totals: kind === 'pipelines' ? dailyTotals(pipelines, token) : NO_TOTALS,
    exposure: await boundExposure(prices, flywheel.multisig, { kind, pipelines }),
    ruled: hasRules ? readRuled(pipelines, token) : null,
  };
}

/**
 * Checks a new batch against the limits of its kind and the caps of its project and key, and reserves its daily amounts. The
 * caller must hold the lock of the project's flywheel, and must roll back when this throws or returns `unread`.
 * @param asked from `computeAsked`.
 * @throws ApiError ERR_UNAUTHORIZED for a key that was revoked meanwhile, ERR_ROTATION_OPEN, ERR_TOO_MANY_OPEN_BATCHES,
 * ERR_CAP_REACHED, ERR_FLYWHEEL_DAILY_LIMIT_EXCEEDED, ERR_POLICY_REFUSED, ERR_POLICY_CAP_REACHED, ERR_ROTATION_REFUSED,
 * ERR_NONCE_POOL_EMPTY
 */
export async function admitBatch(
  deps: LimitDeps,
  trx: Db,
  candidate: LockedCandidate,
  asked: Asked,
): Promise<Admission | UnreadTokenAccounts> {
  const { project, kind } = candidate;
  const now = deps.clock.now();
  const day = utcDay(now);
  // Read under the lock: the limits may have been lowered while this request waited for it.
  const use = await readUse({ ...deps, db: trx }, candidate, asked);
  await requireNoRotation(trx, candidate, use.openRotation);
  if (use.key?.isRevoked) throw new ApiError('ERR_UNAUTHORIZED', { problem: 'The API key was revoked meanwhile.' });
  const errors = findLimitErrors(deps, project, use, asked);
  const [tooMuch] = errors.filter((error) => !isOfKey(error));
  if (tooMuch) throw tooMuch;
  const { totals, exposure } = asked;
  const { hasExposedOfKind, isFirstOfDay, rules } = use;
  if (kind === 'pipelines') await reserveAmounts(deps, trx, project, use, { day, totals });
  const counted = rules && (await judgeByRules(trx, candidate, asked, { rules, day, now }));
  if (counted === 'unread') return { unreadOn: day };
  // Last, so that a limit of the whole project is named first.
  const [ofKey] = errors;
  if (ofKey) throw ofKey;
  const reserved = { day, totals, exposure, counted };
  return { reserved, warnings: warnOfRepeats(asked, use), hasExposedOfKind, isFirstOfDay };
}

interface RulesOfDay extends Pick<JudgedRequest, 'day' | 'now'> {
  readonly rules: RulesInForce;
}

async function judgeByRules(
  trx: Db,
  { project: { id: projectId, token }, pipelines, read }: LockedCandidate,
  { ruled }: Asked,
  { rules, day, now }: RulesOfDay,
): Promise<CountedUses | 'unread'> {
  if (ruled !== null) return admitByPolicy(rules, token, { ...ruled, day, now, read });
  // An operator has set the project's first rules since the request began.
  const late = readRuled(pipelines, token);
  const used = await findPolicyUses(trx, { projectId, day }, mayCount(late));
  return admitByPolicy({ ...rules, used }, token, { ...late, day, now, read });
}

/**
 * Makes the commit check the caps that all projects without admission share. Their requests wait for each other during the
 * commit, so the process must have nothing left to do then. `unadmittedErrorOf` reads its refusal.
 */
export async function admitUnadmitted(
  deps: Pick<LimitDeps, 'caps' | 'clock'>,
  trx: Db,
  { project }: Pick<Candidate, 'project'>,
  asked: AskedOfCaps,
  admission: KindUse,
): Promise<void> {
  if (project.isAdmitted) return;
  await capUnadmittedUse(trx, utcDay(deps.clock.now()), unadmittedCaps(deps, admission, asked));
}

/** Reads the cap for which a commit was refused that `admitUnadmitted` has prepared; null if the error is another one. */
export function unadmittedErrorOf(
  { clock }: Pick<LimitDeps, 'clock'>,
  error: unknown,
  asked: AskedOfCaps,
): ApiError<'ERR_CAP_REACHED'> | null {
  const refusal = refusalOfCommit(error);
  if (refusal === null) return null;
  const { use, caps } = refusal;
  const others = {
    lockedLamports: use.lockedLamports - asked.exposure.lockedLamports,
    spentLamports: use.spentLamports - asked.exposure.spendLamports,
  };
  const [exceeded = null] = findUnadmittedErrors({ now: clock.now() }, others, caps, asked);
  return exceeded;
}

/**
 * Checks the caps again before the setup of a batch: a day may have passed, attempts may have failed, or a setting may be
 * lower. Only batches whose setup has begun count, so the oldest ones go on. The same transaction must record that the setup
 * begins: setups of other projects that are not admitted wait for its end, so that they cannot exceed a cap together.
 */
export async function findSetupError(
  deps: LimitDeps,
  trx: Db,
  { id: projectId, isAdmitted, token }: Project,
  { id: batchId, pipelines }: Batch,
): Promise<ApiError<'ERR_CAP_REACHED'> | null> {
  const now = deps.clock.now();
  const day = utcDay(now);
  if (!isAdmitted) await lockUnadmittedSetups(trx);
  const ofProject = await readSetupUse(trx, { batchId, projectId, day });
  const ofUnadmitted = isAdmitted ? null : await readSetupUse(trx, { batchId, projectId: null, day });
  const { own } = ofProject;
  // A batch that has spent all it had reserved still needs a transaction.
  const leastLamports = boundBurnedIndex(deps.prices);
  const spendLamports = own.spendLamports > leastLamports ? own.spendLamports : leastLamports;
  const exposure = { ...own, spendLamports };
  const asked = { kind: 'pipelines', pipelineCount: pipelines.length, totals: NO_TOTALS, exposure } as const;
  const ofKind = { hasExposedOfKind: true, isFirstOfDay: false };
  const use = { project: ofProject.begun, unadmitted: ofUnadmitted?.begun ?? null, ...ofKind };
  const [error = null] = findLamportsErrors({ ...deps, token, now }, use, asked);
  return error;
}

/**
 * Returns true if a batch is set up whatever the caps are: withdrawals and rotations. It reads this from their one pipeline,
 * because an HTTP process has written the kind.
 */
export function isSetUpBeyondCaps({ pipelines }: Pick<Batch, 'pipelines'>): boolean {
  return pipelines.length === 1 && kindOf({ pipelines }) !== 'pipelines';
}

/** Daily limits do not apply to withdrawals and rotations. */
const NO_TOTALS = { burnBaseUnits: 0n, airdropBaseUnits: 0n } as const;

type LimitDeps = Pick<Deps, 'clock' | 'fairUse' | 'caps' | 'prices'>;

/** Returns true if a project may create batches of pipelines. Withdrawals and rotations need no admission. */
export function isServed(
  { registration }: Pick<Deps, 'registration'>,
  { isAdmitted }: Pick<Project, 'isAdmitted'>,
): boolean {
  return registration === 'open' || isAdmitted;
}

/** @throws ApiError ERR_PROJECT_NOT_ADMITTED if this service serves admitted projects only, and this is none. */
export function requireServed(
  deps: Pick<Deps, 'registration'>,
  project: Pick<Project, 'isAdmitted' | 'flywheel'>,
): void {
  if (!isServed(deps, project)) throw new ApiError('ERR_PROJECT_NOT_ADMITTED', { flywheelId: project.flywheel.id });
}

/**
 * @throws ApiError ERR_PAUSED while the company has paused this project, or all projects; ERR_PROJECT_MOVING while it
 * moves to another shard.
 */
export async function requireNotHalted({ db }: Pick<Deps, 'db'>, { id }: Pick<Project, 'id'>): Promise<void> {
  requireNoHalt(await findHalt(db, id));
}

/** @throws ApiError ERR_PAUSED, ERR_PROJECT_MOVING */
export function requireNoHalt(halt: Halt | null): void {
  if (halt === MOVING) throw projectMoving();
  if (halt) throw new ApiError('ERR_PAUSED', { isForAll: halt.isForAll, reason: halt.reason });
}

/** A batch that is not created, measured against its project. */
export interface Forecast {
  /** The limits and caps that the project would exceed with it. */
  readonly errors: readonly LimitError[];
  readonly warnings: readonly InitWarning[];
  /** The company's rules for the project; null if it has set none. */
  readonly policy: CompanyPolicy | null;
}

/** Measures a batch that is not created against what its project has used, and reads the company's rules for it. */
export async function forecast(deps: LimitDeps & Pick<Deps, 'db'>, candidate: Candidate): Promise<Forecast> {
  const asked = await computeAsked(deps, candidate);
  const use = await readUse(deps, candidate, asked);
  const errors = findLimitErrors(deps, candidate.project, use, asked);
  return { errors, warnings: warnOfRepeats(asked, use), policy: use.rules?.policy ?? null };
}

/** A project's daily limit for one kind of action, in base units. */
export interface DailyLimit {
  readonly kind: 'burn' | 'airdrop';
  readonly capBaseUnits: bigint;
  readonly usedBaseUnits: bigint;
  readonly askedBaseUnits: bigint;
  readonly resetsAt: Date;
}

/** Builds the error for a daily limit that a request exceeds. */
export function dailyLimitError(
  { kind, capBaseUnits, usedBaseUnits, askedBaseUnits, resetsAt }: DailyLimit,
  { decimals }: Pick<Token, 'decimals'>,
  now: Date,
): ApiError<'ERR_FLYWHEEL_DAILY_LIMIT_EXCEEDED'> {
  return new ApiError('ERR_FLYWHEEL_DAILY_LIMIT_EXCEEDED', {
    kind,
    cap: toDecimal(capBaseUnits, decimals),
    used: toDecimal(usedBaseUnits, decimals),
    asked: toDecimal(askedBaseUnits, decimals),
    resetsAt: resetsAt.toISOString(),
    retryAfterSeconds: secondsToNextUtcDay(now),
  });
}

/** Warns of pipelines whose type and payload the project, or the same request, has used before. */
function warnOfRepeats(
  { proofHashes }: Pick<Asked, 'proofHashes'>,
  { seenProofs }: Pick<CapUse, 'seenProofs'>,
): InitWarning[] {
  const seen = new Set(seenProofs);
  const warnings: InitWarning[] = [];
  for (const [pipeline, hash] of proofHashes.entries()) {
    if (seen.has(hash)) {
      warnings.push({ pipeline, message: `pipelines[${pipeline}] repeats a type and payload seen before.` });
    }
    seen.add(hash);
  }
  return warnings;
}

/**
 * Requires that no rotation stands in the way. Executing one makes every proposal stale that is not approved yet: from the moment
 * at which both sides have approved it no batch is created, so that the open ones come to an end. A second rotation is never
 * created.
 * @throws ApiError ERR_ROTATION_OPEN, ERR_ROTATION_REFUSED, ERR_NONCE_POOL_EMPTY
 */
async function requireNoRotation(
  trx: Db,
  { project: { flywheel }, kind, members }: LockedCandidate,
  open: OpenRotation | null,
): Promise<void> {
  const isInTheWay = open !== null && (kind === 'rotation' || open.isReady);
  if (!isInTheWay && haveSameMembers(members, flywheel.multisig)) return;
  const batchId = isInTheWay ? open.batchId : await findMissedRotation(trx, flywheel);
  if (batchId === null) return;
  if (kind === 'rotation') {
    const problem = `batch ${batchId} replaces a member. Try again when it has ended.`;
    throw new ApiError('ERR_ROTATION_REFUSED', { problem });
  }
  if (batchId === 'recovered') throw new ApiError('ERR_NONCE_POOL_EMPTY', { retryAfterSeconds: 1 });
  throw new ApiError('ERR_ROTATION_OPEN', { batchId });
}

function haveSameMembers(one: Members, other: Members): boolean {
  return one.operator === other.operator && one.company === other.company && one.wallet === other.wallet;
}

function readUse(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  { project: { id: projectId, isAdmitted, flywheel }, kind, keyId }: Candidate,
  { proofHashes, ruled }: Pick<Asked, 'proofHashes' | 'ruled'>,
): Promise<CapUse> {
  const now = clock.now();
  const of = { projectId, multisig: flywheel.multisig.address, kind, keyId, isAdmitted };
  const uses = ruled === null ? [] : mayCount(ruled);
  return readCapUse(db, { ...of, proofHashes, uses, day: utcDay(now), now });
}

function isOfKey(error: LimitError): boolean {
  return isApiError(error, 'ERR_CAP_REACHED') && error.context.cap.scope === 'key';
}

type LimitError = ApiError<'ERR_TOO_MANY_OPEN_BATCHES'> | ApiError<'ERR_CAP_REACHED'>;

function findLimitErrors(deps: LimitDeps, { token }: Project, use: CapUse, asked: AskedOfCaps): LimitError[] {
  const rules = { ...deps, token, now: deps.clock.now() };
  return [...findCountErrors(deps.fairUse, use.project, asked), ...findCapErrors(rules, use, asked)];
}

/** Each open withdrawal locks a nonce and some of the operator's SOL. */
const MAX_OPEN_WITHDRAWALS = 10;

function findCountErrors(
  { maxOpenBatches, maxOpenPipelines }: FairUse,
  open: Pick<HeldUse, 'batches' | 'pipelines'>,
  { kind, pipelineCount }: AskedOfCaps,
): ApiError<'ERR_TOO_MANY_OPEN_BATCHES'>[] {
  const batches = { open: open.batches, asked: 1 };
  const counts = {
    pipelines: [
      { ...batches, max: maxOpenBatches, unit: 'batches' },
      { open: open.pipelines, asked: pipelineCount, max: maxOpenPipelines, unit: 'pipelines' },
    ],
    withdrawal: [{ ...batches, max: MAX_OPEN_WITHDRAWALS, unit: 'withdrawals' }],
    rotation: [],
  } as const;
  return counts[kind]
    .filter((count) => count.open + count.asked > count.max)
    .map((count) => new ApiError('ERR_TOO_MANY_OPEN_BATCHES', count));
}

async function reserveAmounts(
  { clock }: Pick<Deps, 'clock'>,
  trx: Db,
  { id, token }: Project,
  { dailyLimits, returningTotals }: CapUse,
  { day, totals }: Pick<Reserved, 'day' | 'totals'>,
): Promise<void> {
  const limits = {
    burnBaseUnits: dailyLimits.burnBaseUnits + returningTotals.burnBaseUnits,
    airdropBaseUnits: dailyLimits.airdropBaseUnits + returningTotals.airdropBaseUnits,
  };
  const exceeded = await reserveDailyAmounts(trx, { id, dailyLimits: limits }, day, totals);
  if (!exceeded) return;
  const { kind } = exceeded;
  const usedBaseUnits = exceeded.usedBaseUnits - returningTotals[`${kind}BaseUnits`];
  const [capBaseUnits, askedBaseUnits] = [dailyLimits[`${kind}BaseUnits`], totals[`${kind}BaseUnits`]];
  const now = clock.now();
  const resetsAt = startOfNextUtcDay(now);
  throw dailyLimitError({ kind, capBaseUnits, usedBaseUnits, askedBaseUnits, resetsAt }, token, now);
}
