import { registrationInstructions } from '@flywheel/service/internal/squads/registration.ts';
import {
  DISCRIMINATOR_BYTES,
  decodeProgramConfig,
  getMultisigCreateV2Instruction,
  type Member,
  type MultisigCreateV2Args,
  multisigCreateV2ArgsDecoder,
  PERMISSION,
  programConfigAddress,
} from '@flywheel/squads';
import {
  type AccountLookupMeta,
  type AccountMeta,
  AccountRole,
  type Address,
  appendTransactionMessageInstructions,
  type Blockhash,
  compileTransaction,
  createNoopSigner,
  createTransactionMessage,
  fetchEncodedAccount,
  generateKeyPairSigner,
  getAddressEncoder,
  getBase64EncodedWireTransaction,
  type Instruction,
  type KeyPairSigner,
  partiallySignTransaction,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
} from '@solana/kit';
import { getSetComputeUnitPriceInstruction } from '@solana-program/compute-budget';
import {
  getAdvanceNonceAccountInstruction,
  getAssignInstruction,
  getTransferSolInstruction,
} from '@solana-program/system';
import { findAssociatedTokenPda, getApproveInstruction, TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import type { World } from './world.ts';

/** The facts that a lying service has at hand when it forges a registration. */
export interface ForgedRegistration {
  readonly wallet: Address;
  readonly mint: Address;
  readonly stranger: Address;
  readonly operator: Address;
  readonly company: Address;
  readonly multisig: Address;
  readonly createKey: Address;
  readonly treasury: Address;
  /** Creates the multisig; creates, fills and freezes the lookup table. */
  readonly instructions: readonly Instruction[];
}

export interface RegistrationLie {
  readonly name: string;
  /** The answer of the verification. */
  readonly expected: RegExp;
  readonly forge: (honest: ForgedRegistration) => Promise<readonly Instruction[]> | readonly Instruction[];
  /** True if the chain would accept the transaction: only the verification saves the wallet. */
  readonly lands: boolean;
}

/** Lies about the transaction itself: what a service could make of it, one by one. */
export const REGISTRATION_LIES: readonly RegistrationLie[] = [
  {
    name: 'takes SOL from the wallet at the end',
    expected: /Instruction 5 is not part of a registration: System transfers 0\.9 SOL to/,
    forge: ({ instructions, wallet, stranger }) => [...instructions, takeSol(wallet, stranger)],
    lands: true,
  },
  {
    name: 'takes SOL from the wallet at the start',
    expected: /Its first instruction does not create a multisig/,
    forge: ({ instructions, wallet, stranger }) => [takeSol(wallet, stranger), ...instructions],
    lands: true,
  },
  {
    name: 'takes SOL and creates nothing',
    expected: /Its first instruction does not create a multisig/,
    forge: ({ wallet, stranger, createKey }) => [
      withAccounts(takeSol(wallet, stranger), (accounts) => [
        ...accounts,
        { address: createKey, role: AccountRole.READONLY_SIGNER },
      ]),
    ],
    lands: true,
  },
  {
    name: 'pays all SOL of the wallet as a priority fee',
    expected: /Instruction 5 is not part of a registration: ComputeBudget1+ is called/,
    // 200,000 compute units an instruction at most; the price is in micro-lamports.
    forge: ({ instructions }) => [...instructions, computePrice(1_000_000_000n)],
    lands: true,
  },
  {
    name: 'gives the wallet’s account to a program',
    expected: /Instruction 5 is not part of a registration: System is called/,
    forge: ({ instructions, wallet, stranger }) => [
      ...instructions,
      getAssignInstruction({ account: createNoopSigner(wallet), programAddress: stranger }),
    ],
    lands: false,
  },
  {
    name: 'lets a stranger spend the wallet’s tokens',
    expected: /Instruction 5 is not part of a registration: Token is called/,
    forge: async ({ instructions, wallet, mint, stranger }) => {
      const [source] = await findAssociatedTokenPda({ owner: wallet, mint, tokenProgram: TOKEN_PROGRAM_ADDRESS });
      const owner = createNoopSigner(wallet);
      return [...instructions, getApproveInstruction({ source, delegate: stranger, owner, amount: 2n ** 64n - 1n })];
    },
    lands: false,
  },
  {
    name: 'advances a nonce of the wallet',
    expected: /Its first instruction does not create a multisig/,
    forge: ({ instructions, wallet, stranger }) => [
      getAdvanceNonceAccountInstruction({ nonceAccount: stranger, nonceAuthority: createNoopSigner(wallet) }),
      ...instructions,
    ],
    lands: false,
  },
  {
    name: 'adds a third voter',
    expected: /The members of the multisig must be your wallet/,
    forge: (honest) => withMultisig(honest, ({ members }) => ({ members: [...members, voter(honest.stranger)] })),
    lands: true,
  },
  {
    name: 'adds two proposers beside the operator',
    expected: /The members of the multisig must be your wallet/,
    forge: (honest) =>
      withMultisig(honest, ({ members }) => ({
        members: [...members, proposer(honest.stranger), proposer(honest.multisig)],
      })),
    lands: true,
  },
  {
    name: 'names the wallet twice',
    expected: /The members of the multisig must be your wallet/,
    forge: (honest) => withMultisig(honest, ({ members }) => ({ members: [...members, voter(honest.wallet)] })),
    lands: false,
  },
  {
    name: 'gives two voters of its own the multisig',
    expected: /The members of the multisig must be your wallet/,
    forge: (honest) =>
      withMultisig(honest, ({ members }) => ({
        members: members.map((member) => (member.key === honest.wallet ? voter(honest.stranger) : member)),
      })),
    lands: true,
  },
  {
    name: 'lets the operator vote',
    expected: /The members of the multisig must be your wallet .* \(initiate, vote, execute\)/,
    forge: (honest) =>
      withMultisig(honest, ({ members }) => ({
        members: members.map((member) =>
          member.key === honest.operator ? { ...member, permissions: { mask: 7 } } : member,
        ),
      })),
    lands: true,
  },
  {
    name: 'lets the company propose and execute alone',
    expected: /The members of the multisig must be your wallet .* \(initiate, vote, execute\)/,
    forge: (honest) =>
      withMultisig(honest, ({ members }) => ({
        members: members.map((member) =>
          member.key === honest.company ? { ...member, permissions: { mask: 7 } } : member,
        ),
      })),
    lands: true,
  },
  {
    name: 'needs one vote',
    expected: /The multisig would need 1 votes, not 2/,
    forge: (honest) => withMultisig(honest, () => ({ threshold: 1 })),
    lands: true,
  },
  {
    name: 'has a config authority',
    expected: /alone could change the multisig/,
    forge: (honest) => withMultisig(honest, () => ({ configAuthority: honest.stranger })),
    lands: true,
  },
  {
    name: 'has a time lock',
    expected: /The multisig would execute only 7776000 s after the votes/,
    forge: (honest) => withMultisig(honest, () => ({ timeLock: 7_776_000 })),
    lands: true,
  },
  {
    name: 'collects the rent for a stranger',
    expected: /The rent of ended batches would go to/,
    forge: (honest) => withMultisig(honest, () => ({ rentCollector: honest.stranger })),
    lands: true,
  },
  {
    name: 'collects no rent',
    expected: /The rent of ended batches would go to no address/,
    forge: (honest) => withMultisig(honest, () => ({ rentCollector: null })),
    lands: true,
  },
  {
    name: 'pays a fee to a stranger instead of Squads',
    expected: /Instruction 1 does not create the multisig as a registration does/,
    forge: (honest) => withMultisig(honest, () => ({ treasury: honest.stranger })),
    lands: false,
  },
  {
    name: 'writes a memo into the creation',
    expected: /Instruction 1 does not create the multisig as a registration does/,
    forge: (honest) => withMultisig(honest, () => ({ memo: new TextEncoder().encode('hello') })),
    lands: true,
  },
  {
    name: 'leaves the lookup table open for changes',
    expected: /Instruction 4 is missing; it must freeze the lookup table/,
    forge: ({ instructions }) => instructions.slice(0, 3),
    lands: true,
  },
  {
    name: 'fills the lookup table with other addresses',
    expected: /Instruction 3 does not fill the lookup table as a registration does/,
    forge: ({ instructions, stranger }) =>
      instructions.map((each, position) => (position === 2 ? withLastAddress(each, stranger) : each)),
    lands: true,
  },
  {
    name: 'makes a stranger the table’s authority',
    expected: /Instruction 2 does not create the lookup table as a registration does/,
    forge: ({ instructions, stranger }) =>
      instructions.map((each, position) => (position === 1 ? withAuthority(each, stranger) : each)),
    lands: false,
  },
  {
    name: 'leaves out the lookup table',
    expected: /Its second instruction does not create a lookup table/,
    forge: ({ instructions }) => instructions.slice(0, 1),
    lands: true,
  },
];

/** Parts of a registration that a service answers. */
export interface ServedRegistration {
  readonly createKey: KeyPairSigner;
  readonly lookupTable: Address;
  readonly transaction: string;
  readonly multisig: Address;
  readonly vaultAddress: Address;
}

export interface ForgeOptions {
  readonly wallet: Address;
  readonly mint: Address;
  readonly stranger: Address;
  /** The company’s address. */
  readonly company: Address;
  /** None by default. */
  readonly recovery?: Address;
  /** Gives the multisig its address; a new key by default. */
  readonly createKey?: KeyPairSigner;
  /** Replaces the cluster’s latest blockhash. */
  readonly blockhash?: Blockhash;
}

/** Builds a registration as the service does, changed by a lie, and signs it with the multisig's own key. */
export async function forgeRegistration(
  { rpc, operator }: Pick<World, 'rpc' | 'operator'>,
  { wallet, mint, stranger, company, recovery, createKey: givenKey, blockhash }: ForgeOptions,
  forge: RegistrationLie['forge'] = ({ instructions }) => instructions,
): Promise<ServedRegistration> {
  const createKey = givenKey ?? (await generateKeyPairSigner());
  const config = await fetchEncodedAccount(rpc, programConfigAddress());
  if (!config.exists) throw new Error('The Squads program has no configuration.');
  const { treasury } = decodeProgramConfig(config);
  const [{ value: latest }, recentSlot, mintAccount] = await Promise.all([
    rpc.getLatestBlockhash().send(),
    rpc.getSlot({ commitment: 'finalized' }).send(),
    fetchEncodedAccount(rpc, mint),
  ]);
  const { instructions, multisig } = await registrationInstructions({
    ...{ wallet, company, treasury, recentSlot },
    createKey: createKey.address,
    operator: operator.address,
    recovery: recovery ?? null,
    token: { mint, programAddress: mintAccount.exists ? mintAccount.programAddress : TOKEN_PROGRAM_ADDRESS },
  });
  const forged = await forge({
    ...{ wallet, mint, stranger, company, treasury, instructions },
    operator: operator.address,
    multisig: multisig.address,
    createKey: createKey.address,
  });
  const lifetime = blockhash === undefined ? latest : { ...latest, blockhash };
  const message = setTransactionMessageLifetimeUsingBlockhash(
    lifetime,
    appendTransactionMessageInstructions(
      forged,
      setTransactionMessageFeePayer(wallet, createTransactionMessage({ version: 0 })),
    ),
  );
  const signed = await partiallySignTransaction([createKey.keyPair], compileTransaction(message));
  return {
    transaction: getBase64EncodedWireTransaction(signed),
    createKey,
    lookupTable: multisig.lookupTable.address,
    multisig: multisig.address,
    vaultAddress: multisig.vault,
  };
}

function takeSol(wallet: Address, stranger: Address): Instruction {
  return getTransferSolInstruction({
    source: createNoopSigner(wallet),
    destination: stranger,
    amount: 900_000_000n,
  });
}

function computePrice(microLamports: bigint): Instruction {
  return getSetComputeUnitPriceInstruction({ microLamports });
}

function voter(key: Address): Member {
  return { key, permissions: { mask: PERMISSION.vote } };
}

function proposer(key: Address): Member {
  return { key, permissions: { mask: PERMISSION.initiate | PERMISSION.execute } };
}

async function withMultisig(
  { instructions, treasury, multisig, createKey, wallet }: ForgedRegistration,
  change: (args: MultisigCreateV2Args) => Partial<MultisigCreateV2Args> & { readonly treasury?: Address },
): Promise<readonly Instruction[]> {
  const [create, ...others] = instructions;
  const args = multisigCreateV2ArgsDecoder.decode(create?.data ?? new Uint8Array(), DISCRIMINATOR_BYTES);
  const accounts = { programConfig: programConfigAddress(), treasury, multisig, createKey, creator: wallet };
  return [getMultisigCreateV2Instruction({ ...accounts, ...args, ...change(args) }), ...others];
}

function withAuthority(instruction: Instruction, authority: Address): Instruction {
  return withAccounts(instruction, (accounts) =>
    accounts.map((meta, place) => (place === 1 ? { ...meta, address: authority } : meta)),
  );
}

function withAccounts(
  { accounts = [], ...instruction }: Instruction,
  change: (accounts: readonly (AccountMeta | AccountLookupMeta)[]) => readonly (AccountMeta | AccountLookupMeta)[],
): Instruction {
  return { ...instruction, accounts: change(accounts) };
}

/** Replaces the last of the addresses with which a lookup table is extended. */
function withLastAddress(instruction: Instruction, replacement: Address): Instruction {
  const data = Buffer.from(instruction.data ?? []);
  data.set(getAddressEncoder().encode(replacement), data.length - 32);
  return { ...instruction, data };
}
