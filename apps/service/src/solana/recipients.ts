import { isTokenProgram, TOKEN_ACCOUNT_TYPE } from '@flywheel/protocol';
import { type Address, unwrapOption } from '@solana/kit';
import { AccountState, getMintSize, getMultisigSize, getTokenDecoder, getTokenSize } from '@solana-program/token';
import { getTokenDecoder as getToken2022Decoder, TOKEN_2022_PROGRAM_ADDRESS } from '@solana-program/token-2022';
import type { Token } from '../model/project.ts';
import type { Chain, ChainAccount } from './chain.ts';

export interface Recipient {
  /** Address that receives tokens; it should be a wallet. */
  readonly owner: Address;
  /** The owner’s associated token account. */
  readonly tokenAccount: Address;
}

export interface RecipientFacts {
  readonly owner: OwnerKind;
  readonly tokenAccount: TokenAccountState;
}

/** Kind of account at a recipient's address. Only the chain shows it: any account may be on the curve. */
export type OwnerKind =
  | { readonly kind: 'wallet' }
  | { readonly kind: 'mint' | 'program' }
  | { readonly kind: 'token account'; readonly owner: Address };

export type TokenAccountState =
  | { readonly state: 'missing' | 'usable' | 'frozen' | 'demands memos' }
  /** The account's owner was changed to another address, which would receive the transfer. */
  | { readonly state: 'given away'; readonly owner: Address };

/** Bytes that are read of a recipient’s account. A token account with every extension of Token-2022 has fewer than 600. */
const MAX_TOKEN_ACCOUNT_BYTES = 1_024;

/** Reads what the chain holds at recipients’ addresses, in their order, at commitment `confirmed`. */
export async function readRecipients(
  chain: Pick<Chain, 'accounts'>,
  { programAddress }: Pick<Token, 'programAddress'>,
  recipients: readonly Recipient[],
): Promise<readonly RecipientFacts[]> {
  const accounts = await chain.accounts(
    recipients.flatMap(({ owner, tokenAccount }) => [owner, tokenAccount]),
    { maxBytes: MAX_TOKEN_ACCOUNT_BYTES },
  );
  return recipients.map(({ owner }, i) => ({
    owner: ownerKind(accounts[2 * i] ?? null),
    tokenAccount: tokenAccountState(accounts[2 * i + 1] ?? null, { owner, programAddress }),
  }));
}

function ownerKind(account: ChainAccount | null): OwnerKind {
  if (account?.executable) return { kind: 'program' };
  if (account === null || !isTokenProgram(account.programAddress)) return { kind: 'wallet' };
  const { data, space } = account;
  // A multisig of the token program may own tokens. No token account or mint has its size.
  if (space === BigInt(getMultisigSize())) return { kind: 'wallet' };
  if (space === BigInt(getMintSize()) || data[getTokenSize()] === TOKEN_ACCOUNT_TYPE.mint) return { kind: 'mint' };
  // Anyone can assign a wallet to a token program. Its data then are zeros of any length, and it still receives tokens.
  if (space < getTokenSize()) return { kind: 'wallet' };
  return { kind: 'token account', owner: getTokenDecoder().decode(data).owner };
}

function tokenAccountState(
  account: ChainAccount | null,
  { owner: meant, programAddress }: { readonly owner: Address; readonly programAddress: Address },
): TokenAccountState {
  // Lamports that were sent before leave an account of the system program: the token account must still be created.
  if (account?.programAddress !== programAddress) return { state: 'missing' };
  const { owner, state } = getTokenDecoder().decode(account.data);
  if (owner !== meant) return { state: 'given away', owner };
  if (state === AccountState.Frozen) return { state: 'frozen' };
  return { state: demandsMemos(account) ? 'demands memos' : 'usable' };
}

/** Extensions of Token-2022 follow the 165 bytes that both programs share. */
function demandsMemos({ programAddress, data }: ChainAccount): boolean {
  if (programAddress !== TOKEN_2022_PROGRAM_ADDRESS || data.length <= getTokenSize()) return false;
  try {
    const extensions = unwrapOption(getToken2022Decoder().decode(data).extensions) ?? [];
    return extensions.some((found) => found.__kind === 'MemoTransfer' && found.requireIncomingTransferMemos);
  } catch {
    // An extension that the client does not know: the simulation of the transfer shows its effect.
    return false;
  }
}
