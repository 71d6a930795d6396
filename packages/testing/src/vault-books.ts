import { type Proof, proofHash } from '@flywheel/protocol';
import type { Address, Instruction } from '@solana/kit';
import { TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import { TOKEN_2022_PROGRAM_ADDRESS } from '@solana-program/token-2022';
import type { Effects, SyntheticCall, SyntheticVault } from './synthetic-vault.ts';

/** The findings of an audit in one transaction. Amounts are lamports or base units; `mint` is null for SOL. */
export type Finding =
  | { readonly kind: 'pipeline'; readonly type: string | null; readonly hash: string | null; readonly batch: string }
  | { readonly kind: 'rotation'; readonly changes: string | null }
  | { readonly kind: 'foreign'; readonly discriminator: string }
  | {
      readonly kind: 'burned' | 'airdropped' | 'withdrawn' | 'rent' | 'deposited' | 'unexplained';
      readonly mint: string | null;
      readonly amountBaseUnits: bigint;
      readonly to: string | null;
      readonly type: string | null;
    };

export type BookedFinding = Finding & { readonly slot: number; readonly signature: string };

/** The history of a vault as the generator of its transactions knows it. */
export interface VaultBooks {
  /** Number of all transactions, also of those that no audit can know of. */
  readonly landed: number;
  readonly findings: readonly BookedFinding[];
  /** Transactions that an audit reads: successful ones, those of them that moved and executed nothing, and failed ones. */
  readonly transactions: { readonly read: number; readonly idle: number; readonly failed: number };
  /** Lines of a file of events. */
  readonly events: readonly string[];
  readonly proven: number;
  /** Numbers of the lines whose events have no proof. */
  readonly unproven: readonly number[];
  /** Proofs of no event, and the older ones of events that were paid again. */
  readonly unmatched: readonly { readonly signature: string; readonly type: string; readonly hash: string }[];
  /**
   * The gaps of an audit if a node has deleted all before a slot: for each account that holds something in the end, the slots
   * up to the oldest transaction left that could have changed it. Every account must have held something then.
   */
  oldestFrom(slot: number): readonly { readonly account: string; readonly fromSlot: 0; readonly toSlot: number }[];
}

/** Books that are being kept. Every transaction of the vault's life must go through `land`. */
export interface OpenBooks {
  /** Lands a transaction, and writes down what an audit must find in it. @returns the signature. */
  land(calls: readonly SyntheticCall[], effects?: Effects, findings?: readonly Finding[]): string;
  /** Number of transactions so far. */
  size(): number;
  /** Publishes an event. */
  publish(event: Proof): void;
  /** Publishes a merged payload, which is no event. */
  publishMerged(merged: Proof): void;
  /** A transaction has proven a published event. */
  prove(event: Proof, signature: string): void;
  /** A transaction has proven what was not published. */
  proveOther(other: Proof, signature: string): void;
  /** A published event that is proven. */
  provenEvent(choice: number): Proof | undefined;
  close(): VaultBooks;
}

export function openBooks(vault: SyntheticVault): OpenBooks {
  const landed: {
    readonly accounts: ReadonlySet<string>;
    readonly hasFailed: boolean;
    readonly isIdle: boolean;
    readonly slot: number;
  }[] = [
    // The creation of the multisig.
    { accounts: new Set([vault.multisig]), hasFailed: false, isIdle: true, slot: vault.slot() },
  ];
  const findings: BookedFinding[] = [];
  /** Position of the last transaction before or after which the vault owned a token account. */
  const lastOwned = new Map<string, number>([[vault.tokens, Infinity]]);
  const lines: string[] = [];
  const lineOf = new Map<string, number>();
  const proofs = new Map<string, { readonly event: Proof; readonly signature: string }>();
  const unmatched: VaultBooks['unmatched'][number][] = [];

  const isRead = ({ accounts }: (typeof landed)[number], position: number) =>
    accounts.has(vault.vault) ||
    accounts.has(vault.multisig) ||
    [...accounts].some((account) => (lastOwned.get(account) ?? -1) >= position);
  const follow = ({ opened = {}, owners = {}, closed = [] }: Effects) => {
    const gone = [...closed, ...Object.keys(owners).filter((account) => owners[account] !== vault.vault)];
    for (const account of gone) if (lastOwned.get(account) === Infinity) lastOwned.set(account, landed.length);
    const owned = [
      ...Object.entries(owners),
      ...Object.entries(opened).map(([account, { owner }]) => [account, owner]),
    ];
    for (const [account = '', owner] of owned) if (owner === vault.vault) lastOwned.set(account, Infinity);
  };

  return {
    land: (calls, effects = {}, found = []) => {
      const signature = vault.land(calls, effects);
      const instructions: readonly Instruction[] = calls.flatMap(({ instruction, inner = [] }) => [
        instruction,
        ...inner,
      ]);
      const named = instructions.flatMap(({ programAddress, accounts = [] }): Address[] => [
        programAddress,
        ...accounts.map(({ address }) => address),
      ]);
      if (!effects.hasFailed) follow(effects);
      landed.push({
        accounts: new Set([...named, ...(effects.named ?? [])]),
        slot: vault.slot(),
        hasFailed: effects.hasFailed ?? false,
        isIdle: found.every(({ kind }) => kind === 'rotation' || kind === 'foreign'),
      });
      for (const finding of found) findings.push({ slot: vault.slot(), signature, ...finding });
      return signature;
    },
    size: () => landed.length,
    publish: (event) => {
      lines.push(JSON.stringify(event));
      lineOf.set(proofHash(event), lines.length);
    },
    publishMerged: (merged) => void lines.push(JSON.stringify(merged)),
    prove: (event, signature) => {
      const hash = proofHash(event);
      const older = proofs.get(hash);
      if (older) unmatched.push({ signature: older.signature, type: event.type, hash });
      proofs.set(hash, { event, signature });
    },
    proveOther: (other, signature) => void unmatched.push({ signature, type: other.type, hash: proofHash(other) }),
    provenEvent: (choice) => [...proofs.values()][Math.floor(choice * proofs.size)]?.event,
    close: () => {
      const read = landed.filter(isRead);
      const successful = read.filter(({ hasFailed }) => !hasFailed);
      const idle = successful.filter(({ isIdle }) => isIdle).length;
      return {
        ...{ landed: landed.length, findings, events: lines, unmatched, proven: proofs.size },
        transactions: { read: successful.length, idle, failed: read.length - successful.length },
        oldestFrom: (slot) =>
          [vault.vault, vault.multisig, ...lastOwned.keys()].map((account) => {
            const oldest = successful.find(
              ({ accounts, slot: at }) =>
                at >= slot && accounts.has(account) && (!lastOwned.has(account) || hasTokens(accounts)),
            );
            return { account, fromSlot: 0, toSlot: oldest?.slot ?? vault.slot() };
          }),
        unproven: [...lineOf].filter(([hash]) => !proofs.has(hash)).map(([, line]) => line),
      };
    },
  };
}

/** Only a token program changes a token account. */
function hasTokens(accounts: ReadonlySet<string>): boolean {
  return accounts.has(TOKEN_PROGRAM_ADDRESS) || accounts.has(TOKEN_2022_PROGRAM_ADDRESS);
}
