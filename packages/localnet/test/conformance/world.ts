import type { Address, KeyPairSigner } from '@solana/kit';
import {
  findAddressLookupTablePda,
  getCreateLookupTableInstructionAsync,
  getExtendLookupTableInstruction,
} from '@solana-program/address-lookup-table';
import {
  getAdvanceNonceAccountInstruction,
  getCreateAccountInstruction,
  getInitializeNonceAccountInstruction,
  getTransferSolInstruction,
} from '@solana-program/system';
import {
  findAssociatedTokenPda,
  getApproveInstruction,
  getCreateAssociatedTokenIdempotentInstruction,
  getInitializeMint2Instruction,
  getMintToInstruction,
  getTransferCheckedInstruction,
  TOKEN_PROGRAM_ADDRESS,
} from '@solana-program/token';
import { TOKEN_2022_PROGRAM_ADDRESS } from '@solana-program/token-2022';
import { bankSigner } from '../../src/bank.ts';
import { resultOf, type Target, waitFor } from './client.ts';
import type { Roles } from './normalise.ts';
import {
  awaitCommitment,
  computeUnitLimit,
  computeUnitPrice,
  keyOf,
  land,
  memo,
  readBlockhash,
  signWire,
  type Wire,
} from './transactions.ts';

export const SOL = 1_000_000_000n;
/** Rent of an account without data, of a mint, a token account, a nonce account (solana-rent). */
export const RENT = { wallet: 890_880n, mint: 1_461_600n, nonce: 1_447_680n } as const;
/** Limits that version 1 does not set by itself. */
export const V1_LIMITS = { computeUnitLimit: 10_000, loadedAccountsDataSizeLimit: 1_000_000 } as const;
export const TOKENS = 1_000_000n;

/** The chain that the script asks about; everything is finalized. */
export interface World {
  readonly target: Target;
  readonly roles: Roles;
  readonly keys: Readonly<Record<Key, KeyPairSigner>>;
  readonly addresses: Readonly<Record<'token' | 'token2022' | 'recipientToken' | 'table' | 'nowhere', Address>>;
  /** Transactions that have landed, by what is in them. */
  readonly landed: Readonly<Record<Landed, Wire>>;
  /** Slots of the transactions, and of the first one of the script. */
  readonly slots: Readonly<Record<Landed | 'first', bigint>>;
  /** A blockhash that was the newest one when the script began. */
  readonly oldBlockhash: string;
}

const KEYS = ['sender', 'recipient', 'poor', 'delegate', 'mint', 'mint2022', 'nonce', 'stranger', 'newcomer'] as const;
export type Key = (typeof KEYS)[number];
const LANDED = ['legacy', 'v0', 'v1', 'failed', 'withoutRent', 'token', 'nonce', 'priority', 'token2022'] as const;
export type Landed = (typeof LANDED)[number];

/**
 * Makes the accounts and transactions of the script on a new cluster, whose bank has all lamports. A cluster on which the
 * script has run before has them already.
 */
export async function prepareWorld(target: Target): Promise<World> {
  const roles: Roles = new Map();
  const keys = await nameKeys(roles);
  const { sender, mint, mint2022, recipient } = keys;
  const oldBlockhash = await readBlockhash(target, roles);
  const tokenOf = async (owner: Address, of: Address, tokenProgram: Address) =>
    (await findAssociatedTokenPda({ owner, mint: of, tokenProgram }))[0];
  const token = await tokenOf(sender.address, mint.address, TOKEN_PROGRAM_ADDRESS);
  const token2022 = await tokenOf(sender.address, mint2022.address, TOKEN_2022_PROGRAM_ADDRESS);
  const recipientToken = await tokenOf(recipient.address, mint.address, TOKEN_PROGRAM_ADDRESS);
  const first = await fund(target, roles, keys);
  await createTokens(target, roles, keys, { token, token2022 });
  const table = await createTable(target, roles, keys);
  const nowhere = (await keyOf('nowhere')).address;
  const addresses = { token, token2022, recipientToken, table, nowhere };
  for (const [role, address] of Object.entries(addresses)) roles.set(address, role);
  const { landed, slots } = await landAll(target, roles, keys, addresses);
  return { target, roles, keys, addresses, landed, slots: { ...slots, first }, oldBlockhash };
}

