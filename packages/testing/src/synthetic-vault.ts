import { encodeBase58, MEMO_PROGRAM_ADDRESS, proofMemo, SYSVAR_CLOCK_ADDRESS } from '@flywheel/protocol';
import {
  batchTransactionAddress,
  getBatchCreateInstruction,
  getBatchExecuteTransactionInstruction,
  MULTISIG_DISCRIMINATOR,
  multisigAddress,
  multisigEncoder,
  proposalAddress,
  SQUADS_PROGRAM_ADDRESS,
  transactionAddress,
  vaultAddress,
} from '@flywheel/squads';
import { AccountRole, type Address, createNoopSigner, type Instruction } from '@solana/kit';
import { getTransferSolInstruction, SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import { getBurnCheckedInstruction, getTransferCheckedInstruction, TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import { TOKEN_2022_PROGRAM_ADDRESS } from '@solana-program/token-2022';
import { type SyntheticNode, startSyntheticNode } from './synthetic-node.ts';

/** A pipeline that the vault executes: it burns, and sends tokens to a stranger. */
export interface SyntheticPipeline {
  /** null writes no proof. */
  readonly proof: { readonly type: string; readonly payload: string } | null;
  readonly burned?: bigint;
  readonly sent?: bigint;
}

/** An instruction that another one calls. */
export interface SyntheticInner extends Instruction {
  /** 2 by default: the instruction of the transaction calls it directly. */
  readonly stackHeight?: number;
}

/** An instruction and what it calls. */
export interface SyntheticCall {
  readonly instruction: Instruction;
  readonly inner?: readonly SyntheticInner[];
}

/** A token account. */
export interface SyntheticTokens {
  readonly mint: Address;
  readonly owner: Address;
  readonly amount: bigint;
  /** The token program by default. */
  readonly program?: Address;
}

/** What a transaction changes: lamports and tokens by account. */
export interface Effects {
  readonly lamports?: Readonly<Record<string, bigint>>;
  readonly tokens?: Readonly<Record<string, bigint>>;
  /** New owners of token accounts. */
  readonly owners?: Readonly<Record<string, Address>>;
  /** Token accounts that are closed, after the changes above. */
  readonly closed?: readonly string[];
  /** Token accounts that are created, after all others are closed. */
  readonly opened?: Readonly<Record<string, SyntheticTokens>>;
  /** Accounts that it names besides those of its instructions. */
  readonly named?: readonly Address[];
  readonly hasFailed?: boolean;
  readonly logs?: readonly string[];
  /** True for a transaction in the slot of the one before. */
  readonly isInSameSlot?: boolean;
}

/** A vault with one token, and everybody around it, on a synthetic node. Each act is one or more transactions, a slot each. */
export interface SyntheticVault extends AsyncDisposable {
  readonly node: SyntheticNode;
  readonly vault: Address;
  readonly multisig: Address;
  readonly mint: Address;
  /** The vault's token account. */
  readonly tokens: Address;
  /** Where tokens and SOL of the vault go. */
  readonly stranger: Address;
  /** The stranger's token account. */
  readonly strangerTokens: Address;
  /** @returns the signature. */
  land(calls: readonly SyntheticCall[], effects?: Effects): string;
  depositLamports(amount: bigint): string;
  depositTokens(amount: bigint): string;
  /** Creates a batch and executes its pipelines, up to five a transaction. @returns the signatures of the executions. */
  runBatch(pipelines: readonly SyntheticPipeline[]): string[];
  /** An instruction that creates a batch. */
  creation(batchIndex: bigint): SyntheticCall;
  /** Index of the next transaction of the multisig, which the caller creates. */
  takeIndex(): bigint;
  /** An instruction of the vault's multisig that executes a pipeline of a batch. */
  execution(batchIndex: bigint, position: number, pipeline: SyntheticPipeline): SyntheticCall;
  /** An instruction that executes a pipeline, which calls what the caller wants. */
  executionOf(batchIndex: bigint, position: number, inner: readonly SyntheticInner[]): SyntheticCall;
  /** Gives the vault a token account of another mint, as anyone can. */
  openAccount(account: Address, mint: Address): void;
  /** A stranger gives the vault an account with tokens, and the vault gives it away. @returns the signature of the latter. */
  giveAway(account: Address, amount: bigint): string;
  readonly slot: () => number;
  /** All that the vault holds of a mint; of SOL for null. */
  balanceOf(mint: string | null): bigint;
  balances(): { readonly lamports: bigint; readonly tokens: bigint };
}

const EXECUTIONS_PER_TRANSACTION = 5;
const MULTISIG_LAMPORTS = 3_000_000n;
/** Decimals of every mint. */
export const DECIMALS = 6;

/** A different address for each name. */
export function addressNamed(name: string): Address {
  const bytes = new Uint8Array(32);
  new TextEncoder().encodeInto(name, bytes.subarray(1));
  bytes[0] = 7;
  return encodeBase58(bytes) as Address; // 32 bytes
}

/** The content of the clock at a slot, whose number is its time. */
function clockAt(slot: number): string {
  const clock = Buffer.alloc(40);
  clock.writeBigInt64LE(BigInt(slot), 32);
  return clock.toString('base64');
}

export async function openSyntheticVault(): Promise<SyntheticVault> {
  const multisig = multisigAddress(addressNamed('create key'));
  const vault = vaultAddress(multisig, 0);
  const [mint, tokens] = [addressNamed('mint'), addressNamed('vault tokens')];
  const [stranger, strangerTokens] = [addressNamed('stranger'), addressNamed('stranger tokens')];
  const [member, funder] = [addressNamed('member'), addressNamed('funder')];
  const lamports = new Map<string, bigint>();
  const holdings = new Map<string, { -readonly [Key in keyof SyntheticTokens]: SyntheticTokens[Key] }>();
  let [slot, count, transactionIndex] = [100, 0, 0n];

  const multisigAccount = () => {
    const data = multisigEncoder.encode({
      ...{ createKey: addressNamed('create key'), configAuthority: SYSTEM_PROGRAM_ADDRESS, threshold: 2, timeLock: 0 },
      ...{ transactionIndex, staleTransactionIndex: 0n, rentCollector: null, bump: 255, members: [] },
    });
    return Buffer.from([...MULTISIG_DISCRIMINATOR, ...data]).toString('base64');
  };
  const node = await startSyntheticNode({
    slot: () => slot,
    account: (address) => {
      if (address === SYSVAR_CLOCK_ADDRESS) return { lamports: 1, owner: 'sysvar', data: [clockAt(slot), 'base64'] };
      const balance = lamports.get(address);
      if (balance === undefined || balance === 0n) return null;
      const isMultisig = address === multisig;
      const owner = isMultisig ? SQUADS_PROGRAM_ADDRESS : SYSTEM_PROGRAM_ADDRESS;
      return { lamports: Number(balance), owner, data: [isMultisig ? multisigAccount() : '', 'base64'] };
    },
    tokenAccounts: (owner, program) =>
      [...holdings]
        .filter(([, held]) => held.owner === owner && program === (held.program ?? TOKEN_PROGRAM_ADDRESS))
        .map(([pubkey, held]) => {
          const tokenAmount = { amount: held.amount.toString(), decimals: DECIMALS };
          return { pubkey, account: { data: { parsed: { info: { mint: held.mint, owner, tokenAmount } } } } };
        }),
  });

  const land = (calls: readonly SyntheticCall[], effects: Effects = {}): string => {
    if (!effects.isInSameSlot) slot += 1;
    count += 1;
    const signature = encodeBase58(Uint8Array.from({ length: 64 }, (_, i) => (i < 8 ? (count >> (i * 4)) & 15 : 1)));
    const instructions = calls.flatMap(({ instruction, inner = [] }) => [instruction, ...inner]);
    const accounts = [
      ...new Set<string>([
        funder,
        ...instructions.flatMap((each) => [
          ...(each.accounts ?? []).map(({ address }) => address),
          each.programAddress,
        ]),
        ...(effects.named ?? []),
      ]),
    ];
    const shown = (instruction: Instruction) => ({
      programIdIndex: accounts.indexOf(instruction.programAddress),
      accounts: (instruction.accounts ?? []).map(({ address }) => accounts.indexOf(address)),
      data: encodeBase58(new Uint8Array(instruction.data ?? [])),
    });
    const hasTokens = accounts.includes(TOKEN_PROGRAM_ADDRESS) || accounts.includes(TOKEN_2022_PROGRAM_ADDRESS);
    const balances = () => ({
      lamports: accounts.map((account) => Number(lamports.get(account) ?? 0n)),
      tokens: hasTokens
        ? accounts.flatMap((account, accountIndex) => {
            const held = holdings.get(account);
            const uiTokenAmount = { amount: String(held?.amount), decimals: DECIMALS };
            return held ? [{ accountIndex, mint: held.mint, owner: held.owner, uiTokenAmount }] : [];
          })
        : [],
    });
    const before = balances();
    if (!effects.hasFailed) {
      for (const [account, change] of Object.entries(effects.lamports ?? {})) {
        lamports.set(account, (lamports.get(account) ?? 0n) + change);
      }
      for (const [account, change] of Object.entries(effects.tokens ?? {})) {
        const held = holdings.get(account);
        if (held) held.amount += change;
      }
      for (const [account, owner] of Object.entries(effects.owners ?? {})) {
        const held = holdings.get(account);
        if (held) held.owner = owner;
      }
      for (const account of effects.closed ?? []) holdings.delete(account);
      for (const [account, tokens] of Object.entries(effects.opened ?? {})) holdings.set(account, { ...tokens });
    }
    const after = balances();
    const innerInstructions = calls.flatMap(({ inner = [] }, index) =>
      inner.length === 0
        ? []
        : [{ index, instructions: inner.map((each) => ({ ...shown(each), stackHeight: each.stackHeight ?? 2 })) }],
    );
    const err = effects.hasFailed ? { InstructionError: [0, { Custom: 1 }] } : null;
    const answer = {
      ...{ slot, blockTime: slot, version: 'legacy' },
      transaction: {
        signatures: [signature],
        message: { accountKeys: accounts, instructions: calls.map(({ instruction }) => shown(instruction)) },
      },
      meta: {
        ...{ err, fee: 5_000, innerInstructions, logMessages: effects.logs ?? [] },
        ...{ preBalances: before.lamports, postBalances: after.lamports },
        ...{ preTokenBalances: before.tokens, postTokenBalances: after.tokens },
        loadedAddresses: { writable: [], readonly: [] },
      },
    };
    node.add({ signature, slot, hasFailed: effects.hasFailed ?? false, accounts, answer });
    return signature;
  };

  const signer = createNoopSigner(vault);
  const executionOf: SyntheticVault['executionOf'] = (batchIndex, position, inner) => ({
    instruction: getBatchExecuteTransactionInstruction({
      ...{ multisig, member, batch: transactionAddress(multisig, batchIndex) },
      proposal: proposalAddress(multisig, batchIndex),
      transaction: batchTransactionAddress(multisig, batchIndex, position),
    }),
    inner,
  });
  const execution: SyntheticVault['execution'] = (batchIndex, position, { proof, burned = 0n, sent = 0n }) => {
    const token = { mint, authority: signer, decimals: DECIMALS };
    return executionOf(batchIndex, position, [
      ...(proof ? [memoBy(vault, proofMemo(proof))] : []),
      ...(burned > 0n ? [getBurnCheckedInstruction({ account: tokens, amount: burned, ...token })] : []),
      ...(sent > 0n
        ? [getTransferCheckedInstruction({ source: tokens, destination: strangerTokens, amount: sent, ...token })]
        : []),
    ]);
  };
  const takeIndex = () => {
    transactionIndex += 1n;
    return transactionIndex;
  };
  const creation: SyntheticVault['creation'] = (batchIndex) => {
    const batch = transactionAddress(multisig, batchIndex);
    const created = { multisig, batch, creator: member, rentPayer: member, vaultIndex: 0, memo: null };
    return { instruction: getBatchCreateInstruction(created) };
  };

  // The multisig is created first, as a registration does.
  holdings.set(tokens, { mint, owner: vault, amount: 0n });
  holdings.set(strangerTokens, { mint, owner: stranger, amount: 0n });
  const create = { programAddress: SQUADS_PROGRAM_ADDRESS, data: new Uint8Array(8) };
  land([{ instruction: create }], { lamports: { [multisig]: MULTISIG_LAMPORTS }, named: [multisig] });
  return {
    ...{ node, vault, multisig, mint, tokens, stranger, strangerTokens, land },
    ...{ execution, executionOf, takeIndex, creation },
    depositLamports: (amount) =>
      land(
        [{ instruction: getTransferSolInstruction({ source: createNoopSigner(funder), destination: vault, amount }) }],
        {
          lamports: { [vault]: amount },
        },
      ),
    depositTokens: (amount) => {
      const authority = createNoopSigner(funder);
      const transfer = { source: addressNamed('funder tokens'), mint, destination: tokens, amount, decimals: DECIMALS };
      return land([{ instruction: getTransferCheckedInstruction({ ...transfer, authority }) }], {
        tokens: { [tokens]: amount },
      });
    },
    runBatch: (pipelines) => {
      const index = takeIndex();
      land([creation(index)]);
      const signatures: string[] = [];
      for (let first = 0; first < pipelines.length; first += EXECUTIONS_PER_TRANSACTION) {
        const part = pipelines.slice(first, first + EXECUTIONS_PER_TRANSACTION);
        const spent = part.reduce((sum, { burned = 0n, sent = 0n }) => sum + burned + sent, 0n);
        const received = part.reduce((sum, { sent = 0n }) => sum + sent, 0n);
        signatures.push(
          land(
            part.map((pipeline, i) => execution(index, first + i, pipeline)),
            { tokens: { [tokens]: -spent, [strangerTokens]: received }, named: [vault] },
          ),
        );
      }
      return signatures;
    },
    openAccount: (account, otherMint) => void holdings.set(account, { mint: otherMint, owner: vault, amount: 0n }),
    giveAway: (account, amount) => {
      const held = { mint, owner: vault, amount: 0n };
      holdings.set(account, held);
      // The transfer names the token accounts, and the vault nowhere.
      land([{ instruction: memoBy(funder, 'a gift') }], {
        tokens: { [account]: amount },
        named: [account, TOKEN_PROGRAM_ADDRESS],
      });
      return land([{ instruction: memoBy(funder, 'by the vault') }], {
        owners: { [account]: stranger },
        named: [account, vault, TOKEN_PROGRAM_ADDRESS],
      });
    },
    slot: () => slot,
    balanceOf: (asset) => {
      if (asset === null) return lamports.get(vault) ?? 0n;
      const held = [...holdings.values()].filter((each) => each.owner === vault && each.mint === asset);
      return held.reduce((sum, { amount }) => sum + amount, 0n);
    },
    balances: () => ({ lamports: lamports.get(vault) ?? 0n, tokens: holdings.get(tokens)?.amount ?? 0n }),
    [Symbol.asyncDispose]: () => node[Symbol.asyncDispose](),
  };
}

/** A memo that an account has signed. */
export function memoBy(account: Address, memo: string): Instruction {
  return {
    programAddress: MEMO_PROGRAM_ADDRESS,
    accounts: [{ address: account, role: AccountRole.READONLY_SIGNER }],
    data: new TextEncoder().encode(memo),
  };
}
