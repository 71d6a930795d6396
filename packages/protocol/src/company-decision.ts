import {
  type Address,
  appendTransactionMessageInstruction,
  bytesEqual,
  compileTransaction,
  createNoopSigner,
  createTransactionMessage,
  getBase16Decoder,
  getBase64Decoder,
  getOffchainMessageDecoder,
  getOffchainMessageEncoder,
  type ReadonlyUint8Array,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
} from '@solana/kit';
import { getAddMemoInstruction } from '@solana-program/memo';
import { groupDigits, toBaseUnits, toDecimal } from './amounts.ts';
import { type BatchContent, contentHash, summarizeContent } from './batch-content.ts';
import { type CompanyPolicy, policyLines } from './company-policy.ts';
import { NO_BLOCK } from './runtime.ts';
import { isSignedBy } from './signatures.ts';
import { MEMO_PROGRAM_ADDRESS } from './vault-instruction.ts';

/** A decision of a company operator, as the operator's wallet signs it. */
export interface CompanyDecision {
  readonly subject: DecisionSubject;
  readonly genesisHash: string;
  readonly operator: Address;
  /** 32 lowercase hex digits. Each decision has its own. */
  readonly nonce: string;
  readonly expiresAt: Date;
}

/** Subject of a decision; `type` says which one. */
export type DecisionSubject = BatchDecision | TermsDecision | ResumeDecision | AdmissionDecision | PolicyDecision;

/** An approval or a rejection of one batch. */
export interface BatchDecision {
  readonly type: 'batch';
  readonly decision: 'approve' | 'reject';
  /** Reason of a rejection; null for an approval. */
  readonly reason: string | null;
  readonly multisig: Address;
  readonly batchIndex: bigint;
  readonly content: BatchContent;
}

/** A change of what the company approves by itself, for one project. */
export interface TermsDecision {
  readonly type: 'terms';
  readonly multisig: Address;
  readonly token: { readonly mint: Address; readonly decimals: number };
  readonly from: CompanyTerms;
  readonly to: CompanyTerms;
}

/** What the company approves by itself: `manual` is nothing, `automatic` is what fits the limits. */
export interface CompanyTerms {
  readonly approvalMode: 'automatic' | 'manual';
  /** Base units per UTC day. */
  readonly burnBaseUnits: bigint;
  /** Base units per UTC day. */
  readonly airdropBaseUnits: bigint;
}

/** Terms as people and the API write them: limits are whole tokens per UTC day, as decimal text. */
export interface TermsFields {
  readonly approvalMode: CompanyTerms['approvalMode'];
  readonly burnLimit: string;
  readonly airdropLimit: string;
}

/** The end of a pause. */
export interface ResumeDecision {
  readonly type: 'resume';
  /** The project that was paused; null if all were. */
  readonly multisig: Address | null;
  readonly pausedAt: Date;
}

/** Whether the company serves a project. */
export interface AdmissionDecision {
  readonly type: 'admission';
  readonly multisig: Address;
  /** The wallet that approves for the project. */
  readonly wallet: Address;
  readonly token: { readonly mint: Address; readonly decimals: number };
  /** What the company approves by itself from the admission on; null withdraws the admission. */
  readonly terms: CompanyTerms | null;
}

/** The company's rules for a project, from now on. */
export interface PolicyDecision {
  readonly type: 'policy';
  readonly multisig: Address;
  readonly token: { readonly mint: Address; readonly decimals: number };
  /** Number of the version that this becomes: one more than the present one, 1 for the first. */
  readonly version: number;
  readonly policy: CompanyPolicy;
}

/** Time in which a signed decision counts: long enough for a worker that is down or a project that is paused for a night. */
const DECISION_VALID_MS = 24 * 3_600_000;

/** Bytes of a decision's nonce. */
export const DECISION_NONCE_BYTES = 16;

/**
 * Completes a decision that is about to be signed with its nonce and its end.
 * @param nonce `DECISION_NONCE_BYTES` random bytes.
 */
export function startDecision(
  decision: Omit<CompanyDecision, 'nonce' | 'expiresAt'>,
  { nonce, now }: { readonly nonce: ReadonlyUint8Array; readonly now: Date },
): CompanyDecision {
  const expiresAt = new Date(now.getTime() + DECISION_VALID_MS);
  return { ...decision, nonce: getBase16Decoder().decode(nonce), expiresAt };
}

