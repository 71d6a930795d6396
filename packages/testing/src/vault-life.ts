import { seededRandom } from '@flywheel/localnet';
import { TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import { TOKEN_2022_PROGRAM_ADDRESS } from '@solana-program/token-2022';
import { addressNamed, type SyntheticVault } from './synthetic-vault.ts';
import { create, DISHONEST_DEEDS, DUST } from './vault-attacks.ts';
import { openBooks, type VaultBooks } from './vault-books.ts';
import { HONEST_DEEDS, rest } from './vault-deeds.ts';
import { type DeedContext, DISHONEST_PIPELINES, HONEST_PIPELINES } from './vault-pipelines.ts';

export interface LifeOptions {
  readonly seed: number;
  /** Fewest transactions of the vault and those who take from it. */
  readonly transactions: number;
  /** Transactions of strangers besides them. */
  readonly dust: number;
  /** True for a vault from which nothing goes out without a proof, and whose every executed event is published. */
  readonly isHonest?: boolean;
}

/**
 * Gives a new vault a long life at random: every kind of deed in a shuffled row, again and again, among the dust of strangers.
 * Equal seeds give equal lives. @returns the books, which an audit must find again.
 */
export function liveAtRandom(
  vault: SyntheticVault,
  { seed, transactions, dust, isHonest = false }: LifeOptions,
): VaultBooks {
  const random = seededRandom(seed);
  const books = openBooks(vault);
  const pipelines = isHonest ? HONEST_PIPELINES : [...HONEST_PIPELINES, ...HONEST_PIPELINES, ...DISHONEST_PIPELINES];
  let count = 0;
  const number = () => {
    count += 1;
    return count;
  };
  const context: DeedContext = {
    ...{ vault, books, random, number, isHonest, batches: [], nextPipeline: dealer(pipelines, random) },
    second: addressNamed('second tokens'),
    seizable: { account: addressNamed('seizable tokens'), mint: addressNamed('seizable mint') },
    amount: () => BigInt(1 + Math.floor(random() * 1_000)),
    takeAccount: () => {
      const taken = {
        account: addressNamed(`account ${number()}`),
        mint: addressNamed(`mint ${number()}`),
        amount: 99n,
      };
      create(context, taken);
      return taken;
    },
  };
  endow(context);
  const nextDeed = dealer(isHonest ? HONEST_DEEDS : [...HONEST_DEEDS, ...DISHONEST_DEEDS], random);
  const nextDust = dealer(DUST, random);
  const share = dust / (dust + transactions);
  for (let done = { deeds: 0, dust: 0 }; done.deeds < transactions || done.dust < dust; ) {
    const isDust = done.deeds >= transactions || (done.dust < dust && random() < share);
    const before = books.size();
    (isDust ? nextDust() : nextDeed())(context);
    const landed = books.size() - before;
    done = isDust ? { ...done, dust: done.dust + landed } : { ...done, deeds: done.deeds + landed };
  }
  return books.close();
}

/** The first deposits, which last for a life, and a token account of Token-2022. */
function endow({ vault, books, second, seizable }: DeedContext): void {
  const plenty = 10n ** 12n;
  books.land([], { lamports: { [vault.vault]: plenty }, named: [vault.vault] }, [rest(null, plenty)]);
  create({ vault, books }, { account: second, mint: vault.mint, amount: plenty });
  const theirs = { [vault.strangerTokens]: { mint: vault.mint, owner: vault.stranger, amount: plenty } };
  books.land([], { opened: theirs, named: [vault.strangerTokens, TOKEN_PROGRAM_ADDRESS] });
  const deposit = { account: vault.tokens, mint: vault.mint, amount: plenty };
  create({ vault, books }, deposit);
  const opened = {
    [seizable.account]: {
      ...{ mint: seizable.mint, owner: vault.vault, amount: plenty, program: TOKEN_2022_PROGRAM_ADDRESS },
    },
  };
  books.land([], { opened, named: [seizable.account, TOKEN_2022_PROGRAM_ADDRESS] }, [rest(seizable.mint, plenty)]);
}

/** Gives the items of a list in random order, all of them before one comes again. */
function dealer<Item>(items: readonly Item[], random: () => number): () => Item {
  let left: Item[] = [];
  return () => {
    if (left.length === 0) left = [...items];
    const [item] = left.splice(Math.floor(random() * left.length), 1);
    if (item === undefined) throw new Error('There is nothing to choose from.');
    return item;
  };
}
