import type { Action, Pipeline, RotateAction, WithdrawAction } from '@flywheel/api';
import { address } from '@flywheel/protocol';
import { chooseNode, type RpcUrl } from '@flywheel/solana-rpc';
import { PERMISSION, proposalAddress, VAULT_INDEX, vaultAddress } from '@flywheel/squads';
import type { Address } from '@solana/kit';
import { SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import { readMint } from '../chain/read-mint.ts';
import {
  type BatchOnChain,
  type ProposalOnChain,
  type RotationOnChain,
  readBatch,
  readRotation,
} from '../chain/squads.ts';
import type { CallOptions } from '../client.ts';
import { type Approval, approvalIssues, decodeApproval } from '../signing/approval.ts';
import { compareBatch, compareRotation, type Mismatch, statusIssues, vaultIssues } from './compare.ts';
import type { VaultPipeline, VaultToken } from './expected-instructions.ts';
import { type ExpectedAddress, expectedAddresses } from './expected-key.ts';
import { THRESHOLD } from './registration-terms.ts';

/** A pipeline as it is shown to the person who signs. Only the console makes withdrawals and rotations. */
export interface ShownPipeline extends Omit<Pipeline, 'actions'> {
  readonly actions: readonly (Action | WithdrawAction | RotateAction)[];
}

/** The claims of the service that are verified, and the transaction to sign. */
export interface VerificationInput {
  /** Address of the wallet that is asked to sign. */
  readonly wallet: string;
  readonly batch: {
    readonly multisig: string;
    readonly batchIndex: string;
    readonly vaultAddress: string;
    readonly mintAddress: string;
    readonly pipelines: readonly ShownPipeline[];
  };
  /** Base64. */
  readonly proposalApproveTx: string;
  /** What you know of the multisig from your own records. */
  readonly expect?: ExpectedMultisig;
}

/**
 * A multisig as its registration created it. With `multisig`, other members are accepted in the place of `company` and
 * `operator` once the multisig has executed a change: none is possible without the wallet's own approval. Keep the members
 * that the result names. Without `multisig`, only these addresses are accepted.
 */
export interface ExpectedMultisig {
  readonly multisig?: string;
  /** The member that votes for the company; several while the company replaces its key. */
  readonly company?: ExpectedAddress;
  /** The member that executes and collects the rent. */
  readonly operator?: ExpectedAddress;
}

/** Findings about an approval: its bytes and the batch on chain, compared with the claims. `isVerified` is the verdict. */
export interface VerificationResult {
  readonly approval: Approval;
  /** With the messages of a batch, or with the changes of a rotation. */
  readonly onChain: BatchOnChain | RotationOnChain;
  /** Decimals of the mint. */
  readonly decimals: number;
  /** The one member that votes beside the wallet; null if there are none or several. */
  readonly company: Address | null;
  /** The members that propose and execute without a vote: the operator, and a recovery key if there is one. */
  readonly proposers: readonly Address[];
  /** The member that executes without a vote and collects the rent; null if there is none. */
  readonly operator: Address | null;
  /** Issues of the approval transaction itself, a sentence each. */
  readonly issues: readonly string[];
  /** Mismatches between the chain and the pipelines shown. */
  readonly mismatches: readonly Mismatch[];
  /** True if there are no issues and no mismatches. */
  readonly isVerified: boolean;
}

/**
 * Verifies everything that a signature would allow: the bytes of the approval, and the messages on chain that it
 * approves, read from a node of your choice. No claim of the service is trusted. Without `expect.multisig`, read the past of
 * the multisig yourself: earlier members may have approved a batch that can still be executed (`onChain.multisig.hasChanged`).
 * @param rpcUrl a Solana node, or several of one cluster: the first healthy one answers everything.
 * @throws FlywheelError if the node does not answer, or `ERR_SIGNING_REFUSED` if the approval cannot be decoded.
 * @throws Error if the chain lacks a part of the batch.
 *
 * @example
 * const { isVerified, issues, mismatches } = await verifyApproval(rpcUrl, {
 *   wallet: wallet.address, batch: { ...batch, pipelines }, proposalApproveTx,
 * });
 */
export async function verifyApproval(
  rpcUrl: RpcUrl,
  { wallet, batch, proposalApproveTx, expect }: VerificationInput,
  { signal }: CallOptions = {},
): Promise<VerificationResult> {
  const node = await chooseNode(rpcUrl, signal);
  const multisig = address(batch.multisig);
  const mint = await readMint(node, batch.mintAddress, { signal });
  const proposal = proposalAddress(multisig, BigInt(batch.batchIndex));
  const vault = vaultAddress(multisig, VAULT_INDEX);
  const token = { vault, mint: address(batch.mintAddress), ...mint };
  const toCompare = { wallet: address(wallet), token };
  const { onChain, mismatches: inContent } = await verifyContent(node, batch, toCompare, signal);
  const approval = decodeApproval(proposalApproveTx);
  const { company } = votersOf(onChain.multisig, address(wallet));
  const issues = approvalIssues(approval, { wallet: address(wallet), multisig, proposal, company });
  const mismatches = [
    ...[
      ...multisigMismatches(onChain.multisig, address(wallet), expect),
      ...(expect?.multisig === undefined || expect.multisig === multisig
        ? []
        : [`The multisig shown is ${multisig}; yours is ${expect.multisig}.`]),
      ...statusIssues(onChain.proposal),
      ...(vault === batch.vaultAddress
        ? []
        : [`The vault shown is ${batch.vaultAddress}; the vault of the multisig is ${vault}.`]),
    ].map((text): Mismatch => ({ pipeline: null, text })),
    ...inContent,
  ];
  const isVerified = issues.length + mismatches.length === 0;
  const proposers = onChain.multisig.members.filter(isProposer).map((member) => member.address);
  const operator = operatorOf(onChain.multisig);
  return { approval, onChain, company, operator, proposers, decimals: mint.decimals, issues, mismatches, isVerified };
}

interface VerifiedContent {
  readonly onChain: BatchOnChain | RotationOnChain;
  readonly mismatches: readonly Mismatch[];
}

/** Reads what the proposal allows, messages of the vault or a change of members, and compares it with what is shown. */
async function verifyContent(
  rpcUrl: string,
  batch: VerificationInput['batch'],
  { wallet, token }: { readonly wallet: Address; readonly token: VaultToken },
  signal: AbortSignal | undefined,
): Promise<VerifiedContent> {
  const [rotation] = batch.pipelines.flatMap(({ actions }) => actions).filter(isRotation);
  if (rotation) return verifyRotation(rpcUrl, batch, { rotation, wallet }, signal);
  const onChain = await readBatch(rpcUrl, batch, signal);
  const mismatches = compareBatch(batch.pipelines.map(toVaultPipeline), onChain.pipelines, token);
  return { onChain, mismatches: [...vaultIssues(onChain).map((text) => ({ pipeline: null, text })), ...mismatches] };
}

/** A proposal contains a rotation alone: an action that is shown beside it is not on chain. */
async function verifyRotation(
  rpcUrl: string,
  batch: VerificationInput['batch'],
  { rotation, wallet }: { readonly rotation: RotateAction; readonly wallet: Address },
  signal: AbortSignal | undefined,
): Promise<VerifiedContent> {
  const onChain = await readRotation(rpcUrl, batch, signal);
  const shown = batch.pipelines.flatMap(({ actions }) => actions).length;
  const beside =
    shown === 1 ? [] : [{ pipeline: null, text: `${shown} actions are shown; a rotation on chain is a single one.` }];
  const mismatches = [
    ...beside,
    ...sideMismatches(rotation, wallet, onChain.multisig).map((text) => ({ pipeline: 0, text })),
    ...compareRotation(rotation, onChain.changes),
  ];
  return { onChain, mismatches };
}

/** A rotation must remove the member that it is shown to replace: in the place of another one, a side could get a second vote. */
function sideMismatches(
  { approver, from }: RotateAction,
  wallet: Address,
  multisig: ProposalOnChain['multisig'],
): string[] {
  const members = { wallet, company: votersOf(multisig, wallet).company, operator: operatorOf(multisig) };
  const shown = members[approver];
  if (from === shown) return [];
  const removed = from === wallet ? 'your own wallet' : from;
  return [`It is shown as a change of the ${approver}, ${shown ?? 'no member'}, but it removes ${removed}.`];
}

function multisigMismatches(
  multisig: ProposalOnChain['multisig'],
  wallet: Address,
  expect: ExpectedMultisig | undefined,
): string[] {
  const { company, isVoter, others } = votersOf(multisig, wallet);
  return [
    ...(isVoter ? [] : [`Your wallet ${wallet} has no vote in this multisig.`]),
    ...(company === null
      ? [`Beside your wallet only the company may vote in this multisig. On chain: ${others.join(', ') || 'none'}.`]
      : []),
    ...(company === null ? [] : memberMismatches(multisig, expect, { address: company, role: 'company' })),
    ...memberMismatches(multisig, expect, { address: operatorOf(multisig), role: 'operator' }),
    ...multisig.members
      .filter(isVoterWithMore)
      .map(({ address: voter }) => `${voter} can vote, and propose or execute.`),
    ...(multisig.threshold === THRESHOLD ? [] : [`The multisig needs ${multisig.threshold} votes, not ${THRESHOLD}.`]),
    ...(multisig.configAuthority === SYSTEM_PROGRAM_ADDRESS
      ? []
      : [`${multisig.configAuthority} alone can change the multisig.`]),
    ...(multisig.timeLock === 0 ? [] : [`The multisig executes only ${multisig.timeLock} s after the votes.`]),
  ];
}

const ROLES = { company: 'votes for the company', operator: 'is the operator' } as const;

/** In a known multisig, a member that was replaced was replaced with the wallet's approval. */
function memberMismatches(
  { hasChanged }: ProposalOnChain['multisig'],
  expect: ExpectedMultisig | undefined,
  { address: member, role }: { readonly address: Address | null; readonly role: 'company' | 'operator' },
): string[] {
  const known = expectedAddresses(expect?.[role]);
  if (known.length === 0 || (member !== null && known.includes(member))) return [];
  const subject = `${member ?? 'No member'} ${ROLES[role]}; you know ${known.join(', ')}.`;
  if (expect?.multisig === undefined || member === null) return [subject];
  return hasChanged ? [] : [`${subject} The members of this multisig were never changed.`];
}

interface Voters {
  /** True if the wallet may vote. */
  readonly isVoter: boolean;
  /** The voters beside the wallet. */
  readonly others: readonly Address[];
  /** The one voter beside the wallet; null if there are none or several. */
  readonly company: Address | null;
}

function votersOf({ members }: ProposalOnChain['multisig'], wallet: Address): Voters {
  const voters = members.filter(({ permissions }) => (permissions & PERMISSION.vote) !== 0).map((it) => it.address);
  const others = voters.filter((voter) => voter !== wallet);
  const [company = null, ...more] = others;
  return { isVoter: voters.includes(wallet), others, company: more.length === 0 ? company : null };
}

function isProposer({ permissions }: ProposalOnChain['multisig']['members'][number]): boolean {
  return (permissions & PERMISSION.vote) === 0;
}

/** The member that collects the rent, if it has no vote. Others without a vote may be recovery keys. */
function operatorOf({ members, rentCollector }: ProposalOnChain['multisig']): Address | null {
  const collector = members.find((member) => member.address === rentCollector);
  return collector && (collector.permissions & PERMISSION.vote) === 0 ? collector.address : null;
}

/** Members that propose and execute have no vote, and members that vote do nothing else. */
function isVoterWithMore({ permissions }: ProposalOnChain['multisig']['members'][number]): boolean {
  return (permissions & PERMISSION.vote) !== 0 && permissions !== PERMISSION.vote;
}

function toVaultPipeline({ actions, ...pipeline }: ShownPipeline): VaultPipeline {
  return { ...pipeline, actions: actions.filter((action) => action.action !== 'ROTATE') };
}

function isRotation(action: ShownPipeline['actions'][number]): action is RotateAction {
  return action.action === 'ROTATE';
}
