import { MIN_VAULT_LAMPORTS } from '@flywheel/protocol';

/** A needed amount compared with a vault's balance, in base units or lamports. */
export interface Balance {
  readonly needed: bigint;
  readonly available: bigint;
  /** Amount to deposit; 0 if the balance is sufficient. */
  readonly missing: bigint;
}

/** Compares a needed amount with a balance. */
export function balance(needed: bigint, available: bigint): Balance {
  return { needed, available, missing: needed > available ? needed - available : 0n };
}

/** Compares lamports to spend with a vault's balance. The minimum that it must keep counts as needed, unless it ends at 0. */
export function lamportBalance(spentLamports: bigint, availableLamports: bigint): Balance {
  const leftLamports = availableLamports - spentLamports;
  // A vault that pays nothing may hold any amount.
  const isLeftWhole = spentLamports === 0n || leftLamports === 0n || leftLamports >= MIN_VAULT_LAMPORTS;
  return isLeftWhole
    ? balance(spentLamports, availableLamports)
    : balance(spentLamports + MIN_VAULT_LAMPORTS, availableLamports);
}
