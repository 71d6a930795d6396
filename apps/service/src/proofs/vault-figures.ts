import { ApiError } from '@flywheel/api';
import { isAddress, plainSymbol, toDecimal } from '@flywheel/protocol';
import type { Clock } from '../model/clock.ts';
import type { TokenNames } from '../solana/token-names.ts';
import { findLastFinalProof } from '../store/batches/proofs.ts';
import type { Db } from '../store/db.ts';
import { sumFinalBurns } from '../store/projects/daily-limits.ts';
import { findVaults } from '../store/projects/projects.ts';

/** What badge and widget show of a vault: figures that no fork can change. */
export interface VaultFigures {
  readonly vault: string;
  readonly mint: string;
  /** Of the token, in plain characters; null if it has none. */
  readonly symbol: string | null;
  /** Whole tokens, decimal. */
  readonly burned: string;
  /** Null before the first one. */
  readonly lastProof: {
    readonly type: string;
    /** Lowercase hex. */
    readonly hash: string;
    readonly at: Date;
    /** Null for batches of older releases. */
    readonly signature: string | null;
  } | null;
}

export interface FiguresDeps {
  readonly db: Db;
  readonly clock: Pick<Clock, 'now'>;
  readonly tokenNames: TokenNames;
}

/** Figures are read again after this time; an unknown address is looked for again after it too. */
export const FRESH_MS = 60_000;
/** Bounds the memory of vaults, and again of other addresses: above it the oldest answers are forgotten. */
const MAX_REMEMBERED = 5_000;
/** A read takes three short statements, and the pool has connections for other work as well. */
const MAX_AT_ONCE = 4;

/**
 * Creates a reader whose cost strangers cannot raise: an answer is kept for a minute, everybody who asks meanwhile shares one
 * read, and at most four reads run at once in this process. An answer that is older is better than none: it is given again
 * while another read is refused.
 * @returns reads the figures of an address; `admit` is called before the database is asked, and throws to refuse that.
 * @throws ApiError ERR_VAULT_NOT_FOUND, ERR_TOO_MANY_AT_ONCE, and what `admit` throws.
 */
export function createFiguresReader(deps: FiguresDeps): (address: string, admit: () => void) => Promise<VaultFigures> {
  const vaults = createMemory<VaultFigures>(deps.clock);
  // Apart from the vaults, so that guessed addresses push none of them out.
  const others = createMemory<null>(deps.clock);
  const running = new Map<string, Promise<VaultFigures | null>>();
  const read = async (address: string) => {
    const figures = await readFigures(deps, address);
    if (figures === null) others.put(address, null);
    else vaults.put(address, figures);
    return figures;
  };
  const find = async (address: string, admit: () => void) => {
    const known = vaults.get(address);
    if (known?.isFresh) return known.value;
    if (others.get(address)?.isFresh) return null;
    const joined = running.get(address);
    if (joined) return joined;
    try {
      admit();
      if (running.size >= MAX_AT_ONCE) {
        throw new ApiError('ERR_TOO_MANY_AT_ONCE', { work: 'reads of vaults', max: MAX_AT_ONCE, retryAfterSeconds: 1 });
      }
    } catch (refusal) {
      if (known) return known.value;
      throw refusal;
    }
    const started = read(address).finally(() => running.delete(address));
    running.set(address, started);
    return started;
  };
  return async (address, admit) => {
    const figures = isAddress(address) ? await find(address, admit) : null;
    if (figures === null)
      throw new ApiError('ERR_VAULT_NOT_FOUND', { address: address.slice(0, MAX_NAMED_CHARACTERS) });
    return figures;
  };
}

/** An address has 44 characters at most; what a stranger sends instead is cut off. */
const MAX_NAMED_CHARACTERS = 44;

/** Remembers answers by address, with the time at which they were read. */
function createMemory<Value>({ now }: Pick<Clock, 'now'>) {
  /** The newest stands last. */
  const entries = new Map<string, { readonly value: Value; readonly readAtMs: number }>();
  return {
    get(address: string): { readonly value: Value; readonly isFresh: boolean } | null {
      const entry = entries.get(address);
      return entry ? { value: entry.value, isFresh: now().getTime() - entry.readAtMs < FRESH_MS } : null;
    },
    put(address: string, value: Value): void {
      entries.delete(address);
      entries.set(address, { value, readAtMs: now().getTime() });
      for (const [oldest] of entries) {
        if (entries.size <= MAX_REMEMBERED) break;
        entries.delete(oldest);
      }
    },
  };
}

async function readFigures({ db, tokenNames }: FiguresDeps, address: string): Promise<VaultFigures | null> {
  const [known] = isAddress(address) ? await findVaults(db, [address]) : [];
  if (!known) return null;
  const { vault, projectId, token } = known;
  const [burned, proof, names] = await Promise.all([
    sumFinalBurns(db, projectId),
    findLastFinalProof(db, projectId),
    tokenNames.of([token.mint]),
  ]);
  return {
    vault,
    mint: token.mint,
    symbol: plainSymbol(names.get(token.mint)?.symbol),
    burned: toDecimal(burned, token.decimals),
    lastProof: proof && {
      type: proof.type,
      hash: proof.hash,
      at: proof.endedAt,
      signature: proof.signatures[0] ?? null,
    },
  };
}
