import {
  type Address,
  address,
  getAddressDecoder,
  getStructDecoder,
  getU8Decoder,
  getU32Decoder,
  getU64Decoder,
  type ReadonlyUint8Array,
} from '@solana/kit';
import { decodeMultisig, decodeProposal } from './accounts.ts';
import { batchAddress, proposalAddress } from './addresses.ts';
import { startsWith } from './discriminators.ts';
import { SQUADS_PROGRAM } from './programs.ts';
import { type ChainAccount, readAccounts } from './read-accounts.ts';

export interface RotationOnChain {
  readonly multisig: ReturnType<typeof decodeMultisig>;
  readonly proposal: ReturnType<typeof decodeProposal>;
  /** Every change of the multisig that an approval lets happen, in order. */
  readonly changes: readonly MemberChange[];
}

/** What a config transaction changes; `other` is whatever has no part in replacing a member, and all behind it. */
export type MemberChange =
  | { readonly kind: 'add'; readonly member: Address; readonly permissions: number }
  | { readonly kind: 'remove'; readonly member: Address }
  | { readonly kind: 'other'; readonly number: number };

/**
 * Reads from the chain what a proposal would change of its multisig.
 * @throws Error when any part of it is missing, or the proposal is about no such change.
 */
export async function readRotation(
  rpcUrl: string,
  { multisig, batchIndex }: { readonly multisig: string; readonly batchIndex: string },
): Promise<RotationOnChain> {
  const [owner, index] = [address(multisig), BigInt(batchIndex)];
  const places = [owner, await proposalAddress(owner, index), await batchAddress(owner, index)];
  const [multisigAccount, proposalAccount, transactionAccount] = await readAccounts(rpcUrl, places);
  return {
    multisig: decodeMultisig(multisigAccount ?? null),
    proposal: decodeProposal(proposalAccount ?? null),
    changes: changesIn(bodyOf(transactionAccount ?? null)),
  };
}

/** Anchor’s discriminator: the first eight bytes of SHA-256("account:ConfigTransaction"). */
const CONFIG_TRANSACTION = [94, 8, 4, 35, 113, 139, 139, 112];
const DISCRIMINATOR_BYTES = 8;

function bodyOf(account: ChainAccount | null): ReadonlyUint8Array {
  if (!account) throw new Error('The change of the multisig is not on chain.');
  if (account.owner !== SQUADS_PROGRAM || !startsWith(account.data, CONFIG_TRANSACTION)) {
    throw new Error(`${account.address} is no change of a Squads multisig.`);
  }
  return account.data;
}

const headDecoder = getStructDecoder([
  ['multisig', getAddressDecoder()],
  ['creator', getAddressDecoder()],
  ['index', getU64Decoder()],
  ['bump', getU8Decoder()],
  ['changeCount', getU32Decoder()],
]);

/** The program’s own numbers for what it may change. */
const [ADD_MEMBER, REMOVE_MEMBER] = [0, 1];

function changesIn(bytes: ReadonlyUint8Array): MemberChange[] {
  const [{ changeCount }, start] = headDecoder.read(bytes, DISCRIMINATOR_BYTES);
  const changes: MemberChange[] = [];
  let at = start;
  while (changes.length < changeCount) {
    const [number, next] = getU8Decoder().read(bytes, at);
    if (number !== ADD_MEMBER && number !== REMOVE_MEMBER) return [...changes, { kind: 'other', number }];
    const [member, behind] = getAddressDecoder().read(bytes, next);
    if (number === REMOVE_MEMBER) {
      changes.push({ kind: 'remove', member });
      at = behind;
      continue;
    }
    const [permissions, end] = getU8Decoder().read(bytes, behind);
    changes.push({ kind: 'add', member, permissions });
    at = end;
  }
  return changes;
}
