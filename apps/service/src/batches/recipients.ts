import { ApiError, type Pipeline } from '@flywheel/api';
import { address } from '@flywheel/protocol';
import type { Address } from '@solana/kit';
import type { BatchWithoutPipelines, CompiledPipeline, VaultPipeline } from '../model/batch.ts';
import { type Clock, DAY_MS } from '../model/clock.ts';
import type { Project } from '../model/project.ts';
import type { NonWallet } from '../store/non-wallets.ts';
import {
  findHeldRecipients,
  findKnownRecipients,
  type HeldRecipient,
  holdRecipients as insertHeld,
} from '../store/projects/held-recipients.ts';
import { type BatchIssue, listProblems } from './check/check-batch.ts';
import type { Deps } from './deps.ts';

/**
 * Requires that recipients may be paid, and together.
 * @throws ApiError ERR_FLYWHEEL_INVALID_ACTION for the first airdrop to an address that was seen to be no wallet;
 * ERR_RECIPIENT_HELD_BACK for pipelines of which some pay a held recipient and others do not.
 */
export async function requireRecipients(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  { id: projectId }: Pick<Project, 'id'>,
  pipelines: readonly VaultPipeline[],
): Promise<void> {
  const addresses = [...new Set(pipelines.flatMap(recipientsOf))];
  const { nonWallets, held } = await findKnownRecipients(db, { projectId, addresses, since: holdsSince(clock) });
  if (nonWallets.size > 0) requireWallets(pipelines, nonWallets);
  if (held.size > 0) requireSeparated(pipelines, held);
}

function requireWallets(pipelines: readonly VaultPipeline[], known: ReadonlyMap<Address, NonWallet['kind']>): void {
  for (const [index, { actions }] of pipelines.entries()) {
    for (const [position, action] of actions.entries()) {
      const kind = action.action === 'AIRDROP' ? known.get(address(action.toAddress)) : undefined;
      if (action.action !== 'AIRDROP' || kind === undefined) continue;
      const place = `pipelines[${index}].actions[${position}].toAddress`;
      const problem = `${action.toAddress} is a ${kind}, not a wallet. If that has changed since, preview the batch first.`;
      throw new ApiError('ERR_FLYWHEEL_INVALID_ACTION', { place, problem, recipient: action.toAddress });
    }
  }
}

/**
 * Holds the recipients back that keep a batch from being executed: until a pipeline that pays them is executed, a batch
 * that pays them may pay no others.
 */
export async function holdRecipients(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  { id: batchId, projectId }: Pick<BatchWithoutPipelines, 'id' | 'projectId'>,
  issues: readonly Pick<BatchIssue, 'recipient' | 'message'>[],
): Promise<void> {
  const heldAt = clock.now();
  const held = new Map<Address, HeldRecipient>();
  for (const { recipient, message: reason } of issues) {
    if (recipient !== null) held.set(recipient, { address: recipient, batchId, reason, heldAt });
  }
  await insertHeld(db, projectId, [...held.values()]);
}

function requireSeparated(pipelines: readonly VaultPipeline[], held: HeldRecipients): void {
  const issues = listMixedRecipients(pipelines, held);
  if (issues.length === 0) return;
  throw new ApiError('ERR_RECIPIENT_HELD_BACK', listProblems(issues, MAX_ISSUES_NAMED));
}

/** The sentence about each recipient is long: it quotes why the recipient is held. */
const MAX_ISSUES_NAMED = 5;

export interface HeldRecipientIssue extends Omit<BatchIssue, 'code'> {
  readonly code: 'ERR_RECIPIENT_HELD_BACK';
}

/** Finds the held recipients of pipelines of which others pay none; empty if all or none of the pipelines pay one. */
export async function findMixedRecipients(
  deps: Pick<Deps, 'db' | 'clock'>,
  project: Pick<Project, 'id'>,
  pipelines: readonly VaultPipeline[],
): Promise<HeldRecipientIssue[]> {
  return listMixedRecipients(pipelines, await findHeld(deps, project, pipelines));
}

function listMixedRecipients(pipelines: readonly VaultPipeline[], held: HeldRecipients): HeldRecipientIssue[] {
  if (pipelines.every((pipeline) => pays(pipeline, held))) return [];
  return pipelines.flatMap(({ actions }, index) =>
    actions.flatMap((action, position) => {
      const found = action.action === 'AIRDROP' ? held.get(address(action.toAddress)) : undefined;
      if (found === undefined) return [];
      const { address: recipient, batchId, heldAt, reason } = found;
      const place = `pipelines[${index}].actions[${position}].toAddress`;
      const message = `${recipient} stopped batch ${batchId} on ${heldAt.toISOString()}: ${reason}`;
      return [{ code: 'ERR_RECIPIENT_HELD_BACK', place, message, recipient }] as const;
    }),
  );
}

/** Separates the pipelines that pay a held recipient from the others. */
export async function separate<P extends Pipeline>(
  deps: Pick<Deps, 'db' | 'clock'>,
  project: Pick<Project, 'id'>,
  pipelines: readonly P[],
): Promise<{ readonly rest: P[]; readonly heldBack: P[] }> {
  const held = await findHeld(deps, project, pipelines);
  return {
    rest: pipelines.filter((pipeline) => !pays(pipeline, held)),
    heldBack: pipelines.filter((pipeline) => pays(pipeline, held)),
  };
}

/** Long enough that stopping batches is not worth the wait; a recipient that is paid is released at once. */
const HOLD_MS = 30 * DAY_MS;

type HeldRecipients = ReadonlyMap<Address, HeldRecipient>;

/** Finds the recipients of pipelines who are held back. */
export async function findHeld(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  { id }: Pick<Project, 'id'>,
  pipelines: readonly Pick<CompiledPipeline, 'actions'>[],
): Promise<HeldRecipients> {
  const recipients = new Set(pipelines.flatMap(recipientsOf));
  if (recipients.size === 0) return new Map();
  return findHeldRecipients(db, id, [...recipients], holdsSince(clock));
}

/** The time before which holds have ended. */
function holdsSince(clock: Pick<Clock, 'now'>): Date {
  return new Date(clock.now().getTime() - HOLD_MS);
}

function pays(pipeline: VaultPipeline, held: HeldRecipients): boolean {
  return recipientsOf(pipeline).some((recipient) => held.has(recipient));
}

/** Lists the recipients of a pipeline's airdrops. */
export function recipientsOf({ actions }: Pick<CompiledPipeline, 'actions'>): Address[] {
  return actions.flatMap((action) => (action.action === 'AIRDROP' ? [address(action.toAddress)] : []));
}
