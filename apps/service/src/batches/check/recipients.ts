import { type Address, address } from '@solana/kit';
import { movesTokens } from '../../compile/totals.ts';
import { vaultOf } from '../../compile/vault.ts';
import type { BatchAction, CompiledPipeline } from '../../model/batch.ts';
import type { Project } from '../../model/project.ts';
import { type Recipient, type RecipientFacts, readRecipients } from '../../solana/recipients.ts';
import { findCreatedTokenAccounts } from '../../store/landing/created-token-accounts.ts';
import type { Deps } from '../deps.ts';

/** A recipient of an airdrop or a withdrawal to whom it cannot or must not go. */
export interface RecipientProblem {
  /** Zero-based. */
  readonly pipeline: number;
  /** E.g. `pipelines[3].actions[0].toAddress`. */
  readonly place: string;
  /** Reads after the place. */
  readonly problem: string;
}

export interface RecipientsCheck {
  readonly problems: readonly RecipientProblem[];
  readonly isVaultFrozen: boolean;
  /** Where the vault’s tokens lie. */
  readonly vaultTokenAccount: Address;
}

/** Looks at every account that airdrops and withdrawals go to, and at the one they come from. */
export async function checkRecipients(
  { chain, db, clock }: Pick<Deps, 'chain' | 'db' | 'clock'>,
  project: Project,
  pipelines: readonly Pick<CompiledPipeline, 'actions'>[],
): Promise<RecipientsCheck> {
  const vault = await vaultOf(project);
  const transfers = pipelines.flatMap(({ actions }, pipeline) =>
    actions.flatMap((action, position) =>
      'toAddress' in action
        ? [
            {
              pipeline,
              place: `pipelines[${pipeline}].actions[${position}].toAddress`,
              owner: address(action.toAddress),
              action,
            },
          ]
        : [],
    ),
  );
  const owners = [...new Set([vault.address, ...transfers.map(({ owner }) => owner)])];
  const recipients = await Promise.all(
    owners.map(async (owner) => ({ owner, tokenAccount: await vault.tokenAccountOf(owner) })),
  );
  const facts = await readRecipients(chain, project.token, recipients);
  const missing = recipients.flatMap(({ tokenAccount }, i) =>
    facts[i]?.tokenAccount.state === 'missing' ? [tokenAccount] : [],
  );
  const since = new Date(clock.now().getTime() - NOT_CREATED_AGAIN_MS);
  const createdAt = await findCreatedTokenAccounts(db, project.id, missing, since);
  const found = new Map(recipients.map((recipient, i) => [recipient.owner, { recipient, facts: facts[i] }]));
  return {
    problems: transfers.flatMap(({ pipeline, place, owner, action }) => {
      const { recipient, facts } = found.get(owner) ?? {};
      if (!recipient || !facts) throw new Error(`Nothing was read for ${owner}.`);
      const problem = describeOwner(recipient, facts) ?? describeTokenAccount(recipient, facts, action, createdAt);
      return problem === null ? [] : [{ pipeline, place, problem }];
    }),
    isVaultFrozen: facts[0]?.tokenAccount.state === 'frozen',
    vaultTokenAccount: vault.tokenAccount,
  };
}

const MS_PER_DAY = 86_400_000;
/** Closing an account pays its rent to its owner: asking again and again would drain the vault. */
const NOT_CREATED_AGAIN_MS = 30 * MS_PER_DAY;

function describeOwner({ owner }: Recipient, facts: RecipientFacts): string | null {
  switch (facts.owner.kind) {
    case 'wallet':
      return null;
    case 'token account':
      return `${owner} is a token account, not a wallet. It belongs to ${facts.owner.owner}.`;
    case 'mint':
      return `${owner} is a mint, not a wallet.`;
    default:
      throw facts.owner satisfies never;
  }
}

function describeTokenAccount(
  { owner, tokenAccount }: Recipient,
  facts: RecipientFacts,
  action: BatchAction,
  createdAt: ReadonlyMap<Address, Date>,
): string | null {
  if (!movesTokens(action)) return null;
  switch (facts.tokenAccount.state) {
    case 'usable':
      return null;
    case 'frozen':
      return `${owner} has a frozen token account, ${tokenAccount}. The mint’s freeze authority can thaw it.`;
    case 'given away':
      return `${owner} gave its token account ${tokenAccount} to ${facts.tokenAccount.owner}, who would get the tokens. Use another wallet.`;
    case 'missing': {
      const created = createdAt.get(tokenAccount);
      // Whom a withdrawal goes to is the project's own choice, and so is what that costs.
      if (created === undefined || action.action === 'WITHDRAW') return null;
      const again = new Date(created.getTime() + NOT_CREATED_AGAIN_MS);
      return (
        `${owner} has closed the token account ${tokenAccount} that the vault paid for on ${created.toISOString()}. ` +
        `The vault pays for another from ${again.toISOString()}; until then the recipient can create it.`
      );
    }
    default:
      throw facts.tokenAccount satisfies never;
  }
}
