/** What is needed of something that a vault holds, base units or lamports. */
export interface Balance {
  readonly needed: bigint;
  readonly available: bigint;
  /** What to deposit; 0 when there is enough. */
  readonly missing: bigint;
}

/** What is held against what is needed. */
export function balance(needed: bigint, available: bigint): Balance {
  return { needed, available, missing: needed > available ? needed - available : 0n };
}

/**
 * A system account without bytes must hold this much or nothing: rent for its 128 bytes of metadata. After each pipeline
 * that is not the last the vault still holds the rent of those to come, which is more.
 */
export const MIN_VAULT_LAMPORTS = 890_880n;

/** Of a vault that is to spend so many lamports: what it must keep besides is needed too, unless just nothing is left. */
export function lamportBalance(spentLamports: bigint, availableLamports: bigint): Balance {
  const leftLamports = availableLamports - spentLamports;
  // A vault that pays nothing may hold anything.
  const isLeftWhole = spentLamports === 0n || leftLamports === 0n || leftLamports >= MIN_VAULT_LAMPORTS;
  return isLeftWhole
    ? balance(spentLamports, availableLamports)
    : balance(spentLamports + MIN_VAULT_LAMPORTS, availableLamports);
}
