import { address, associatedTokenAddress, MAX_MULTIPLE_ACCOUNTS, MEMO_PROGRAM_ADDRESS } from '@flywheel/protocol';
import { createRpcTransport } from '@flywheel/solana-rpc';
import {
  type Address,
  createSolanaRpcFromTransport,
  decodeTransactionFromRpcResponse,
  fetchEncodedAccounts,
  getAccountMetasFromCompiledTransactionMessage,
  getInnerInstructionsFromMeta,
  getUtf8Decoder,
  type MaybeEncodedAccount,
  signature,
} from '@solana/kit';
import { getMintDecoder, getTokenDecoder } from '@solana-program/token';

/** Balances of a token at one moment, in base units. */
export interface TokenState {
  readonly supplyBaseUnits: bigint;
  readonly vaultBaseUnits: bigint;
  /** By wallet; null if the wallet has no token account. */
  readonly balances: ReadonlyMap<string, bigint | null>;
}

export interface ExecutedTransaction {
  readonly signature: string;
  /** False if the transaction failed or the cluster does not know it. */
  readonly succeeded: boolean;
  /** Texts of the memos that the vault signed through another program. */
  readonly vaultMemos: readonly string[];
}

export interface ChainReader {
  readState(wallets: readonly string[]): Promise<TokenState>;
  readTransactions(signatures: readonly string[]): Promise<readonly ExecutedTransaction[]>;
}

type Rpc = ReturnType<typeof createSolanaRpcFromTransport>;

/** Creates a reader that uses plain JSON-RPC and does not rely on the service. */
export function createChainReader(
  rpcUrl: string,
  { mint, vaultAddress }: { readonly mint: string; readonly vaultAddress: string },
): ChainReader {
  const rpc = createSolanaRpcFromTransport(createRpcTransport({ url: rpcUrl }));
  const [mintAddress, vault] = [address(mint), address(vaultAddress)];

  return {
    async readState(wallets) {
      const [mintAccount] = await readAccounts(rpc, [mintAddress]);
      if (!mintAccount?.exists) throw new Error(`The mint ${mint} is not on chain.`);
      const tokenProgram = mintAccount.programAddress;
      const owners = [vault, ...wallets.map((wallet) => address(wallet))];
      const tokenAccounts = owners.map((owner) => associatedTokenAddress({ owner, tokenProgram, mint: mintAddress }));
      const [vaultAccount, ...accounts] = await readAccounts(rpc, tokenAccounts);
      return {
        supplyBaseUnits: getMintDecoder().decode(mintAccount.data).supply,
        vaultBaseUnits: amountOf(vaultAccount) ?? 0n,
        balances: new Map(wallets.map((wallet, index) => [wallet, amountOf(accounts[index])])),
      };
    },

    readTransactions: (signatures) => Promise.all(signatures.map((text) => readTransaction(rpc, text, vault))),
  };
}

async function readAccounts(rpc: Rpc, addresses: readonly Address[]): Promise<MaybeEncodedAccount[]> {
  const accounts: MaybeEncodedAccount[] = [];
  for (let start = 0; start < addresses.length; start += MAX_MULTIPLE_ACCOUNTS) {
    const chunk = addresses.slice(start, start + MAX_MULTIPLE_ACCOUNTS);
    accounts.push(...(await fetchEncodedAccounts(rpc, chunk, { commitment: 'confirmed' })));
  }
  return accounts;
}

function amountOf(account: MaybeEncodedAccount | undefined): bigint | null {
  return account?.exists ? getTokenDecoder().decode(account.data).amount : null;
}

async function readTransaction(rpc: Rpc, text: string, vault: Address): Promise<ExecutedTransaction> {
  const found = await rpc
    .getTransaction(signature(text), { commitment: 'confirmed', encoding: 'base64', maxSupportedTransactionVersion: 1 })
    .send();
  if (!found?.meta || found.meta.err !== null) return { signature: text, succeeded: false, vaultMemos: [] };
  const { compiledMessage, loadedAddresses } = decodeTransactionFromRpcResponse(found);
  const metas = getAccountMetasFromCompiledTransactionMessage(compiledMessage, loadedAddresses);
  // The memo program rejects a memo unless all of its accounts have signed, so a listed account is a signer.
  const memos = getInnerInstructionsFromMeta(found.meta, metas).filter(
    ({ programAddress, accounts = [] }) =>
      programAddress === MEMO_PROGRAM_ADDRESS && accounts.some((account) => account.address === vault),
  );
  const vaultMemos = memos.map(({ data = new Uint8Array() }) => getUtf8Decoder().decode(data));
  return { signature: text, succeeded: true, vaultMemos };
}