async function nameKeys(roles: Roles): Promise<World['keys']> {
  const entries = await Promise.all(KEYS.map(async (key) => [key, await keyOf(key)] as const));
  for (const [key, { address }] of entries) roles.set(address, key);
  roles.set((await bankSigner()).address, 'bank');
  return Object.fromEntries(entries) as Record<Key, KeyPairSigner>; // one for each of KEYS
}

async function fund(target: Target, roles: Roles, { sender, poor, nonce }: World['keys']): Promise<bigint> {
  const bank = await bankSigner();
  const give = (destination: Address, amount: bigint) =>
    getTransferSolInstruction({ source: bank, destination, amount });
  const blockhash = await readBlockhash(target, roles);
  const wire = await signWire(
    bank,
    [
      give(sender.address, 10n * SOL),
      give(poor.address, RENT.wallet),
      getCreateAccountInstruction({
        payer: bank,
        newAccount: nonce,
        lamports: RENT.nonce,
        space: 80,
        programAddress: '11111111111111111111111111111111' as Address,
      }),
      getInitializeNonceAccountInstruction({ nonceAccount: nonce.address, nonceAuthority: sender.address }),
    ],
    { blockhash },
  );
  return land(target, wire, 'confirmed');
}

async function createTokens(
  target: Target,
  roles: Roles,
  { sender, delegate, mint, mint2022 }: World['keys'],
  { token, token2022 }: Pick<World['addresses'], 'token' | 'token2022'>,
): Promise<void> {
  const bank = await bankSigner();
  const create = (newMint: KeyPairSigner, account: Address, programAddress: Address) => [
    getCreateAccountInstruction({ payer: bank, newAccount: newMint, lamports: RENT.mint, space: 82, programAddress }),
    getInitializeMint2Instruction(
      { mint: newMint.address, decimals: 6, mintAuthority: bank.address, freezeAuthority: sender.address },
      { programAddress },
    ),
    getCreateAssociatedTokenIdempotentInstruction({
      payer: bank,
      ata: account,
      owner: sender.address,
      mint: newMint.address,
      tokenProgram: programAddress,
    }),
    getMintToInstruction(
      { mint: newMint.address, token: account, mintAuthority: bank, amount: 5n * TOKENS },
      { programAddress },
    ),
  ];
  const blockhash = await readBlockhash(target, roles);
  const approve = getApproveInstruction({ source: token, delegate: delegate.address, owner: sender, amount: 7n });
  const instructions = [...create(mint, token, TOKEN_PROGRAM_ADDRESS), approve];
  await land(target, await signWire(bank, instructions, { blockhash }), 'confirmed');
  const other = create(mint2022, token2022, TOKEN_2022_PROGRAM_ADDRESS);
  await land(target, await signWire(bank, other, { blockhash }), 'confirmed');
}

/** Creates a lookup table and waits until it can be used. */
async function createTable(target: Target, roles: Roles, { recipient, sender }: World['keys']): Promise<Address> {
  const bank = await bankSigner();
  // The program looks the slot up among the hashes of earlier ones.
  const recentSlot = await awaitSlotAfter(target, 0n, 'confirmed');
  const [table] = await findAddressLookupTablePda({ authority: bank.address, recentSlot });
  const addresses = [recipient.address, sender.address];
  const wire = await signWire(
    bank,
    [
      await getCreateLookupTableInstructionAsync({ authority: bank.address, payer: bank, recentSlot }),
      getExtendLookupTableInstruction({ address: table, authority: bank, payer: bank, addresses }),
    ],
    { blockhash: await readBlockhash(target, roles) },
  );
  const slot = await land(target, wire, 'confirmed');
  await awaitSlotAfter(target, slot, 'confirmed');
  return table;
}

