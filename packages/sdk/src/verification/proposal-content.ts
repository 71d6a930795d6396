import { type BatchContent, summarizeContent } from '@flywheel/protocol';
import { chooseNode, type RpcUrl } from '@flywheel/solana-rpc';
import { PERMISSION } from '@flywheel/squads';
import { readBatch, readRotation } from '../chain/squads.ts';
import type { CallOptions } from '../client.ts';
import { compareRotation, statusIssues, vaultIssues } from './compare.ts';

/** The effects of a proposal, as the chain holds it. */
export interface ProposalContent {
  readonly content: BatchContent;
  /** Reasons against a decision, a sentence each; empty if there are none. */
  readonly issues: readonly string[];
}

/**
 * Reads what a proposal would do, for a person who decides for the company. No claim of the service is used, except which
 * proposal is meant.
 * @param rpcUrl a Solana node, or several of one cluster: the first healthy one answers everything.
 * @throws FlywheelError if the node does not answer; Error if the chain lacks a part, or the proposal is of another kind.
 *
 * @example
 * const { content, issues } = await readProposalContent(rpcUrl, { multisig, batchIndex: '12', isRotation: false });
 */
export async function readProposalContent(
  rpcUrl: RpcUrl,
  { isRotation, ...id }: { readonly multisig: string; readonly batchIndex: string; readonly isRotation: boolean },
  { signal }: CallOptions = {},
): Promise<ProposalContent> {
  const node = await chooseNode(rpcUrl, signal);
  return isRotation ? readReplacement(node, id, signal) : readPipelines(node, id, signal);
}

type Id = Parameters<typeof readBatch>[1];

async function readPipelines(rpcUrl: string, id: Id, signal?: AbortSignal): Promise<ProposalContent> {
  const { vaultIndex, pipelines, proposal } = await readBatch(rpcUrl, id, signal);
  const content = { pipelines: pipelines.map(({ instructions }) => instructions) };
  const issues = [
    ...statusIssues(proposal),
    ...vaultIssues({ vaultIndex }),
    ...summarizeContent(content).unknown.map((text) => `No batch of the service does this: ${text}.`),
  ];
  return { content, issues };
}

async function readReplacement(rpcUrl: string, id: Id, signal?: AbortSignal): Promise<ProposalContent> {
  const { changes, proposal, multisig } = await readRotation(rpcUrl, id, signal);
  const [added] = changes;
  const removed = changes.at(-1);
  if (added?.kind !== 'add' || removed?.kind !== 'remove') {
    throw new Error('The proposal on chain does not replace a member.');
  }
  const role = changes.length === 2 ? 'approver' : 'operator';
  const replacement = { role, from: removed.member, to: added.member } as const;
  // The two approvers have the same permissions, so either stands for both.
  const approver = role === 'operator' ? role : 'company';
  const [mismatch] = compareRotation({ approver, from: removed.member, to: added.member }, changes);
  if (mismatch) throw new Error(mismatch.text);
  const { permissions = 0 } = multisig.members.find((member) => member.address === removed.member) ?? {};
  const isOfRole = (role === 'approver') === ((permissions & PERMISSION.vote) !== 0);
  // In the place of a member without a vote, a new approver would be a third one: two of one side would be enough.
  const issues = isOfRole ? [] : [`${removed.member} is no ${role} of the multisig.`];
  return { content: { replacement }, issues: [...statusIssues(proposal), ...issues] };
}