/**
 * Writes the text of a decision. All who know its subject write the same text, byte for byte: the operator's browser and the
 * worker. A text is used once: a batch index is used once by a multisig, and a worker stores the nonces of all other texts.
 */
export function writeDecisionText(decision: CompanyDecision): string {
  const { title, lines, multisig } = describeSubject(decision.subject);
  return [
    `Flywheel: ${title}`,
    '',
    ...lines,
    ...(multisig === null ? [] : [`Multisig: ${multisig}`]),
    `Cluster: ${decision.genesisHash}`,
    `Operator: ${decision.operator}`,
    `Nonce: ${decision.nonce}`,
    `Expires: ${decision.expiresAt.toISOString()}`,
  ].join('\n');
}

interface SubjectText {
  readonly title: string;
  readonly lines: readonly string[];
  readonly multisig: Address | null;
}

function describeSubject(subject: DecisionSubject): SubjectText {
  const { multisig } = subject;
  switch (subject.type) {
    case 'batch':
      return {
        title: `${subject.decision} batch ${subject.batchIndex} for the company`,
        lines: batchLines(subject),
        multisig,
      };
    case 'terms': {
      const lines = [...describeTerms(subject), describeToken(subject.token)];
      return { title: 'change what the company approves by itself', lines, multisig };
    }
    case 'resume': {
      const title = `resume ${multisig === null ? 'all projects' : 'a project'} for the company`;
      return { title, lines: [`Paused since: ${subject.pausedAt.toISOString()}`], multisig };
    }
    case 'admission': {
      const { token, wallet, terms } = subject;
      const verb = terms === null ? 'withdraw the admission of a project' : 'admit a project';
      const lines = [
        ...(terms === null ? [] : describeTerms({ token, to: terms })),
        describeToken(token),
        `Wallet: ${wallet}`,
      ];
      return { title: `${verb} for the company`, lines, multisig };
    }
    case 'policy': {
      const { token, version, policy } = subject;
      const lines = [`Version: ${version}`, ...policyLines(policy, token), describeToken(token)];
      return { title: 'set the rules of a project for the company', lines, multisig };
    }
    default:
      return subject satisfies never;
  }
}

function batchLines({ content, reason }: BatchDecision): string[] {
  const { effects, pipelines, recipients } = summarizeContent(content);
  return [
    ...effects,
    `Recipients: ${recipients}`,
    `Pipelines: ${pipelines}`,
    `Content: ${contentHash(content)}`,
    // JSON keeps a reason on one line, so that it cannot imitate another line.
    ...(reason === null ? [] : [`Reason: ${JSON.stringify(reason)}`]),
  ];
}

function describeToken({ mint, decimals }: TermsDecision['token']): string {
  return `Token: ${mint}, ${decimals} decimals`;
}

/**
 * Converts terms to base units.
 * @throws RangeError for a limit that is not an amount of a token with these decimals.
 */
export function toBaseUnitTerms(
  { approvalMode, burnLimit, airdropLimit }: TermsFields,
  decimals: number,
): CompanyTerms {
  const parse = (limit: string) => {
    const baseUnits = toBaseUnits(limit, decimals);
    if (baseUnits !== null) return baseUnits;
    throw new RangeError(`${limit} is not an amount of a token with ${decimals} decimals.`);
  };
  return { approvalMode, burnBaseUnits: parse(burnLimit), airdropBaseUnits: parse(airdropLimit) };
}

/**
 * Describes terms as the text does, for example `Burns per day: 1,000 tokens`, or with the earlier ones
 * `Burns per day: from 10 tokens to 1,000 tokens`.
 */
export function describeTerms({
  token,
  from,
  to,
}: Pick<TermsDecision, 'token' | 'to'> & Partial<Pick<TermsDecision, 'from'>>): string[] {
  const tokens = (baseUnits: bigint) => `${groupDigits(toDecimal(baseUnits, token.decimals))} tokens`;
  const rowsOf = ({ approvalMode, burnBaseUnits, airdropBaseUnits }: CompanyTerms) => [
    approvalMode,
    tokens(burnBaseUnits),
    tokens(airdropBaseUnits),
  ];
  const before = from && rowsOf(from);
  return rowsOf(to).map((next, row) => `${TERMS[row]}: ${describeChange(before?.[row], next)}`);
}

const TERMS = ['Approval', 'Burns per day', 'Airdrops per day'] as const;

