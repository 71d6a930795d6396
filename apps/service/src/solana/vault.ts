import { type Address, unwrapOption } from '@solana/kit';
import { getTokenDecoder, getTokenSize, TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import {
  type Extension,
  type ExtensionArgs,
  getMintDecoder,
  getTokenSize as getToken2022Size,
  TOKEN_2022_PROGRAM_ADDRESS,
} from '@solana-program/token-2022';
import type { Token } from '../model/project.ts';
import type { Chain, ChainAccount } from './chain.ts';
import { MAX_MINT_BYTES, parseMint } from './mint.ts';

export interface VaultAccounts {
  readonly vault: Address;
  readonly token: Pick<Token, 'mint' | 'programAddress'>;
  /** The vault’s token account of this mint. */
  readonly tokenAccount: Address;
  readonly recipientTokenAccounts: readonly Address[];
}

export interface VaultFunds {
  readonly lamports: bigint;
  readonly tokenBaseUnits: bigint;
  /** Reason why a registration would refuse the mint as it is now. It follows the words `Mint <address>`. */
  readonly mintProblem: string | null;
  /** Missing token accounts of recipients, each once. */
  readonly missingTokenAccounts: readonly MissingTokenAccount[];
}

export interface MissingTokenAccount {
  readonly address: Address;
  /** Lamports that its creator pays: the rent minus what the address already holds. */
  readonly creationLamports: bigint;
}

/**
 * Reads a vault's balances, and the cost of each recipient's missing token account, at commitment `confirmed`. A mint that is
 * closed or has changed is a problem for airdrops only: a withdrawal of SOL needs none.
 * @throws Error if the vault’s token account is of another mint.
 */
export async function readVaultFunds(
  chain: Pick<Chain, 'accounts' | 'minimumBalanceForRentExemption'>,
  accounts: VaultAccounts,
): Promise<VaultFunds> {
  const { vault, token, tokenAccount, recipientTokenAccounts } = accounts;
  const recipients = [...new Set(recipientTokenAccounts)];
  const [vaultAccount, mintAccount, ownTokenAccount, ...found] = await chain.accounts(
    [vault, token.mint, tokenAccount, ...recipients],
    { maxBytes: MAX_MINT_BYTES },
  );
  const rentLamports = await chain.minimumBalanceForRentExemption(tokenAccountBytes(token, mintAccount));
  const mint = parseMint(mintAccount);
  return {
    lamports: vaultAccount?.lamports ?? 0n,
    tokenBaseUnits: ownTokenAccount ? balanceOf(ownTokenAccount, token) : 0n,
    mintProblem: 'problem' in mint ? mint.problem : null,
    missingTokenAccounts: recipients.flatMap((address, i) =>
      isTokenAccount(found[i], token)
        ? []
        : [{ address, creationLamports: atLeastZero(rentLamports - (found[i]?.lamports ?? 0n)) }],
    ),
  };
}

/** Lists those of recipients' token accounts, each once, that must be created, at commitment `confirmed`. */
export async function findMissingTokenAccounts(
  chain: Pick<Chain, 'accounts'>,
  token: VaultAccounts['token'],
  recipientTokenAccounts: readonly Address[],
): Promise<Address[]> {
  const recipients = [...new Set(recipientTokenAccounts)];
  const found = await chain.accounts(recipients, { maxBytes: 0 });
  return recipients.filter((_, i) => !isTokenAccount(found[i], token));
}

/** Lamports that were sent before leave an account of the system program: the token account must still be created. */
function isTokenAccount(account: ChainAccount | null | undefined, token: VaultAccounts['token']): boolean {
  return account?.programAddress === token.programAddress;
}

function atLeastZero(lamports: bigint): bigint {
  return lamports > 0n ? lamports : 0n;
}

function balanceOf(account: ChainAccount, token: VaultAccounts['token']): bigint {
  if (account.programAddress !== token.programAddress) return 0n;
  // Both programs share a token account's first 165 bytes.
  const { mint, amount } = getTokenDecoder().decode(account.data);
  if (mint !== token.mint)
    throw new Error(`Token account ${account.address} is of mint ${mint}, not of ${token.mint}.`);
  return amount;
}

/** Computes the size of an associated token account of a mint. Token-2022 adds an immutable owner to each. */
function tokenAccountBytes({ programAddress }: VaultAccounts['token'], mint: ChainAccount | null | undefined): number {
  if (programAddress === TOKEN_PROGRAM_ADDRESS) return getTokenSize();
  const ofMint = mint && readExtensions(mint);
  // A mint that is closed, or that cannot be read, counts as one with all of them: the estimate is not too low.
  const required = ofMint ? ofMint.flatMap(({ __kind }) => REQUIRED[__kind] ?? []) : Object.values(REQUIRED);
  return getToken2022Size([{ __kind: 'ImmutableOwner' }, ...required]);
}

/** Reads the extensions of a Token-2022 mint; null for what is no such mint, or larger than what is read of it. */
function readExtensions({ programAddress, data, space }: ChainAccount): readonly Extension[] | null {
  if (programAddress !== TOKEN_2022_PROGRAM_ADDRESS || space > MAX_MINT_BYTES) return null;
  try {
    return unwrapOption(getMintDecoder().decode(data).extensions) ?? [];
  } catch {
    // Another account at the address of a closed mint, or an extension newer than the client.
    return null;
  }
}

/** Extension that a mint’s extension adds to each of its token accounts (Token-2022, get_required_init_account_extensions). */
const REQUIRED: { readonly [K in Extension['__kind']]?: ExtensionArgs } = {
  TransferFeeConfig: { __kind: 'TransferFeeAmount', withheldAmount: 0n },
  NonTransferable: { __kind: 'NonTransferableAccount' },
  TransferHook: { __kind: 'TransferHookAccount', transferring: false },
  PausableConfig: { __kind: 'PausableAccount' },
};