/** Waits until the newest slot of a commitment is after another one, and returns it. */
function awaitSlotAfter(target: Target, earlier: bigint, commitment: string): Promise<bigint> {
  return waitFor(target, `a slot after ${earlier} is ${commitment}`, async () => {
    const slot = BigInt(Number(await resultOf(target, 'getSlot', [{ commitment }])));
    return slot > earlier ? slot : null;
  });
}

/**
 * Lands the transactions of the script one after another, so that their balances are the same in each run, and each in a
 * block of its own.
 */
async function landAll(target: Target, roles: Roles, keys: World['keys'], addresses: World['addresses']) {
  const { sender, recipient, newcomer, mint, mint2022, nonce } = keys;
  const { token, token2022, recipientToken, table } = addresses;
  const give = (amount: bigint, destination = recipient.address) =>
    getTransferSolInstruction({ source: sender, destination, amount });
  const tables = { [table]: [recipient.address, sender.address] };
  const blockhash = await readBlockhash(target, roles);
  const nonceValue = await readNonce(target, roles, nonce.address);
  const advance = getAdvanceNonceAccountInstruction({ nonceAccount: nonce.address, nonceAuthority: sender });
  const owner = recipient.address;
  const createToken = getCreateAssociatedTokenIdempotentInstruction({
    payer: sender,
    ata: recipientToken,
    owner,
    mint: mint.address,
  });
  const tokenTransfer = { amount: TOKENS, decimals: 6, authority: sender };
  const sendToken = { ...tokenTransfer, source: token, mint: mint.address, destination: recipientToken };
  const sendToken2022 = { ...tokenTransfer, source: token2022, mint: mint2022.address, destination: token2022 };
  const wires: Readonly<Record<Landed, Wire>> = {
    legacy: await signWire(sender, [give(SOL), memo('a memo'), memo('another')], { version: 'legacy', blockhash }),
    v0: await signWire(sender, [give(2n)], { blockhash, tables }),
    v1: await signWire(sender, [give(3n)], {
      version: 1,
      blockhash,
      config: { ...V1_LIMITS, priorityFeeLamports: 11n },
    }),
    failed: await signWire(sender, [memo('it fails'), give(100n * SOL)], { blockhash }),
    withoutRent: await signWire(sender, [give(4n, newcomer.address)], { blockhash }),
    token: await signWire(sender, [createToken, getTransferCheckedInstruction(sendToken)], { blockhash }),
    nonce: await signWire(sender, [advance, give(5n)], { blockhash: nonceValue }),
    priority: await signWire(sender, [computeUnitLimit(1_000), computeUnitPrice(2_000_000n), give(6n)], { blockhash }),
    token2022: await signWire(
      sender,
      [getTransferCheckedInstruction(sendToken2022, { programAddress: TOKEN_2022_PROGRAM_ADDRESS })],
      { blockhash },
    ),
  };
  const slots: [string, bigint][] = [];
  for (const name of LANDED) {
    const wire = wires[name];
    roles.set(wire.signature, `signature of ${name}`);
    const slot = await land(target, wire, 'processed');
    slots.push([name, slot]);
    await awaitSlotAfter(target, slot, 'processed');
  }
  const last = wires.token2022.signature;
  await awaitCommitment(target, last, 'finalized');
  await readNonce(target, roles, nonce.address, 'next nonce value');
  return { landed: wires, slots: Object.fromEntries(slots) as Record<Landed, bigint> }; // one for each of LANDED
}

/** Reads the value of a nonce account and names it. */
async function readNonce(target: Target, roles: Roles, nonce: Address, role = 'nonce value'): Promise<string> {
  const config = { commitment: 'confirmed', encoding: 'jsonParsed' };
  const result = await resultOf(target, 'getAccountInfo', [nonce, config]);
  const { blockhash } = (result as NonceAccount).value.data.parsed.info; // the documented shape
  roles.set(blockhash, role);
  return blockhash;
}

interface NonceAccount {
  readonly value: { readonly data: { readonly parsed: { readonly info: { readonly blockhash: string } } } };
}
