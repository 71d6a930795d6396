import { MEMO_PROGRAM_ADDRESS, type Proof, proofMemo, WITHDRAWAL_TYPE, writeMergedPayload } from '@flywheel/protocol';
import { AccountRole, type Address, createNoopSigner, type Instruction } from '@solana/kit';
import { getTransferSolInstruction } from '@solana-program/system';
import {
  ASSOCIATED_TOKEN_PROGRAM_ADDRESS,
  AuthorityType,
  getBurnCheckedInstruction,
  getSetAuthorityInstruction,
  getTransferCheckedInstruction,
} from '@solana-program/token';
import {
  addressNamed,
  DECIMALS,
  type Effects,
  memoBy,
  type SyntheticInner,
  type SyntheticVault,
} from './synthetic-vault.ts';
import type { OpenBooks } from './vault-books.ts';

/** The choices of a deed. */
export interface DeedContext {
  readonly vault: SyntheticVault;
  readonly books: OpenBooks;
  readonly random: () => number;
  /** False publishes also what strangers write as if it were proven, and what never is executed. */
  readonly isHonest: boolean;
  /** A different number each time. */
  readonly number: () => number;
  /** A small amount. */
  readonly amount: () => bigint;
  /** Another account of the vault with the same mint. */
  readonly second: Address;
  /** An account of Token-2022 whose mint has a permanent delegate. */
  readonly seizable: { readonly account: Address; readonly mint: Address };
  /** Lands a new token account of the vault, with tokens of a mint of its own. */
  readonly takeAccount: () => { readonly account: Address; readonly mint: Address; readonly amount: bigint };
  /** The next kind of pipeline of a shuffled row. */
  readonly nextPipeline: () => PipelineKind;
  /** Batches that are partly executed. */
  readonly batches: { readonly index: bigint; position: number; readonly end: number }[];
}

/** A part of a pipeline: instructions, what they change, and what an audit must find of it. */
export interface Part {
  readonly inner: readonly SyntheticInner[];
  readonly effects?: Effects;
  /** An amount that an instruction takes out of the vault. `to` is null for a burn. */
  readonly taken?: { readonly mint: string | null; readonly amount: bigint; readonly to: string | null };
  /** True if it pays for a token account. */
  readonly isRent?: boolean;
  /** A change of the vault's balance that no instruction of the part says. */
  readonly rest?: { readonly mint: string | null; readonly amount: bigint };
}

/** A pipeline that a vault executes. */
export interface PipelineDeed {
  /** The instruction that it calls first: a proof in an honest one. */
  readonly memos: readonly Instruction[];
  /** The proof that counts; null if the memos are none. */
  readonly proof: Proof | null;
  readonly parts: readonly Part[];
  /** Published events that it proves, and what it proves besides them. */
  readonly proven?: readonly Proof[];
  readonly provenOthers?: readonly Proof[];
}

export type PipelineKind = (context: DeedContext) => PipelineDeed;

/** Transactions of a project with its vault. */
export const HONEST_PIPELINES: readonly PipelineKind[] = [
  (context) => honest(context, 'WATCH_AD', [burn(context)]),
  (context) => honest(context, 'REWARD', [send(context)]),
  (context) => honest(context, 'REWARD', [openRecipient(context), send(context)]),
  (context) => honest(context, 'SURVEY', [send(context), burn(context), send(context)]),
  (context) => honest(context, 'PURCHASE', [{ inner: [memoBy(context.vault.vault, 'thank you')] }]),
  (context) => honest(context, 'PURCHASE', [{ inner: [] }]),
  (context) => honest(context, 'REWARD', [pay(context)]),
  (context) => honest(context, 'REWARD', [keep(context), burn(context)]),
  (context) => mergedAirdrop(context),
  (context) => withdrawal(context, [pay(context)]),
  (context) => withdrawal(context, [openRecipient(context), send(context)]),
];

/** Transactions with which a project or its company could deceive. */
export const DISHONEST_PIPELINES: readonly PipelineKind[] = [
  // Outflows without a proof, or with a memo that is none.
  (context) => unproven(context, []),
  (context) => unproven(context, [memoBy(context.vault.vault, 'thank you'), proofBy(context, context.vault.vault)]),
  (context) => unproven(context, [proofBy(context, context.vault.stranger)]),
  (context) => unproven(context, [proofBy(context, context.vault.vault, context.vault.stranger)]),
  (context) => unproven(context, [memoBy(context.vault.vault, `${proofMemo(hide(context, 'REWARD'))} `)]),
  // A proof in front of more than it says: the balance loses what no instruction takes, or an account is given away.
  (context) => honest(context, 'REWARD', [send(context), lose(context)]),
  (context) => honest(context, 'WATCH_AD', [burn(context), giveAwayTokens(context)]),
  // An outflow that a deposit of the same pipeline covers.
  (context) => honest(context, 'WATCH_AD', [burn(context), { inner: [], ...gain(context) }]),
  // Proofs of no event, of another one's amounts, of another type, and of an event that was paid before.
  (context) => other(context, hide(context, 'REWARD')),
  (context) => otherAmount(context),
  (context) => otherType(context),
  (context) => again(context),
  (context) => mergedAgain(context),
  (context) => hiddenMerged(context),
];

