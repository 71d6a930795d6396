import { programConfigAddress, SQUADS_PROGRAM_ADDRESS, type UnsignedMessage } from '@flywheel/squads';
import {
  type AccountMeta,
  type Address,
  address,
  appendTransactionMessageInstructions,
  compileTransaction,
  createTransactionMessage,
  type EncodedAccount,
  generateKeyPairSigner,
  getAddressEncoder,
  getTransactionSize,
  getTransactionSizeLimit,
  type Instruction,
  type KeyPairSigner,
  lamports,
  partiallySignTransaction,
  setTransactionMessageFeePayer,
  type Transaction,
} from '@solana/kit';
import { getCreateAccountInstruction } from '@solana-program/system';
import {
  findAssociatedTokenPda,
  getCreateAssociatedTokenIdempotentInstruction,
  getInitializeMint2Instruction,
  getMintToInstruction,
  getTokenDecoder,
  TOKEN_PROGRAM_ADDRESS,
} from '@solana-program/token';
import { FailedTransactionMetadata, LiteSVM } from 'litesvm';
import type { Multisig, Project, Token } from '../../src/model/project.ts';
import { registrationInstructions } from '../../src/squads/registration.ts';

/** Missing without the real program, whose licence keeps it out of the repository. */
export const squadsProgramPath =
  process.env.FLYWHEEL_SQUADS_PROGRAM === 'emulation' ? undefined : process.env.FLYWHEEL_SQUADS_PROGRAM;

/** Reason to skip, for node:test's `skip`; false if the program is there. */
export const withoutSquads = squadsProgramPath
  ? false
  : 'FLYWHEEL_SQUADS_PROGRAM names no file of the deployed Squads v4 program';

export interface Landed {
  readonly bytes: number;
  readonly units: bigint;
  readonly logs: readonly string[];
}

export interface Cluster {
  readonly svm: LiteSVM;
  readonly operator: KeyPairSigner;
  readonly company: KeyPairSigner;
  readonly wallet: KeyPairSigner;
  readonly mintAuthority: KeyPairSigner;
  readonly treasury: Address;
  readonly decimals: number;
}

/** Opens LiteSVM with the deployed Squads program and SOL for everyone. */
export async function openCluster(): Promise<Cluster> {
  const svm = new LiteSVM().withTransactionHistory(0n);
  if (squadsProgramPath) svm.addProgramFromFile(SQUADS_PROGRAM_ADDRESS, squadsProgramPath);
  const [operator, company, wallet, mintAuthority] = await Promise.all([
    generateKeyPairSigner(),
    generateKeyPairSigner(),
    generateKeyPairSigner(),
    generateKeyPairSigner(),
  ]);
  const treasury = mintAuthority.address;
  for (const signer of [operator, company, wallet, mintAuthority]) {
    svm.airdrop(signer.address, lamports(1_000_000_000_000n));
  }
  svm.setAccount(await programConfig(treasury));
  svm.warpToSlot(10n);
  return { svm, operator, company, wallet, mintAuthority, treasury, decimals: 6 };
}

/** Creates a mint of SPL Token or, by its program, of Token-2022 without extensions. */
export async function createToken(cluster: Cluster, programAddress: Address = TOKEN_PROGRAM_ADDRESS): Promise<Token> {
  const { svm, mintAuthority, decimals } = cluster;
  const mint = await generateKeyPairSigner();
  const space = 82n;
  await land(
    cluster,
    mintAuthority,
    [mint],
    [
      getCreateAccountInstruction({
        payer: mintAuthority,
        newAccount: mint,
        lamports: svm.minimumBalanceForRentExemption(space),
        space,
        programAddress,
      }),
      getInitializeMint2Instruction(
        { mint: mint.address, decimals, mintAuthority: mintAuthority.address },
        { programAddress },
      ),
    ],
  );
  return { id: 'token', mint: mint.address, decimals, programAddress };
}

/** Lands the registration transaction, which creates the multisig and its frozen lookup table. */
export async function register(
  cluster: Cluster,
  token: Token,
): Promise<{ multisig: Multisig; createKey: Address; landed: Landed }> {
  const { svm, wallet, company, operator, treasury } = cluster;
  const createKey = await generateKeyPairSigner();
  const { instructions, multisig } = await registrationInstructions({
    wallet: wallet.address,
    createKey: createKey.address,
    company: company.address,
    operator: operator.address,
    recovery: null,
    treasury,
    token,
    recentSlot: takeSlot(svm),
  });
  const landed = await land(cluster, wallet, [createKey], [...computeBudget(), ...instructions]);
  // A lookup table can be used from the slot after its last extension.
  svm.warpToSlot(svm.getClock().slot + 2n);
  return { multisig, createKey: createKey.address, landed };
}

/** Deposits SOL and tokens into the vault. */
export async function fundVault(cluster: Cluster, { vault }: Multisig, token: Token, amountBaseUnits: bigint) {
  cluster.svm.airdrop(vault, lamports(10_000_000_000n));
  await mintTo(cluster, token, vault, amountBaseUnits);
}