function describeChange(before: string | undefined, next: string): string {
  if (before === undefined) return next;
  return before === next ? `${next}, as before` : `from ${before} to ${next}`;
}

/** Bytes of a text that a memo transaction of 1,232 bytes holds, with its signature, three keys and its blockhash. */
export const MAX_DECISION_BYTES = 1_000;

/**
 * Compares the text of a decision with `MAX_DECISION_BYTES`.
 * @returns null if it fits, otherwise the reason, a sentence.
 */
export function findDecisionSizeIssue(text: string): string | null {
  const { length } = new TextEncoder().encode(text);
  return length > MAX_DECISION_BYTES
    ? `The text has ${length} bytes; ${MAX_DECISION_BYTES} fit. Shorten the reason.`
    : null;
}

/**
 * Builds the message of a transaction that carries a text as a memo, for hardware wallets that sign nothing else. It can
 * never be sent, because `NO_BLOCK` is its lifetime.
 */
export function memoMessageBytes(text: string, operator: Address): ReadonlyUint8Array {
  return compileTransaction(memoTransaction(text, operator)).messageBytes;
}

/** Builds the transaction of `memoMessageBytes`. */
export function memoTransaction(text: string, operator: Address) {
  const signer = createNoopSigner(operator);
  const memo = getAddMemoInstruction({ memo: text, signers: [signer] }, { programAddress: MEMO_PROGRAM_ADDRESS });
  const payable = setTransactionMessageFeePayer(operator, createTransactionMessage({ version: 'legacy' }));
  const timed = setTransactionMessageLifetimeUsingBlockhash(NO_BLOCK, payable);
  return appendTransactionMessageInstruction(memo, timed);
}

/** The bytes that a wallet signed, and its signature. */
export interface SignedDecision {
  readonly signedMessage: ReadonlyUint8Array;
  readonly signature: ReadonlyUint8Array;
}

/**
 * Verifies that an operator's wallet signed a text: as raw bytes, as an off-chain message of Solana (version 0 or 1), or as
 * the memo transaction.
 * @returns null if it did, otherwise the reason, a sentence.
 */
export async function findDecisionIssue(
  text: string,
  operator: Address,
  { signedMessage, signature }: SignedDecision,
): Promise<string | null> {
  if (!isTextIn(signedMessage, text, operator)) {
    return 'The signed bytes are neither the text of this decision, nor an off-chain message or a memo transaction of it.';
  }
  const isSigned = await isSignedBy(operator, signedMessage, signature);
  return isSigned ? null : `The signature is not one of ${operator} over the text of this decision.`;
}

/** Writes a signed decision as the console's API takes it, with its bytes in base64. */
export function writeSignedDecision(
  { nonce, expiresAt }: CompanyDecision,
  { signedMessage, signature }: SignedDecision,
): { readonly nonce: string; readonly expiresAt: string; readonly signedMessage: string; readonly signature: string } {
  const base64 = getBase64Decoder();
  return {
    nonce,
    expiresAt: expiresAt.toISOString(),
    signedMessage: base64.decode(signedMessage),
    signature: base64.decode(signature),
  };
}

function isTextIn(signedMessage: ReadonlyUint8Array, text: string, operator: Address): boolean {
  return (
    bytesEqual(signedMessage, new TextEncoder().encode(text)) ||
    bytesEqual(signedMessage, memoMessageBytes(text, operator)) ||
    isOffchainMessage(signedMessage, text, operator)
  );
}

/** The application's domain in version 0 is the wallet's choice; everything else is compared. */
function isOffchainMessage(signedMessage: ReadonlyUint8Array, text: string, operator: Address): boolean {
  if (signedMessage[0] !== OFFCHAIN_FIRST_BYTE) return false;
  try {
    const message = getOffchainMessageDecoder().decode(signedMessage);
    const [signatory, ...others] = message.requiredSignatories;
    const shown = message.version === 0 ? message.content.text : message.content;
    const isWhole = bytesEqual(getOffchainMessageEncoder().encode(message), signedMessage);
    return isWhole && shown === text && signatory?.address === operator && others.length === 0;
  } catch {
    // The decoder throws for every malformed message, which is not this text.
    return false;
  }
}

/** No transaction and no UTF-8 text begins with it (docs.anza.xyz/proposals/off-chain-message-signing). */
const OFFCHAIN_FIRST_BYTE = 0xff;
