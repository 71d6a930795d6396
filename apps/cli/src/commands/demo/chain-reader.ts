import {
  type Address,
  address,
  createSolanaRpc,
  decodeTransactionFromRpcResponse,
  getAccountMetasFromCompiledTransactionMessage,
  getAddressEncoder,
  getBase64Encoder,
  getInnerInstructionsFromMeta,
  getProgramDerivedAddress,
  getU64Decoder,
  getUtf8Decoder,
  signature,
} from '@solana/kit';

/** What the token looks like at one moment. Base units. */
export interface TokenState {
  readonly supplyBaseUnits: bigint;
  readonly vaultBaseUnits: bigint;
  /** By wallet; null where no token account exists. */
  readonly balances: ReadonlyMap<string, bigint | null>;
}

/** What a transaction left on chain. */
export interface ExecutedTransaction {
  readonly signature: string;
  /** False when the cluster does not know it, or it failed. */
  readonly succeeded: boolean;
  /** Texts of the memos that the vault signed, called by another program. */
  readonly vaultMemos: readonly string[];
}

export interface ChainReader {
  readState(wallets: readonly string[]): Promise<TokenState>;
  readTransactions(signatures: readonly string[]): Promise<readonly ExecutedTransaction[]>;
}

type Rpc = ReturnType<typeof createSolanaRpc>;

const ASSOCIATED_TOKEN_PROGRAM = address('ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL');
const MEMO_PROGRAM = address('MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr');
/** A mint’s supply is a u64 behind its optional authority (SPL Token, Mint). */
const MINT_SUPPLY_OFFSET = 36;
/** A token account’s amount is a u64 behind its mint and owner (SPL Token, Account). */
const ACCOUNT_AMOUNT_OFFSET = 64;
/** getMultipleAccounts takes a hundred addresses a call. */
const ADDRESSES_PER_CALL = 100;

/** Reads the chain for itself, over plain JSON-RPC: nothing here trusts what the service answered. */
export function createChainReader(
  rpcUrl: string,
  { mint, vaultAddress }: { readonly mint: string; readonly vaultAddress: string },
): ChainReader {
  const rpc = createSolanaRpc(rpcUrl);
  const [mintAddress, vault] = [address(mint), address(vaultAddress)];

  return {
    async readState(wallets) {
      const [mintAccount] = await readAccounts(rpc, [mintAddress]);
      if (!mintAccount) throw new Error(`The mint ${mint} is not on chain.`);
      const owners = [vault, ...wallets.map((wallet) => address(wallet))];
      const tokenAccounts = await Promise.all(
        owners.map((owner) => tokenAccountAddress(owner, mintAddress, mintAccount.programAddress)),
      );
      const [vaultAccount, ...accounts] = await readAccounts(rpc, tokenAccounts);
      return {
        supplyBaseUnits: readU64(mintAccount.bytes, MINT_SUPPLY_OFFSET),
        vaultBaseUnits: amountOf(vaultAccount ?? null) ?? 0n,
        balances: new Map(wallets.map((wallet, position) => [wallet, amountOf(accounts[position] ?? null)])),
      };
    },

    readTransactions: (signatures) => Promise.all(signatures.map((text) => readTransaction(rpc, text, vault))),
  };
}

interface AccountBytes {
  readonly programAddress: Address;
  readonly bytes: Uint8Array;
}

async function readAccounts(rpc: Rpc, addresses: readonly Address[]): Promise<(AccountBytes | null)[]> {
  const accounts: (AccountBytes | null)[] = [];
  for (let start = 0; start < addresses.length; start += ADDRESSES_PER_CALL) {
    const chunk = addresses.slice(start, start + ADDRESSES_PER_CALL);
    const { value } = await rpc.getMultipleAccounts(chunk, { commitment: 'confirmed', encoding: 'base64' }).send();
    for (const account of value) {
      const bytes = account && new Uint8Array(getBase64Encoder().encode(account.data[0]));
      accounts.push(account && bytes ? { programAddress: account.owner, bytes } : null);
    }
  }
  return accounts;
}

async function tokenAccountAddress(owner: Address, mint: Address, tokenProgram: Address): Promise<Address> {
  const encoder = getAddressEncoder();
  const [tokenAccount] = await getProgramDerivedAddress({
    programAddress: ASSOCIATED_TOKEN_PROGRAM,
    seeds: [encoder.encode(owner), encoder.encode(tokenProgram), encoder.encode(mint)],
  });
  return tokenAccount;
}

function amountOf(account: AccountBytes | null): bigint | null {
  return account && readU64(account.bytes, ACCOUNT_AMOUNT_OFFSET);
}

function readU64(bytes: Uint8Array, offset: number): bigint {
  return getU64Decoder().read(bytes, offset)[0];
}

async function readTransaction(rpc: Rpc, text: string, vault: Address): Promise<ExecutedTransaction> {
  const found = await rpc
    .getTransaction(signature(text), { commitment: 'confirmed', encoding: 'base64', maxSupportedTransactionVersion: 1 })
    .send();
  if (!found?.meta || found.meta.err !== null) return { signature: text, succeeded: false, vaultMemos: [] };
  const { compiledMessage, loadedAddresses } = decodeTransactionFromRpcResponse(found);
  const metas = getAccountMetasFromCompiledTransactionMessage(compiledMessage, loadedAddresses);
  // The memo program refuses a memo unless every account it is given has signed: to be listed is to have signed.
  const memos = getInnerInstructionsFromMeta(found.meta, metas).filter(
    ({ programAddress, accounts = [] }) =>
      programAddress === MEMO_PROGRAM && accounts.some((account) => account.address === vault),
  );
  const vaultMemos = memos.map(({ data = new Uint8Array() }) => getUtf8Decoder().decode(data));
  return { signature: text, succeeded: true, vaultMemos };
}