export async function mintTo(cluster: Cluster, token: Token, owner: Address, amountBaseUnits: bigint): Promise<void> {
  const { mintAuthority } = cluster;
  const { mint, programAddress } = token;
  const [ata] = await findAssociatedTokenPda({ owner, mint, tokenProgram: programAddress });
  await land(
    cluster,
    mintAuthority,
    [],
    [
      getCreateAssociatedTokenIdempotentInstruction({
        payer: mintAuthority,
        ata,
        owner,
        mint,
        tokenProgram: programAddress,
      }),
      getMintToInstruction({ mint, token: ata, mintAuthority, amount: amountBaseUnits }, { programAddress }),
    ],
  );
}

export async function tokenBalance({ svm }: Cluster, token: Token, owner: Address): Promise<bigint> {
  const [ata] = await findAssociatedTokenPda({ owner, mint: token.mint, tokenProgram: token.programAddress });
  const account = svm.getAccount(ata);
  return account.exists ? getTokenDecoder().decode(account.data).amount : 0n;
}

export function projectOf(token: Token, multisig: Multisig): Pick<Project, 'token' | 'flywheel'> {
  return { token, flywheel: { id: 'flywheel', multisig } };
}

export function readAccount({ svm }: Cluster, account: Address): EncodedAccount {
  const read = svm.getAccount(account);
  if (!read.exists) throw new Error(`Account ${account} does not exist.`);
  return read;
}

/** Signs and runs instructions in a v0 transaction; throws with its logs if it fails. */
export async function land(
  cluster: Cluster,
  payer: KeyPairSigner,
  signers: readonly KeyPairSigner[],
  instructions: readonly Instruction[],
): Promise<Landed> {
  const message = setTransactionMessageFeePayer(payer.address, createTransactionMessage({ version: 0 }));
  return landMessage(cluster, [payer, ...signers], appendTransactionMessageInstructions(instructions, message));
}

export async function landMessage(
  cluster: Cluster,
  signers: readonly KeyPairSigner[],
  message: UnsignedMessage,
): Promise<Landed> {
  const { svm } = cluster;
  svm.expireBlockhash();
  const transaction = compileTransaction(svm.setTransactionMessageLifetimeUsingLatestBlockhash(message));
  return landTransaction(
    cluster,
    await partiallySignTransaction(
      signers.map(({ keyPair }) => keyPair),
      transaction,
    ),
  );
}

export function landTransaction({ svm }: Cluster, transaction: Transaction): Landed {
  const [bytes, maxBytes] = [getTransactionSize(transaction), getTransactionSizeLimit(transaction)];
  if (bytes > maxBytes) throw new Error(`The transaction has ${bytes} bytes of ${maxBytes}.`);
  const result = svm.sendTransaction(transaction);
  if (result instanceof FailedTransactionMetadata) {
    throw new Error(`${result.toString()}\n${result.meta().logs().join('\n')}`);
  }
  return { bytes, units: result.computeUnitsConsumed(), logs: result.logs() };
}

/** Instructions of every real transaction: a limit, a price, and the largest heap. */
export function computeBudget(): Instruction[] {
  const programAddress = address('ComputeBudget111111111111111111111111111111');
  return [
    { programAddress, data: Uint8Array.of(2, ...u32(1_400_000)) },
    { programAddress, data: Uint8Array.of(3, ...u32(1_000), ...u32(0)) },
  ];
}

export function plain(accounts: readonly AccountMeta[] = []): AccountMeta[] {
  return accounts.map(({ address: account, role }) => ({ address: account, role }));
}

/** Takes a slot of its own for each registration: two of one wallet in one slot would have the same lookup table. */
function takeSlot(svm: LiteSVM): bigint {
  const [latest] = svm.getSlotHashes();
  if (!latest) throw new Error('SlotHashes is empty.');
  const { slot } = svm.getClock();
  svm.setSlotHashes([{ slot, hash: latest.hash }]);
  svm.warpToSlot(slot + 1n);
  return slot;
}

async function programConfig(treasury: Address): Promise<EncodedAccount> {
  const treasuryBytes = getAddressEncoder().encode(treasury);
  const bytes = Uint8Array.of(
    ...[196, 210, 90, 231, 144, 149, 140, 63],
    ...treasuryBytes,
    ...new Uint8Array(8),
    ...treasuryBytes,
    ...new Uint8Array(64),
  );
  return {
    address: programConfigAddress(),
    programAddress: SQUADS_PROGRAM_ADDRESS,
    data: bytes,
    executable: false,
    lamports: lamports(10_000_000n),
    space: BigInt(bytes.length),
  };
}

function u32(value: number): number[] {
  return [value & 255, (value >> 8) & 255, (value >> 16) & 255, (value >> 24) & 255];
}
