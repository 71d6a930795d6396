import { type Address, address } from '@solana/kit';
import { proposalAddress, vaultAddress } from '../chain/addresses.ts';
import { SYSTEM_PROGRAM } from '../chain/programs.ts';
import type { BatchOnChain } from '../chain/read-batch.ts';
import { readMint } from '../chain/read-mint.ts';
import { approvalFaults } from './approval-faults.ts';
import type { Difference } from './compare-batch.ts';
import { type Approval, decodeApproval } from './decode-approval.ts';
import { lookAtContent, type ShownPipeline } from './look-at-content.ts';

/** What the service told, and is about to have signed. */
export interface LookInput {
  readonly wallet: string;
  readonly batch: {
    readonly multisig: string;
    readonly batchIndex: string;
    readonly vaultAddress: string;
    readonly mintAddress: string;
    readonly pipelines: readonly ShownPipeline[];
  };
  readonly proposalApproveTx: string;
}

export interface Look {
  readonly approval: Approval;
  readonly onChain: Pick<BatchOnChain, 'multisig' | 'proposal'>;
  readonly decimals: number;
  /** In the approval’s own bytes. */
  readonly approvalFaults: readonly string[];
  /** Between the chain and the pipelines shown. */
  readonly differences: readonly Difference[];
  /** Nothing stands against signing. */
  readonly isSafe: boolean;
}

/**
 * Looks at everything that a signature would let happen, before the wallet is asked: the approval’s bytes, and the
 * messages on chain that it approves, read over this client’s own connection. The service is believed in nothing.
 * @throws Error when the chain does not answer or lacks a part of the batch.
 */
export async function lookBeforeSign(rpcUrl: string, { wallet, batch, proposalApproveTx }: LookInput): Promise<Look> {
  const multisig = address(batch.multisig);
  const [mint, proposal, vault] = await Promise.all([
    readMint(rpcUrl, batch.mintAddress),
    proposalAddress(multisig, BigInt(batch.batchIndex)),
    vaultAddress(multisig),
  ]);
  const token = { vault, mint: address(batch.mintAddress), ...mint };
  const { onChain, differences: inContent } = await lookAtContent(rpcUrl, batch, { wallet: address(wallet), token });
  const approval = decodeApproval(proposalApproveTx);
  const members = onChain.multisig.members.map((member) => member.address);
  const inApproval = approvalFaults(approval, { wallet: address(wallet), multisig, proposal, members });
  const differences = [
    ...multisigFaults(onChain.multisig, address(wallet)),
    ...proposalFaults(onChain.proposal),
    ...(vault === batch.vaultAddress ? [] : [`The vault shown is ${batch.vaultAddress}; the multisig’s is ${vault}.`]),
  ].map((text): Difference => ({ pipeline: null, text }));
  return {
    approval,
    onChain,
    decimals: mint.decimals,
    approvalFaults: inApproval,
    differences: [...differences, ...inContent],
    isSafe: inApproval.length + differences.length + inContent.length === 0,
  };
}

/** Squads’ permission bit: may vote. */
const VOTE = 2;

function multisigFaults(multisig: Look['onChain']['multisig'], wallet: Address): string[] {
  const isVoter = multisig.members.some((member) => member.address === wallet && (member.permissions & VOTE) !== 0);
  return [
    ...(isVoter ? [] : [`Your wallet ${wallet} has no vote in this multisig.`]),
    ...(multisig.threshold === 2 ? [] : [`The multisig asks for ${multisig.threshold} votes, not 2.`]),
    ...(multisig.configAuthority === SYSTEM_PROGRAM
      ? []
      : [`${multisig.configAuthority} can change the multisig alone.`]),
  ];
}

/** A draft can still be given more messages after it was looked at, and a signature on a durable nonce can wait. */
function proposalFaults({ status }: Look['onChain']['proposal']): string[] {
  return status === 'Active' ? [] : [`The proposal on chain is ${status}, not Active.`];
}
