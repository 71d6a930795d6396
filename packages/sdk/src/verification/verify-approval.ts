import type { Action, Pipeline, RotateAction, WithdrawAction } from '@flywheel/api';
import { PERMISSION, proposalAddress, VAULT_INDEX, vaultAddress } from '@flywheel/squads';
import { type Address, address } from '@solana/kit';
import { SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import { readMint } from '../chain/read-mint.ts';
import { type ProposalOnChain, readBatch, readRotation } from '../chain/squads.ts';
import { type Approval, approvalIssues, decodeApproval } from '../signing/approval.ts';
import { compareBatch, compareRotation, type Mismatch } from './compare.ts';
import type { VaultPipeline, VaultToken } from './expected-instructions.ts';

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
}

export interface VerificationResult {
  readonly approval: Approval;
  readonly onChain: ProposalOnChain;
  /** Decimals of the mint. */
  readonly decimals: number;
  /** Issues of the approval transaction itself, a sentence each. */
  readonly issues: readonly string[];
  /** Mismatches between the chain and the pipelines shown. */
  readonly mismatches: readonly Mismatch[];
  /** True if there are no issues and no mismatches. */
  readonly isVerified: boolean;
}

/**
 * Verifies everything that a signature would allow: the bytes of the approval, and the messages on chain that it
 * approves, read from a node of your choice. No claim of the service is trusted.
 * @param rpcUrl a Solana node.
 * @throws FlywheelError if the node does not answer, or `ERR_SIGNING_REFUSED` if the approval cannot be decoded.
 * @throws Error if the chain lacks a part of the batch.
 *
 * @example
 * const { isVerified, issues, mismatches } = await verifyApproval(rpcUrl, {
 *   wallet: wallet.address, batch: { ...batch, pipelines }, proposalApproveTx,
 * });
 */
export async function verifyApproval(
  rpcUrl: string,
  { wallet, batch, proposalApproveTx }: VerificationInput,
): Promise<VerificationResult> {
  const multisig = address(batch.multisig);
  const [mint, proposal, vault] = await Promise.all([
    readMint(rpcUrl, batch.mintAddress),
    proposalAddress(multisig, BigInt(batch.batchIndex)),
    vaultAddress(multisig, VAULT_INDEX),
  ]);
  const token = { vault, mint: address(batch.mintAddress), ...mint };
  const { onChain, mismatches: inContent } = await verifyContent(rpcUrl, batch, { wallet: address(wallet), token });
  const approval = decodeApproval(proposalApproveTx);
  const members = onChain.multisig.members.map((member) => member.address);
  const issues = approvalIssues(approval, { wallet: address(wallet), multisig, proposal, members });
  const mismatches = [
    ...[
      ...multisigMismatches(onChain.multisig, address(wallet)),
      ...proposalMismatches(onChain.proposal),
      ...(vault === batch.vaultAddress
        ? []
        : [`The vault shown is ${batch.vaultAddress}; the vault of the multisig is ${vault}.`]),
    ].map((text): Mismatch => ({ pipeline: null, text })),
    ...inContent,
  ];
  const isVerified = issues.length + mismatches.length === 0;
  return { approval, onChain, decimals: mint.decimals, issues, mismatches, isVerified };
}

interface VerifiedContent {
  readonly onChain: ProposalOnChain;
  readonly mismatches: readonly Mismatch[];
}

/** Reads what the proposal allows, messages of the vault or a change of members, and compares it with what is shown. */
async function verifyContent(
  rpcUrl: string,
  batch: VerificationInput['batch'],
  { wallet, token }: { readonly wallet: Address; readonly token: VaultToken },
): Promise<VerifiedContent> {
  const [rotation] = batch.pipelines.flatMap(({ actions }) => actions).filter(isRotation);
  if (rotation) return verifyRotation(rpcUrl, batch, rotation, wallet);
  const onChain = await readBatch(rpcUrl, batch);
  const { vaultIndex } = onChain;
  const inBatch =
    vaultIndex === VAULT_INDEX ? [] : [`The batch spends from vault ${vaultIndex}, not from vault ${VAULT_INDEX}.`];
  const mismatches = await compareBatch(batch.pipelines.map(toVaultPipeline), onChain.pipelines, token);
  return { onChain, mismatches: [...inBatch.map((text) => ({ pipeline: null, text })), ...mismatches] };
}

/** A proposal contains a rotation alone: an action that is shown beside it is not on chain. */
async function verifyRotation(
  rpcUrl: string,
  batch: VerificationInput['batch'],
  rotation: RotateAction,
  wallet: Address,
): Promise<VerifiedContent> {
  const onChain = await readRotation(rpcUrl, batch);
  const shown = batch.pipelines.flatMap(({ actions }) => actions).length;
  const beside =
    shown === 1 ? [] : [{ pipeline: null, text: `${shown} actions are shown; a rotation on chain is a single one.` }];
  const mismatches = [
    ...beside,
    ...sideMismatches(rotation, wallet).map((text) => ({ pipeline: 0, text })),
    ...compareRotation(rotation, onChain.changes),
  ];
  return { onChain, mismatches };
}

/** A rotation that is shown as the company's must not remove the signer's own wallet, and the other way round. */
function sideMismatches({ approver, from }: RotateAction, wallet: Address): string[] {
  if ((approver === 'wallet') === (from === wallet)) return [];
  const removed = from === wallet ? 'your own wallet' : `${from}, which is not your wallet ${wallet}`;
  return [`It is shown as a change of the ${approver}’s vote, but it removes the vote of ${removed}.`];
}

function multisigMismatches(multisig: ProposalOnChain['multisig'], wallet: Address): string[] {
  const isVoter = multisig.members.some(
    (member) => member.address === wallet && (member.permissions & PERMISSION.vote) !== 0,
  );
  return [
    ...(isVoter ? [] : [`Your wallet ${wallet} has no vote in this multisig.`]),
    ...(multisig.threshold === 2 ? [] : [`The multisig needs ${multisig.threshold} votes, not 2.`]),
    ...(multisig.configAuthority === SYSTEM_PROGRAM_ADDRESS
      ? []
      : [`${multisig.configAuthority} alone can change the multisig.`]),
  ];
}

/** A draft can receive more messages after it was verified, and a signature on a durable nonce stays valid. */
function proposalMismatches({ status }: ProposalOnChain['proposal']): string[] {
  return status === 'Active' ? [] : [`The proposal on chain is ${status}, not Active.`];
}

function toVaultPipeline({ actions, ...pipeline }: ShownPipeline): VaultPipeline {
  return { ...pipeline, actions: actions.filter((action) => action.action !== 'ROTATE') };
}

function isRotation(action: ShownPipeline['actions'][number]): action is RotateAction {
  return action.action === 'ROTATE';
}