export function mergeEffects(all: readonly Effects[]): Effects {
  const sum = (name: 'lamports' | 'tokens') => {
    const total: Record<string, bigint> = {};
    for (const effects of all) {
      for (const [account, amount] of Object.entries(effects[name] ?? {})) {
        total[account] = (total[account] ?? 0n) + amount;
      }
    }
    return total;
  };
  return {
    ...{ lamports: sum('lamports'), tokens: sum('tokens'), named: all.flatMap(({ named = [] }) => named) },
    owners: Object.assign({}, ...all.map(({ owners }) => owners)),
  };
}

/** A transfer of the vault's tokens. @param authority the vault by default. */
export function sendInstruction({ vault }: DeedContext, amount: bigint, authority: Address = vault.vault): Instruction {
  const transfer = { source: vault.tokens, destination: vault.strangerTokens, mint: vault.mint, amount };
  return getTransferCheckedInstruction({ ...transfer, decimals: DECIMALS, authority: createNoopSigner(authority) });
}

function send(context: DeedContext): Part {
  const { tokens, strangerTokens, mint } = context.vault;
  const amount = context.amount();
  return {
    inner: [sendInstruction(context, amount)],
    effects: { tokens: { [tokens]: -amount, [strangerTokens]: amount } },
    taken: { mint, amount, to: strangerTokens },
  };
}

function burn({ vault, amount: nextAmount }: DeedContext): Part {
  const amount = nextAmount();
  const burned = { account: vault.tokens, mint: vault.mint, amount, decimals: DECIMALS };
  return {
    inner: [getBurnCheckedInstruction({ ...burned, authority: createNoopSigner(vault.vault) })],
    effects: { tokens: { [vault.tokens]: -amount } },
    taken: { mint: vault.mint, amount, to: null },
  };
}

function pay({ vault, amount: nextAmount }: DeedContext): Part {
  const [amount, source] = [nextAmount(), createNoopSigner(vault.vault)];
  return {
    inner: [getTransferSolInstruction({ source, destination: vault.stranger, amount })],
    effects: { lamports: { [vault.vault]: -amount } },
    taken: { mint: null, amount, to: vault.stranger },
  };
}

/** Pays for the token account of a recipient, as `createIdempotent` of the associated token program does. */
function openRecipient({ vault, amount: nextAmount, number }: DeedContext): Part {
  const [amount, source] = [nextAmount(), createNoopSigner(vault.vault)];
  const account = addressNamed(`recipient ${number()}`);
  const create: Instruction = {
    programAddress: ASSOCIATED_TOKEN_PROGRAM_ADDRESS,
    accounts: [vault.vault, account].map((address) => ({ address, role: AccountRole.WRITABLE })),
    data: Uint8Array.of(1),
  };
  return {
    inner: [create, { ...getTransferSolInstruction({ source, destination: account, amount }), stackHeight: 3 }],
    effects: { lamports: { [vault.vault]: -amount } },
    ...{ taken: { mint: null, amount, to: account }, isRent: true },
  };
}

/** Moves tokens between two accounts of the vault, and SOL to itself: nothing leaves it. */
function keep({ vault, amount: nextAmount, second }: DeedContext): Part {
  const [amount, authority] = [nextAmount(), createNoopSigner(vault.vault)];
  const transfer = { source: vault.tokens, destination: second, mint: vault.mint, amount, decimals: DECIMALS };
  return {
    inner: [
      getTransferCheckedInstruction({ ...transfer, authority }),
      getTransferSolInstruction({ source: authority, destination: vault.vault, amount }),
    ],
    effects: { tokens: { [vault.tokens]: -amount, [second]: amount } },
  };
}

/** Another program takes tokens. */
function lose({ vault, amount: nextAmount }: DeedContext): Part {
  const amount = nextAmount();
  return {
    inner: [],
    effects: { tokens: { [vault.tokens]: -amount } },
    rest: { mint: vault.mint, amount: -amount },
  };
}

