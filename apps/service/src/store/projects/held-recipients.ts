import type { Address } from '@solana/kit';
import { sql } from 'kysely';
import type { Db } from '../db.ts';
import { type NonWallet, selectNonWallets } from '../non-wallets.ts';
import { prepare } from '../prepare.ts';

/** A recipient that stopped a batch of a project, before or during its execution. */
export interface HeldRecipient {
  readonly address: Address;
  /** Batch that it stopped last. */
  readonly batchId: string;
  /** Reason as a sentence. */
  readonly reason: string;
  readonly heldAt: Date;
}

export async function holdRecipients(db: Db, projectId: string, held: readonly HeldRecipient[]): Promise<void> {
  if (held.length === 0) return;
  // Sorted, so that two transactions lock the rows in the same order.
  const rows = held
    .map(({ address, batchId, reason, heldAt }) => ({
      project_id: projectId,
      address,
      batch_id: batchId,
      reason,
      held_at: heldAt,
    }))
    .sort((a, b) => (a.address < b.address ? -1 : 1));
  await db
    .insertInto('held_recipients')
    .values(rows)
    .onConflict((conflict) =>
      conflict.columns(['project_id', 'address']).doUpdateSet((eb) => ({
        batch_id: eb.ref('excluded.batch_id'),
        reason: eb.ref('excluded.reason'),
        held_at: eb.ref('excluded.held_at'),
      })),
    )
    .execute();
}

/** Releases the recipients among these addresses that are held. */
export async function releaseRecipients(db: Db, projectId: string, addresses: readonly Address[]): Promise<void> {
  if (addresses.length === 0) return;
  await db
    .deleteFrom('held_recipients')
    .where('project_id', '=', projectId)
    .where(sql<boolean>`address = any(${addresses}::text[])`)
    .execute();
}

/** Facts about recipients, by address. */
export interface KnownRecipients {
  readonly nonWallets: ReadonlyMap<Address, NonWallet['kind']>;
  readonly held: ReadonlyMap<Address, HeldRecipient>;
}

interface AskedRecipients {
  readonly projectId: string;
  readonly addresses: readonly Address[];
  readonly since: Date;
}

/** Finds what `findNonWallets` and `findHeldRecipients` find, in one statement. */
export async function findKnownRecipients(db: Db, asked: AskedRecipients): Promise<KnownRecipients> {
  const rows = asked.addresses.length === 0 ? [] : await selectKnown(db, asked);
  const nonWallets = new Map<Address, NonWallet['kind']>();
  const held = new Map<Address, HeldRecipient>();
  for (const { address, kind, ...hold } of rows) {
    if (kind === null) held.set(address, { address, ...hold });
    else nonWallets.set(address, kind);
  }
  return { nonWallets, held };
}

/** A held recipient, or an address that is not a wallet, with its kind. */
type KnownRow = HeldRecipient & { readonly kind: NonWallet['kind'] | null };

const selectKnown = prepare<AskedRecipients, KnownRow>((_db, slot) => {
  const addresses = sql`${slot('addresses')}::text[]`;
  return sql`
    select address, null as kind, batch_id as "batchId", reason, held_at as "heldAt" from held_recipients
    where project_id = ${slot('projectId')} and held_at > ${slot('since')} and address = any(${addresses})
    union all select address, kind, null, null, null from (${selectNonWallets(addresses)}) as non_wallets
  `;
});

/** Finds the recipients among these addresses that were held after `since`. */
export async function findHeldRecipients(
  db: Db,
  projectId: string,
  addresses: readonly Address[],
  since: Date,
): Promise<ReadonlyMap<Address, HeldRecipient>> {
  const rows = await db
    .selectFrom('held_recipients')
    .select(['address', 'batch_id', 'reason', 'held_at'])
    .where('project_id', '=', projectId)
    .where('held_at', '>', since)
    .where(sql<boolean>`address = any(${addresses}::text[])`)
    .execute();
  return new Map(
    rows.map(({ address, batch_id: batchId, reason, held_at: heldAt }) => [
      address,
      { address, batchId, reason, heldAt },
    ]),
  );
}
