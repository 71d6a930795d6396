import {
  type Member,
  PERMISSION,
  PROPOSAL_DISCRIMINATOR,
  proposalDecoder,
  proposalEncoder,
  VAULT_BATCH_TRANSACTION_DISCRIMINATOR,
  vaultBatchTransactionDecoder,
  vaultBatchTransactionEncoder,
} from '@flywheel/squads';
import type { Address } from '@solana/kit';
import { alterBatch, alterMultisig, alterSquads } from './altering-proxy.ts';

/** Something else that the chain could hold in the place of the batch and the multisig that are shown. */
interface ApprovalLie {
  readonly name: string;
  readonly alter: (names: { readonly wallet: string; readonly stranger: Address }) => (account: Buffer) => Buffer;
  readonly expected: RegExp;
}

const VOTE = { mask: PERMISSION.vote };

const alterProposal = alterSquads(PROPOSAL_DISCRIMINATOR, proposalDecoder, proposalEncoder);
const alterMessage = alterSquads(
  VAULT_BATCH_TRANSACTION_DISCRIMINATOR,
  vaultBatchTransactionDecoder,
  vaultBatchTransactionEncoder,
);

export const APPROVAL_LIES: readonly ApprovalLie[] = [
  {
    name: 'a third voter beside the wallet and the company',
    alter: ({ stranger }) => withMembers((members) => [...members, { key: stranger, permissions: VOTE }]),
    expected: /Beside your wallet only the company may vote in this multisig\. On chain: \w+, \w+\./,
  },
  {
    name: 'no voter beside the wallet',
    alter: ({ wallet }) =>
      withMembers((members) => members.filter((member) => member.key === wallet || !isVoter(member))),
    expected: /Beside your wallet only the company may vote in this multisig\. On chain: none\./,
  },
  {
    name: 'two strangers who vote instead of the wallet',
    alter: ({ wallet, stranger }) =>
      withMembers((members) =>
        members.map((member) => (member.key === wallet ? { ...member, key: stranger } : member)),
      ),
    expected: /Your wallet \w+ has no vote in this multisig/,
  },
  {
    name: 'an operator who votes',
    alter: () =>
      withMembers((members) =>
        members.map((member) => (isVoter(member) ? member : { ...member, permissions: { mask: 7 } })),
      ),
    expected: /Beside your wallet only the company may vote in this multisig/,
  },
  {
    name: 'a company that also proposes and executes',
    alter: ({ wallet }) =>
      withMembers((members) =>
        members.map((member) =>
          isVoter(member) && member.key !== wallet ? { ...member, permissions: { mask: 7 } } : member,
        ),
      ),
    expected: /\w+ can vote, and propose or execute/,
  },
  {
    name: 'a multisig that needs one vote',
    alter: () => alterMultisig((multisig) => ({ ...multisig, threshold: 1 })),
    expected: /^The multisig needs 1 votes, not 2\.$/,
  },
  {
    name: 'a multisig that executes later',
    alter: () => alterMultisig((multisig) => ({ ...multisig, timeLock: 60 })),
    expected: /^The multisig executes only 60 s after the votes\.$/,
  },
  {
    name: 'a multisig that a stranger can change',
    alter: ({ stranger }) => alterMultisig((multisig) => ({ ...multisig, configAuthority: stranger })),
    expected: /^\w+ alone can change the multisig\.$/,
  },
  {
    name: 'a batch of another vault',
    alter: () => alterBatch((batch) => ({ ...batch, vaultIndex: 3 })),
    expected: /^The batch spends from vault 3, not from vault 0\.$/,
  },
  ...(['Approved', 'Rejected', 'Executed', 'Cancelled'] as const).map((__kind) => ({
    name: `a proposal that is ${__kind}`,
    alter: () => alterProposal((proposal) => ({ ...proposal, status: { __kind, timestamp: 1n } })),
    expected: new RegExp(`^The proposal on chain is ${__kind}, not Active\\.$`),
  })),
  {
    name: 'an instruction with one account more, as a further signer of a transfer would be',
    alter: () =>
      alterMessage(({ message, ...account }) => {
        const instructions = message.instructions.map(({ accountIndexes, ...instruction }) => ({
          ...instruction,
          accountIndexes: Uint8Array.of(...accountIndexes, 0),
        }));
        return { ...account, message: { ...message, instructions } };
      }),
    expected: /^Shown: .*On chain: /,
  },
  {
    name: 'a message that another key signs beside the vault',
    alter: () => alterMessage(({ message, ...account }) => ({ ...account, message: { ...message, numSigners: 2 } })),
    expected: /^It is signed by \w+, \w+, not by the vault alone\./,
  },
  {
    name: 'a message that a key of Squads signs beside the vault',
    alter: () => alterMessage((account) => ({ ...account, ephemeralSignerBumps: Uint8Array.of(255) })),
    expected: /^It has 1 signers beside the vault\./,
  },
];

/** Shows every multisig with other members. */
export function withMembers(change: (members: readonly Member[]) => readonly Member[]): (account: Buffer) => Buffer {
  return alterMultisig((multisig) => ({ ...multisig, members: [...change(multisig.members)] }));
}

export function isVoter({ permissions }: Member): boolean {
  return (permissions.mask & PERMISSION.vote) !== 0;
}
