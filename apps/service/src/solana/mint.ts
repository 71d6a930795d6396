import {
  describeFreezeRisk,
  NATIVE_MINT_2022_ADDRESS,
  NATIVE_MINT_ADDRESS,
  TOKEN_ACCOUNT_TYPE,
} from '@flywheel/protocol';
import { type Address, isSome, type Option, unwrapOption } from '@solana/kit';
import { SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import { getMintDecoder, getMintSize, getTokenSize, TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import {
  AccountState,
  type Extension,
  getMintDecoder as getMint2022Decoder,
  TOKEN_2022_PROGRAM_ADDRESS,
} from '@solana-program/token-2022';
import type { Chain, ChainAccount } from './chain.ts';

export interface MintFacts {
  readonly decimals: number;
  /** SPL Token or Token-2022. */
  readonly programAddress: Address;
  readonly supply: bigint;
  /** Name and symbol from metadata inside the mint. Its authority chose them: do not trust them. */
  readonly name?: string;
  readonly symbol?: string;
  /** A sentence for each power over the vault’s tokens that someone else holds. */
  readonly warnings: readonly string[];
}

/** Reason why the service cannot work with an address as a mint. It follows the words `Mint <address>`. */
export interface MintProblem {
  readonly problem: string;
}

/**
 * Bytes that are read of a mint. Its extensions take 1 KiB at most, apart from its metadata, of which one transaction can
 * write 4 KiB at most.
 */
export const MAX_MINT_BYTES = 16 * 1_024;

/**
 * Reads a mint. It rejects wrapped SOL, which cannot be burned, and extensions that change or prevent an airdrop, or prevent
 * a burn, and warns of powers with which that could happen later.
 */
export async function readMint(chain: Pick<Chain, 'accounts'>, mint: Address): Promise<MintFacts | MintProblem> {
  if (mint === NATIVE_MINT_ADDRESS || mint === NATIVE_MINT_2022_ADDRESS) {
    return { problem: 'is wrapped SOL, which cannot be burned.' };
  }
  const [account] = await chain.accounts([mint], { maxBytes: MAX_MINT_BYTES });
  return parseMint(account);
}

/** Parses a mint like `readMint`, but takes wrapped SOL as any other. The first `MAX_MINT_BYTES` of an account are enough. */
export function parseMint(account: ChainAccount | null | undefined): MintFacts | MintProblem {
  if (!account) return { problem: 'does not exist on this cluster.' };
  switch (account.programAddress) {
    case TOKEN_PROGRAM_ADDRESS:
      return account.space === BigInt(getMintSize()) ? factsOf(account, []) : NO_MINT;
    case TOKEN_2022_PROGRAM_ADDRESS:
      return factsOfMint2022(account);
    default:
      return { problem: `is not a mint: it belongs to the program ${account.programAddress}.` };
  }
}

const NO_MINT: MintProblem = { problem: 'is not a mint: it is another account of the token program.' };

function factsOfMint2022(account: ChainAccount): MintFacts | MintProblem {
  const { data, space } = account;
  if (data.length === getMintSize()) return factsOf(account, []);
  if (data[getTokenSize()] !== TOKEN_ACCOUNT_TYPE.mint) return NO_MINT;
  if (space > MAX_MINT_BYTES) {
    return {
      problem: `has ${space} bytes; this service reads mints of at most ${MAX_MINT_BYTES}. Shorten its metadata.`,
    };
  }
  let extensions: readonly Extension[];
  try {
    extensions = unwrapOption(getMint2022Decoder().decode(data).extensions) ?? [];
  } catch {
    // An extension newer than the client: its effect on a transfer is unknown.
    return { problem: 'has an extension that this service does not know.' };
  }
  const issues = extensions.flatMap((extension) => issueOf(extension) ?? []);
  return issues.length > 0 ? { problem: issues.join(' It ') } : factsOf(account, extensions);
}

function factsOf({ data, programAddress }: ChainAccount, extensions: readonly Extension[]): MintFacts | MintProblem {
  // Both programs share the first 82 bytes.
  const { decimals, supply, isInitialized, freezeAuthority } = getMintDecoder().decode(data);
  if (!isInitialized) return { problem: 'is not initialized.' };
  const metadata = extensions.find((extension) => extension.__kind === 'TokenMetadata');
  return {
    decimals,
    programAddress,
    supply,
    ...(metadata && { name: metadata.name, symbol: metadata.symbol }),
    warnings: [
      ...(isSome(freezeAuthority) ? [describeFreezeRisk(freezeAuthority.value)] : []),
      ...extensions.flatMap((extension) => warning(extension) ?? []),
    ],
  };
}

/** Why an extension rules a mint out, or null. */
function issueOf(extension: Extension): string | null {
  switch (extension.__kind) {
    case 'TransferHook':
      return isSet(extension.programId)
        ? `has a transfer hook, ${extension.programId}: transfers need accounts that only the hook knows.`
        : null;
    case 'NonTransferable':
      return 'is non-transferable: nothing can be airdropped.';
    case 'DefaultAccountState':
      return extension.state === AccountState.Frozen
        ? 'freezes new token accounts: airdrops to new recipients cannot arrive.'
        : null;
    case 'TransferFeeConfig': {
      const { olderTransferFee: older, newerTransferFee: newer } = extension;
      const basisPoints = Math.max(older.transferFeeBasisPoints, newer.transferFeeBasisPoints);
      return basisPoints > 0
        ? `takes a transfer fee of ${basisPoints} basis points, so recipients would receive less than was sent.`
        : null;
    }
    case 'PausableConfig':
      return extension.paused ? 'is paused: neither transfers nor burns are possible.' : null;
    case 'ConfidentialMintBurn':
      return 'mints and burns confidentially only: plain burns are refused.';
    case 'PermissionedBurn':
      return isPresent(extension.authority) ? 'burns only with the signature of its burn authority.' : null;
    default:
      return null;
  }
}

/** Describes what an extension lets another party do; null if nothing that matters. */
function warning(extension: Extension): string | null {
  switch (extension.__kind) {
    case 'PermanentDelegate':
      return isSet(extension.delegate)
        ? `Its permanent delegate ${extension.delegate} can move or burn the vault’s tokens.`
        : null;
    case 'TransferHook':
      return isSet(extension.authority) ? `Its authority ${extension.authority} can set a transfer hook.` : null;
    case 'TransferFeeConfig':
      return isSet(extension.transferFeeConfigAuthority)
        ? `Its authority ${extension.transferFeeConfigAuthority} can set a transfer fee.`
        : null;
    case 'PausableConfig':
      return isSome(extension.authority) ? `Its authority ${extension.authority.value} can pause it.` : null;
    case 'InterestBearingConfig':
    case 'ScaledUiAmountConfig':
      return 'Wallets show scaled amounts of it; this service uses the unscaled ones.';
    default:
      return null;
  }
}

/** Detects an absent address, which the program stores as zeros, like the system program’s address. */
function isSet(address: Address): boolean {
  return address !== SYSTEM_PROGRAM_ADDRESS;
}

function isPresent(address: Option<Address>): boolean {
  return isSome(address) && isSet(address.value);
}
