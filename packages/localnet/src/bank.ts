import { createHash, randomBytes } from 'node:crypto';
import { associatedTokenAddress, MAX_BLOCKHASH_AGE } from '@flywheel/protocol';
import {
  type Address,
  appendTransactionMessageInstructions,
  type Blockhash,
  createKeyPairSignerFromPrivateKeyBytes,
  createTransactionMessage,
  generateKeyPairSigner,
  getBlockhashDecoder,
  getTransactionEncoder,
  type Instruction,
  type KeyPairSigner,
  pipe,
  type Signature,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
} from '@solana/kit';
import { getCreateAccountInstruction, getTransferSolInstruction, SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import {
  getCreateAssociatedTokenIdempotentInstruction,
  getInitializeMint2Instruction,
  getMintSize,
  getMintToInstruction,
  TOKEN_PROGRAM_ADDRESS,
} from '@solana-program/token';
import { TOKEN_2022_PROGRAM_ADDRESS } from '@solana-program/token-2022';
import type { Ledger } from './ledger/ledger.ts';
import { parseWireTransaction, type WireTransaction } from './wire/wire-transaction.ts';

/** Recent airdrops among which equal ones get different blockhashes. */
const REMEMBERED_AIRDROPS = 10_000;

/** Reports that the bank could not carry out a request; the message has the reason. */
export class BankError extends Error {
  override readonly name = 'BankError';
}

/** Sends lamports and tokens to anyone, from a wallet that pays for everything. */
export interface Bank {
  /** Transfers lamports. @throws BankError if the transaction fails */
  airdrop(recipient: Address, amountLamports: bigint): Promise<Signature>;
  /** Creates a mint whose authority is the bank. */
  createMint(decimals: number, token2022: boolean): Promise<Address>;
  /** Mints to the recipient's associated token account, creating it. @throws BankError unless the bank made the mint */
  mintTo(mint: Address, recipient: Address, amountBaseUnits: bigint): Promise<Address>;
}

/** Returns the bank's key. It is public: anyone who reaches a local cluster may take any amount. */
export function bankSigner(): Promise<KeyPairSigner> {
  return createKeyPairSignerFromPrivateKeyBytes(createHash('sha256').update('flywheel localnet bank').digest());
}

/** The cluster of a bank, as far as a bank needs it. */
export interface BankCluster {
  /** Lands a transaction that the bank's wallet pays for. @throws BankError if it fails */
  land(instructions: readonly Instruction[]): Promise<Signature>;
  minimumBalance(bytes: bigint): Promise<bigint>;
  /** Returns the program that owns an account; null if there is no account. */
  programOf(account: Address): Promise<Address | null>;
}

/**
 * Creates the bank of a local cluster. Its changes count as part of genesis: every commitment shows them at once, and a fork
 * does not undo them.
 */
export function createLedgerBank(ledger: Ledger, signer: KeyPairSigner): Bank {
  return createBank(signer, {
    land: async (instructions) => {
      // Random blockhashes make every transaction different and let none expire, as in genesis.
      const transaction = await signLegacy(signer, instructions, randomBlockhash());
      const attempt = ledger.executeEverywhere(transaction);
      const err = attempt.kind === 'refused' ? attempt.err : attempt.record.err;
      if (err !== null) throw new BankError(`The bank's transaction failed: ${JSON.stringify(err)}`);
      return transaction.signature;
    },
    minimumBalance: async (bytes) => ledger.node.minimumBalanceForRentExemption(bytes),
    programOf: async (address) => {
      const account = ledger.node.bank('processed').account(address);
      return account.exists ? account.programAddress : null;
    },
  });
}

export function createBank(signer: KeyPairSigner, { land, minimumBalance, programOf }: BankCluster): Bank {
  return {
    airdrop: async (recipient, amountLamports) => land([transferFrom(signer, recipient, amountLamports)]),
    createMint: async (decimals, token2022) => {
      const programAddress = token2022 ? TOKEN_2022_PROGRAM_ADDRESS : TOKEN_PROGRAM_ADDRESS;
      const mint = await generateKeyPairSigner();
      const space = getMintSize();
      const lamports = await minimumBalance(BigInt(space));
      await land([
        getCreateAccountInstruction({ payer: signer, newAccount: mint, lamports, space, programAddress }),
        getInitializeMint2Instruction(
          { mint: mint.address, decimals, mintAuthority: signer.address },
          { programAddress },
        ),
      ]);
      return mint.address;
    },
    mintTo: async (mint, recipient, amountBaseUnits) => {
      const tokenProgram = await programOf(mint);
      if (tokenProgram === null) throw new BankError(`There is no mint ${mint}.`);
      const token = associatedTokenAddress({ owner: recipient, mint, tokenProgram });
      await land([
        getCreateAssociatedTokenIdempotentInstruction({
          payer: signer,
          ata: token,
          owner: recipient,
          mint,
          tokenProgram,
        }),
        getMintToInstruction(
          { mint, token, mintAuthority: signer, amount: amountBaseUnits },
          { programAddress: tokenProgram },
        ),
      ]);
      return token;
    },
  };
}

/** Signs the transfer of an airdrop: a legacy transaction with only the transfer, different each time. */
export type Faucet = (recipient: Address, amountLamports: bigint) => Promise<WireTransaction>;

export function createFaucet({ slots }: Pick<Ledger, 'slots'>, signer: KeyPairSigner): Faucet {
  const issued = new Set<Signature>();
  return async (recipient, amountLamports) => {
    const transfer = transferFrom(signer, recipient, amountLamports);
    const newest = slots.at('confirmed');
    const known = Math.min(Number(newest) + 1, Number(MAX_BLOCKHASH_AGE));
    const blockhashes = Array.from({ length: known }, (_, age) => () => slots.blockhashOf(newest - BigInt(age)));
    // A young cluster has few blockhashes, so a random one follows.
    for (const next of [...blockhashes, randomBlockhash]) {
      const transaction = await signLegacy(signer, [transfer], next());
      if (issued.has(transaction.signature)) continue;
      issued.add(transaction.signature);
      for (const oldest of issued) {
        if (issued.size <= REMEMBERED_AIRDROPS) break;
        issued.delete(oldest);
      }
      return transaction;
    }
    throw new BankError('No two blockhashes are equal.');
  };
}

/** @throws BankError for the System program: no transaction may write to a program that it calls. */
function transferFrom(source: KeyPairSigner, destination: Address, amount: bigint): Instruction {
  if (destination !== SYSTEM_PROGRAM_ADDRESS) return getTransferSolInstruction({ source, destination, amount });
  throw new BankError(`${destination} is the System program, which takes no lamports.`);
}

function randomBlockhash(): Blockhash {
  return getBlockhashDecoder().decode(randomBytes(32));
}

async function signLegacy(
  signer: KeyPairSigner,
  instructions: readonly Instruction[],
  blockhash: Blockhash,
): Promise<WireTransaction> {
  const message = pipe(
    createTransactionMessage({ version: 'legacy' }),
    (empty) => setTransactionMessageFeePayerSigner(signer, empty),
    (paid) => setTransactionMessageLifetimeUsingBlockhash({ blockhash, lastValidBlockHeight: 0n }, paid),
    (timed) => appendTransactionMessageInstructions(instructions, timed),
  );
  const transaction = await signTransactionMessageWithSigners(message);
  return parseWireTransaction(new Uint8Array(getTransactionEncoder().encode(transaction)));
}
