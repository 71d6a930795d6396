import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A transaction as `getTransaction` answers it, and what lists name of it. */
export interface SyntheticTransaction {
  readonly signature: string;
  readonly slot: number;
  readonly hasFailed: boolean;
  /** Every account that it names. */
  readonly accounts: readonly string[];
  readonly answer: object;
}

/** The accounts of a synthetic node now, in the shapes of JSON-RPC. */
export interface SyntheticAccounts {
  slot(): number;
  account(address: string): object | null;
  /** In the encoding `jsonParsed`. */
  tokenAccounts(owner: string, program: string): readonly object[];
}

/** A JSON-RPC server whose history is made by a test: more transactions than a cluster could execute in its time. */
export interface SyntheticNode extends AsyncDisposable {
  readonly url: string;
  add(transaction: SyntheticTransaction): void;
  /** Deletes what is older than a slot, as a node does that keeps a short history. */
  prune(slot: number): void;
  /** Deletes one transaction, which lists still name. */
  forget(signature: string): void;
  /** Hides one transaction: neither lists nor `getTransaction` have it. */
  hide(signature: string): void;
  /** Number of calls of a method. */
  calls(method: string): number;
}

/** Starts a node with the history of a test. */
export async function startSyntheticNode(accounts: SyntheticAccounts): Promise<SyntheticNode> {
  const history = new Map<string, SyntheticTransaction>();
  /** Newest last. */
  const byAccount = new Map<string, SyntheticTransaction[]>();
  const forgotten = new Set<string>();
  const hidden = new Set<string>();
  const counts = new Map<string, number>();
  let oldest = 0;

  const isThere = ({ signature, slot }: SyntheticTransaction) => slot >= oldest && !hidden.has(signature);
  const withContext = (value: unknown) => ({ context: { slot: accounts.slot() }, value });
  // biome-ignore lint/suspicious/noExplicitAny: the parameters of each method differ, and only our own client calls.
  const answer = (method: string, [first, second, third]: readonly any[]): unknown => {
    switch (method) {
      case 'getHealth':
        return 'ok';
      case 'getGenesisHash':
        return 'synthetic';
      case 'getAccountInfo':
        return withContext(accounts.account(first));
      case 'getTokenAccountsByOwner':
        if (third.encoding !== 'jsonParsed') throw new Error('Only jsonParsed is made.');
        return withContext(accounts.tokenAccounts(first, second.programId));
      case 'getSignaturesForAddress': {
        const all = byAccount.get(first) ?? [];
        const end = second.before === undefined ? all.length : indexOf(all, second.before);
        const page: object[] = [];
        for (let index = end - 1; index >= 0 && page.length < second.limit; index--) {
          const transaction = all[index];
          if (transaction && isThere(transaction)) page.push(toEntry(transaction));
        }
        return page;
      }
      case 'getTransaction': {
        const transaction = history.get(first);
        return transaction && isThere(transaction) && !forgotten.has(first) ? transaction.answer : null;
      }
      default:
        throw new Error(`The synthetic node has no ${method}.`);
    }
  };
  const server = createServer(async (request, response) => {
    const { id, method, params = [] } = JSON.parse(await text(request));
    counts.set(method, (counts.get(method) ?? 0) + 1);
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result: answer(method, params) }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // A listening TCP server has an address of this shape (node:net).
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    add: (transaction) => {
      history.set(transaction.signature, transaction);
      for (const account of new Set(transaction.accounts)) {
        const known = byAccount.get(account);
        if (known) known.push(transaction);
        else byAccount.set(account, [transaction]);
      }
    },
    prune: (slot) => {
      oldest = slot;
    },
    forget: (signature) => void forgotten.add(signature),
    hide: (signature) => void hidden.add(signature),
    calls: (method) => counts.get(method) ?? 0,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function indexOf(all: readonly SyntheticTransaction[], signature: string): number {
  const index = all.findLastIndex((transaction) => transaction.signature === signature);
  if (index === -1) throw new Error(`The transaction ${signature} is not in the list.`);
  return index;
}

function toEntry({ signature, slot, hasFailed }: SyntheticTransaction) {
  const err = hasFailed ? { InstructionError: [0, { Custom: 1 }] } : null;
  return { signature, slot, blockTime: slot, err, memo: null, confirmationStatus: 'finalized' };
}
