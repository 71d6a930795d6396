import { address } from '@flywheel/protocol';
import type { Address } from '@solana/kit';
import { parseWithdrawnAmount } from '../../compile/actions.ts';
import { movesTokens, withdrawalsOf } from '../../compile/totals.ts';
import { vaultOf } from '../../compile/vault.ts';
import type { BatchAction, CompiledPipeline } from '../../model/batch.ts';
import { DAY_MS } from '../../model/clock.ts';
import type { Project } from '../../model/project.ts';
import { type Recipient, type RecipientFacts, readRecipients } from '../../solana/recipients.ts';
import { findCreatedTokenAccounts } from '../../store/batches/created-token-accounts.ts';
import { findNonWallets, forgetNonWallets, recordNonWallets } from '../../store/non-wallets.ts';
import type { Deps } from '../deps.ts';

/** An issue with the recipient of an airdrop or a withdrawal. */
export interface RecipientIssue {
  /** Zero-based position. */
  readonly pipeline: number;
  /** Zero-based position in its pipeline. */
  readonly action: number;
  readonly recipient: Address;
  /** Path in the request, e.g. `pipelines[3].actions[0].toAddress`. */
  readonly place: string;
  /** A sentence that does not repeat the place. */
  readonly message: string;
}

export interface RecipientsCheck {
  readonly issues: readonly RecipientIssue[];
  readonly isVaultFrozen: boolean;
  /** The vault's associated token account. */
  readonly vaultTokenAccount: Address;
}

/** Checks the accounts that airdrops and withdrawals go to, and the vault's token account. */
export async function checkRecipients(
  { chain, db, clock }: Pick<Deps, 'chain' | 'db' | 'clock'>,
  project: Project,
  pipelines: readonly Pick<CompiledPipeline, 'actions'>[],
): Promise<RecipientsCheck> {
  const vault = vaultOf(project);
  const transfers = pipelines.flatMap(({ actions }, pipeline) =>
    actions.flatMap((action, position) =>
      'toAddress' in action
        ? [
            {
              pipeline,
              position,
              place: `pipelines[${pipeline}].actions[${position}].toAddress`,
              owner: address(action.toAddress),
              action,
            },
          ]
        : [],
    ),
  );
  const owners = [...new Set([vault.address, ...transfers.map(({ owner }) => owner)])];
  const recipients = owners.map((owner) => ({ owner, tokenAccount: vault.tokenAccountOf(owner) }));
  const facts = await readRecipients(chain, project.token, recipients);
  await recordOwners({ db, clock }, owners, facts);
  const missing = recipients.flatMap(({ tokenAccount }, i) =>
    facts[i]?.tokenAccount.state === 'missing' ? [tokenAccount] : [],
  );
  const since = new Date(clock.now().getTime() - RECREATION_PAUSE_MS);
  const createdAt = await findCreatedTokenAccounts(db, project.id, missing, since);
  const found = new Map(recipients.map((recipient, i) => [recipient.owner, { recipient, facts: facts[i] }]));
  return {
    issues: transfers.flatMap(({ pipeline, position, place, owner, action }) => {
      const { recipient, facts } = found.get(owner) ?? {};
      if (!recipient || !facts) throw new Error(`The accounts of ${owner} were not read.`);
      const message = describeOwner(recipient, facts) ?? describeTokenAccount(recipient, facts, action, createdAt);
      return message === null ? [] : [{ pipeline, action: position, recipient: owner, place, message }];
    }),
    isVaultFrozen: facts[0]?.tokenAccount.state === 'frozen',
    vaultTokenAccount: vault.tokenAccount,
  };
}

/** Remembers for init, which reads no accounts, which addresses are no wallets, and forgets those that are by now. */
async function recordOwners(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  owners: readonly Address[],
  facts: readonly RecipientFacts[],
): Promise<void> {
  const kinds = new Map(owners.map((owner, i) => [owner, facts[i]?.owner.kind ?? 'wallet']));
  const recorded = await findNonWallets(db, owners);
  await forgetNonWallets(
    db,
    owners.filter((owner) => recorded.has(owner) && kinds.get(owner) === 'wallet'),
  );
  const seen = [...kinds].flatMap(([address, kind]) =>
    kind === 'wallet' || recorded.has(address) ? [] : [{ address, kind }],
  );
  await recordNonWallets(db, seen, clock.now());
}

/** Closing an account pays its rent to its owner. Without this pause, closing it again and again would drain the vault. */
const RECREATION_PAUSE_MS = 30 * DAY_MS;

function describeOwner({ owner }: Recipient, facts: RecipientFacts): string | null {
  switch (facts.owner.kind) {
    case 'wallet':
      return null;
    case 'token account':
      return `${owner} is a token account, not a wallet. It belongs to ${facts.owner.owner}.`;
    case 'program':
      return `${owner} is a program, not a wallet.`;
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
    case 'demands memos':
      return `${owner} demands a memo with each transfer to its token account ${tokenAccount}, which airdrops do not have. The recipient can switch that off.`;
    case 'given away':
      return `${owner} gave its token account ${tokenAccount} to ${facts.tokenAccount.owner}, who would get the tokens. Use another wallet.`;
    case 'missing': {
      const created = createdAt.get(tokenAccount);
      // The project chose the recipient of a withdrawal, and pays for its account again.
      if (created === undefined || action.action === 'WITHDRAW') return null;
      const again = new Date(created.getTime() + RECREATION_PAUSE_MS);
      return (
        `${owner} has closed the token account ${tokenAccount} that the vault paid for on ${created.toISOString()}. ` +
        `The vault pays for another from ${again.toISOString()}; until then the recipient can create it.`
      );
    }
    default:
      throw facts.tokenAccount satisfies never;
  }
}

/**
 * Checks SOL withdrawals to addresses that have no account yet. An amount below an account's minimum rent cannot arrive.
 * @returns one sentence for each issue.
 */
export async function checkNewAccounts(
  { chain }: Pick<Deps, 'chain'>,
  pipelines: readonly Pick<CompiledPipeline, 'actions'>[],
): Promise<string[]> {
  const withdrawn = withdrawalsOf(pipelines, 'SOL');
  if (withdrawn.length === 0) return [];
  const recipients = withdrawn.map(({ toAddress }) => address(toAddress));
  const [missing, rentLamports] = await Promise.all([
    findMissingAccounts({ chain }, recipients),
    chain.minimumBalanceForRentExemption(0),
  ]);
  return withdrawn.flatMap((withdrawal) => {
    const lamports = parseWithdrawnAmount(withdrawal, { decimals: 0 });
    if (!missing.has(address(withdrawal.toAddress)) || lamports >= rentLamports) return [];
    return `${withdrawal.toAddress} is new on chain: it must get at least ${rentLamports} lamports, not ${lamports}.`;
  });
}

/** Finds the addresses that have no account on chain. */
export async function findMissingAccounts(
  { chain }: Pick<Deps, 'chain'>,
  addresses: readonly Address[],
): Promise<ReadonlySet<Address>> {
  const accounts = await chain.accounts(addresses, { maxBytes: 0 });
  return new Set(addresses.filter((_, i) => accounts[i] === null));
}