/** Another program deposits tokens. */
function gain({ vault, amount: nextAmount }: DeedContext): Pick<Part, 'effects' | 'rest'> {
  const amount = nextAmount();
  return { effects: { tokens: { [vault.tokens]: amount } }, rest: { mint: vault.mint, amount } };
}

/** Makes a stranger the owner of a token account of the vault. */
function giveAwayTokens({ vault, takeAccount }: DeedContext): Part {
  const { account, mint, amount } = takeAccount();
  const change = { owned: account, owner: createNoopSigner(vault.vault), newAuthority: vault.stranger };
  return {
    inner: [getSetAuthorityInstruction({ ...change, authorityType: AuthorityType.AccountOwner })],
    effects: { owners: { [account]: vault.stranger } },
    rest: { mint, amount: -amount },
  };
}

function proofBy(context: DeedContext, ...signers: readonly Address[]): Instruction {
  return {
    programAddress: MEMO_PROGRAM_ADDRESS,
    accounts: signers.map((address) => ({ address, role: AccountRole.READONLY_SIGNER })),
    data: new TextEncoder().encode(proofMemo(hide(context, 'REWARD'))),
  };
}

/** A proof of an event that the project does not publish. */
function hide({ number }: DeedContext, type: string): Proof {
  return { type, payload: `{"hiddenId":${number()}}` };
}

function publish({ books, number }: DeedContext, type: string): Proof {
  const event = { type, payload: `{"eventId":${number()}}` };
  books.publish(event);
  return event;
}

function proving({ vault }: DeedContext, proof: Proof, parts: readonly Part[]): PipelineDeed {
  return { memos: [memoBy(vault.vault, proofMemo(proof))], proof, parts };
}

function honest(context: DeedContext, type: string, parts: readonly Part[]): PipelineDeed {
  const event = publish(context, type);
  return { ...proving(context, event, parts), proven: [event] };
}

function withdrawal(context: DeedContext, parts: readonly Part[]): PipelineDeed {
  return proving(context, hide(context, WITHDRAWAL_TYPE), parts);
}

/** Each of the parts is an outflow. */
function unproven(context: DeedContext, memos: readonly Instruction[]): PipelineDeed {
  return { memos, proof: null, parts: [send(context), burn(context), pay(context), openRecipient(context)] };
}

function mergedAirdrop(context: DeedContext): PipelineDeed {
  const events = [1, 2, 3].map(() => publish(context, 'WATCH_AD'));
  return { ...merged(context, events), proven: events };
}

function merged(context: DeedContext, events: readonly Proof[]): PipelineDeed {
  const payload = writeMergedPayload(
    'WATCH_AD',
    events.map((event) => event.payload),
  );
  context.books.publishMerged({ type: 'WATCH_AD', payload });
  return proving(context, { type: 'WATCH_AD', payload }, [send(context)]);
}

function other(context: DeedContext, proof: Proof): PipelineDeed {
  return { ...proving(context, proof, [send(context)]), provenOthers: [proof] };
}

/** The published event has another amount than the proven one. */
function otherAmount(context: DeedContext): PipelineDeed {
  const { payload } = hide(context, 'PURCHASE');
  context.books.publish({ type: 'PURCHASE', payload: payload.replace('}', ',"amount":1}') });
  return other(context, { type: 'PURCHASE', payload: payload.replace('}', ',"amount":100}') });
}

/** The published event has another type than the proven one. */
function otherType(context: DeedContext): PipelineDeed {
  const event = publish(context, 'SURVEY');
  return other(context, { ...event, type: 'REWARD' });
}

/** Pays an event again. */
function again(context: DeedContext): PipelineDeed {
  const event = context.books.provenEvent(context.random());
  if (!event) return honest(context, 'REWARD', [send(context)]);
  return { ...proving(context, event, [send(context)]), proven: [event] };
}

/** Lists an event that was paid before, and one that is not published. */
function mergedAgain(context: DeedContext): PipelineDeed {
  const paid = context.books.provenEvent(context.random());
  const [event, hidden] = [publish(context, 'WATCH_AD'), hide(context, 'WATCH_AD')];
  const known = paid?.type === 'WATCH_AD' ? [paid, event] : [event];
  return { ...merged(context, [...known, hidden]), proven: known, provenOthers: [hidden] };
}

/** Does not publish the merged payload, so that none of its events is proven. */
function hiddenMerged(context: DeedContext): PipelineDeed {
  const payloads = [1, 2].map(() => publish(context, 'WATCH_AD').payload);
  return other(context, { type: 'WATCH_AD', payload: writeMergedPayload('WATCH_AD', payloads) });
}
