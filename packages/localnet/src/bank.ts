import { createHash } from 'node:crypto';
import {
  type Address,
  appendTransactionMessageInstructions,
  assertIsTransactionWithBlockhashLifetime,
  createKeyPairSignerFromPrivateKeyBytes,
  createTransactionMessage,
  generateKeyPairSigner,
  getTransactionEncoder,
  type Instruction,
  type KeyPairSigner,
  pipe,
  type Signature,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
} from '@solana/kit';
import { getCreateAccountInstruction, getTransferSolInstruction } from '@solana-program/system';
import {
  findAssociatedTokenPda,
  getCreateAssociatedTokenIdempotentInstruction,
  getInitializeMint2Instruction,
  getMintSize,
  getMintToInstruction,
  TOKEN_PROGRAM_ADDRESS,
} from '@solana-program/token';
import type { Ledger } from './ledger/ledger.ts';
import { parseWireTransaction } from './wire/wire-transaction.ts';

const TOKEN_2022_PROGRAM = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb' as Address;
const MEMO_PROGRAM = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr' as Address;

/** Reports that the bank could not carry out a request; the message has the reason. */
export class BankError extends Error {
  override readonly name = 'BankError';
}

/** Sends lamports and tokens to anyone, by ordinary transactions of a wallet that genesis has funded. */
export interface Bank {
  /** Transfers lamports. Throws BankError when the transaction fails. */
  airdrop(recipient: Address, amountLamports: bigint): Promise<Signature>;
  /** Creates a mint whose authority is the bank. */
  createMint(decimals: number, token2022: boolean): Promise<Address>;
  /** Mints to the recipient's associated token account, creating it. Throws BankError unless the bank made the mint. */
  mintTo(mint: Address, recipient: Address, amountBaseUnits: bigint): Promise<Address>;
}

/** Returns the bank's key. It is public: anyone who can reach a local cluster may take any amount. */
export function bankSigner(): Promise<KeyPairSigner> {
  return createKeyPairSignerFromPrivateKeyBytes(createHash('sha256').update('flywheel localnet bank').digest());
}

export function createBank(ledger: Ledger, signer: KeyPairSigner): Bank {
  let sequence = 0;
  const send = async (instructions: readonly Instruction[]): Promise<Signature> => {
    const { blockhash, lastValidBlockHeight } = ledger.slots.latestBlockhash('confirmed');
    sequence += 1;
    const message = pipe(
      createTransactionMessage({ version: 0 }),
      (empty) => setTransactionMessageFeePayerSigner(signer, empty),
      (paid) => setTransactionMessageLifetimeUsingBlockhash({ blockhash, lastValidBlockHeight }, paid),
      // A number makes two equal airdrops in one slot different transactions.
      (timed) => appendTransactionMessageInstructions([...instructions, numberMemo(sequence)], timed),
    );
    const transaction = await signTransactionMessageWithSigners(message);
    assertIsTransactionWithBlockhashLifetime(transaction);
    const wire = parseWireTransaction(new Uint8Array(getTransactionEncoder().encode(transaction)));
    const attempt = ledger.execute(wire, { keepFailure: false });
    const err = attempt.kind === 'refused' ? attempt.err : attempt.record.err;
    if (err !== null) throw new BankError(`The bank's transaction failed: ${JSON.stringify(err)}`);
    return wire.signature;
  };

  return {
    airdrop: (recipient, amountLamports) =>
      send([getTransferSolInstruction({ source: signer, destination: recipient, amount: amountLamports })]),
    createMint: async (decimals, token2022) => {
      const programAddress = token2022 ? TOKEN_2022_PROGRAM : TOKEN_PROGRAM_ADDRESS;
      const mint = await generateKeyPairSigner();
      const space = getMintSize();
      const lamports = ledger.svm.minimumBalanceForRentExemption(BigInt(space));
      await send([
        getCreateAccountInstruction({ payer: signer, newAccount: mint, lamports, space, programAddress }),
        getInitializeMint2Instruction(
          { mint: mint.address, decimals, mintAuthority: signer.address },
          { programAddress },
        ),
      ]);
      return mint.address;
    },
    mintTo: async (mint, recipient, amountBaseUnits) => {
      const account = ledger.svm.getAccount(mint);
      if (!account.exists) throw new BankError(`There is no mint ${mint}.`);
      const tokenProgram = account.programAddress;
      const [token] = await findAssociatedTokenPda({ owner: recipient, mint, tokenProgram });
      await send([
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

function numberMemo(sequence: number): Instruction {
  return { programAddress: MEMO_PROGRAM, data: new TextEncoder().encode(`bank ${sequence}`) };
}
