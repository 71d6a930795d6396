import { ApiError, isApiError } from '@flywheel/api';
import {
  address,
  base64Length,
  DEFAULT_INSTRUCTION_UNITS,
  MAX_TRANSACTION_BYTES,
  priorityFeeLamports,
} from '@flywheel/protocol';
import { SQUADS_PROGRAM_ADDRESS } from '@flywheel/squads';
import {
  type Address,
  bytesEqual,
  type CompiledTransactionMessage,
  type CompiledTransactionMessageWithLifetime,
  createNoopSigner,
  getBase64Encoder,
  getCompiledTransactionMessageDecoder,
  getCompiledTransactionMessageEncoder,
  getPublicKeyFromAddress,
  getTransactionDecoder,
  type Instruction,
  type ReadonlyUint8Array,
  type Transaction,
  verifySignature,
} from '@solana/kit';
import {
  COMPUTE_BUDGET_PROGRAM_ADDRESS,
  getSetComputeUnitLimitInstructionDataDecoder,
  getSetComputeUnitPriceInstructionDataDecoder,
  MAX_COMPUTE_UNIT_LIMIT,
  SET_COMPUTE_UNIT_LIMIT_DISCRIMINATOR,
  SET_COMPUTE_UNIT_PRICE_DISCRIMINATOR,
} from '@solana-program/compute-budget';
import { getAdvanceNonceAccountInstruction } from '@solana-program/system';
import type { LeasedNonce } from '../model/batch.ts';
import type { Multisig } from '../model/project.ts';
import { locateBatch, proposalApprove } from './instructions.ts';

/** Highest priority fee that the operator pays when a wallet raises ours. */
export const MAX_APPROVAL_PRIORITY_LAMPORTS = 100_000n;

export interface ExpectedApproval {
  readonly batchId: string;
  readonly batchIndex: bigint;
  readonly multisig: Multisig;
  readonly nonce: LeasedNonce;
}

/**
 * Proves that a signed approval does nothing but approve this batch, and that it lacks the company's and the operator's
 * signatures at most. Wallets add compute budget and guard instructions, so its meaning is checked, not its bytes.
 * @throws ApiError ERR_SIGNED_TX_INVALID saying what is wrong.
 */
export async function checkApproval(signedTx: string, expected: ExpectedApproval): Promise<void> {
  const transaction = decodeTransaction(signedTx);
  const message = decodeMessage(transaction.messageBytes);
  checkSigners(message, expected.multisig);
  checkNonce(message, expected);
  checkInstructions(message, expected);
  await checkWalletSignature(transaction, expected.multisig.wallet);
}

/** Checks like `checkApproval`. @returns what is wrong, in sentences; null if nothing is. */
export async function findApprovalIssue(signedTx: string, expected: ExpectedApproval): Promise<string | null> {
  try {
    await checkApproval(signedTx, expected);
    return null;
  } catch (error) {
    if (isApiError(error, 'ERR_SIGNED_TX_INVALID')) return error.context.problem;
    throw error;
  }
}

type Message = Extract<CompiledTransactionMessage, { version: 0 }> & CompiledTransactionMessageWithLifetime;
type MessageInstruction = Message['instructions'][number];

const MAX_CHARACTERS = base64Length(MAX_TRANSACTION_BYTES[0]);
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

function decodeTransaction(signedTx: string): Transaction {
  if (signedTx.length > MAX_CHARACTERS) {
    throw invalid(`It has ${signedTx.length} characters; a transaction has at most ${MAX_CHARACTERS} in base64.`);
  }
  if (!BASE64.test(signedTx)) throw invalid('It is not base64 (RFC 4648, padded, no line breaks).');
  const bytes = getBase64Encoder().encode(signedTx);
  try {
    return getTransactionDecoder().decode(bytes);
  } catch (cause) {
    throw invalid(`Its ${bytes.length} bytes are not a whole Solana transaction.`, cause);
  }
}

function decodeMessage(messageBytes: ReadonlyUint8Array): Message {
  let message: CompiledTransactionMessage & CompiledTransactionMessageWithLifetime;
  let canonical: ReadonlyUint8Array;
  try {
    message = getCompiledTransactionMessageDecoder().decode(messageBytes);
    canonical = getCompiledTransactionMessageEncoder().encode(message);
  } catch (cause) {
    throw invalid(`Its message of ${messageBytes.length} bytes cannot be decoded.`, cause);
  }
  if (message.version !== 0) throw invalid(`It is a ${message.version} transaction; the approval is version 0.`);
  if (!bytesEqual(canonical, messageBytes)) {
    throw invalid(`Its message takes ${messageBytes.length} bytes; the canonical encoding takes ${canonical.length}.`);
  }
  const tables = message.addressTableLookups?.length ?? 0;
  if (tables > 0) throw invalid(`It uses ${tables} lookup tables; the approval uses none.`);
  return message;
}

function checkSigners({ staticAccounts, header }: Message, { operator, wallet, company }: Multisig): void {
  const [feePayer] = staticAccounts;
  if (feePayer !== operator) throw invalid(`Its fee payer is ${feePayer ?? 'missing'}, not the operator ${operator}.`);
  const signers = staticAccounts.slice(0, header.numSignerAccounts);
  const needed = [operator, wallet, company];
  const missing = needed.filter((signer) => !signers.includes(signer));
  if (missing.length > 0)
    throw invalid(`It does not require the signature of ${missing.join(' and of ')}, which must approve it.`);
  const foreign = signers.filter((signer) => !needed.includes(signer));
  if (foreign.length > 0 || signers.length !== needed.length) {
    throw invalid(`It needs ${signers.length} signatures, also of ${foreign.join(', ')}; the approval needs 3.`);
  }
}

function checkNonce(message: Message, { batchId, multisig, nonce }: ExpectedApproval): void {
  const advance = getAdvanceNonceAccountInstruction({
    nonceAccount: nonce.address,
    nonceAuthority: createNoopSigner(multisig.operator),
  });
  const [first] = message.instructions;
  if (first === undefined || !isInstruction(message, first, advance)) {
    throw invalid(`Its first instruction must be the operator’s advance of the nonce ${nonce.address}, this batch’s.`);
  }
  if (message.lifetimeToken !== nonce.value) {
    throw invalid(
      `It was built on the nonce value ${message.lifetimeToken}, but the nonce has advanced to ${nonce.value}. ` +
        `Sign the rebuilt transaction: GET /v1/flywheel/batch/${batchId}?include=approval.`,
    );
  }
}

function checkInstructions(message: Message, { batchIndex, multisig }: ExpectedApproval): void {
  const batch = locateBatch(multisig, batchIndex);
  const votes = [multisig.wallet, multisig.company].map((member) => ({
    member,
    instruction: proposalApprove(batch, member),
    count: 0,
  }));
  for (const [index, instruction] of message.instructions.entries()) {
    if (index === 0) continue;
    const label = `Instruction ${index + 1}`;
    const program = programOf(message, instruction);
    if (program === SQUADS_PROGRAM_ADDRESS) {
      const vote = votes.find((candidate) => isInstruction(message, instruction, candidate.instruction));
      if (vote === undefined) throw invalid(`${label} is not a plain approval of proposal ${batch.proposal}.`);
      vote.count += 1;
    } else if (program === LIGHTHOUSE_PROGRAM_ADDRESS) {
      checkGuard(message, instruction, label);
    } else if (program !== COMPUTE_BUDGET_PROGRAM_ADDRESS) {
      throw invalid(`${label} calls ${program}, which is not part of an approval.`);
    }
  }
  const wrong = votes.find(({ count }) => count !== 1);
  if (wrong)
    throw invalid(`It holds ${wrong.count} approvals by ${wrong.member} of proposal ${batch.proposal}, not 1.`);
  checkPriorityFee(message);
}

/** Guard instructions that wallets add; they compare accounts with what the wallet simulated. */
const LIGHTHOUSE_PROGRAM_ADDRESS = address('L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95');
/**
 * Lighthouse's instruction list (its client, github.com/Jac0xb/lighthouse): 0 MemoryWrite and 1 MemoryClose move
 * lamports, 2 AssertAccountData to 17 AssertBubblegumTreeConfigAccount only read.
 */
const LIGHTHOUSE_ASSERTIONS = { first: 2, last: 17 } as const;

function checkGuard(message: Message, instruction: MessageInstruction, label: string): void {
  const kind = instruction.data?.[0] ?? -1;
  if (kind < LIGHTHOUSE_ASSERTIONS.first || kind > LIGHTHOUSE_ASSERTIONS.last) {
    throw invalid(`${label} is not an assertion of Lighthouse (kind ${kind}).`);
  }
  const signer = instruction.accountIndices?.find((index) => index < message.header.numSignerAccounts);
  if (signer !== undefined) {
    throw invalid(`${label} passes the signer ${message.staticAccounts[signer]} to Lighthouse.`);
  }
}

function checkPriorityFee(message: Message): void {
  const budget = message.instructions.filter((it) => programOf(message, it) === COMPUTE_BUDGET_PROGRAM_ADDRESS);
  const [limits, prices] = [
    getSetComputeUnitLimitInstructionDataDecoder(),
    getSetComputeUnitPriceInstructionDataDecoder(),
  ];
  let units: number | undefined;
  let price: bigint | undefined;
  for (const { data = new Uint8Array() } of budget) {
    const isLimit = data[0] === SET_COMPUTE_UNIT_LIMIT_DISCRIMINATOR && data.length === limits.fixedSize;
    const isPrice = data[0] === SET_COMPUTE_UNIT_PRICE_DISCRIMINATOR && data.length === prices.fixedSize;
    if (isLimit && units === undefined) units = limits.decode(data).units;
    else if (isPrice && price === undefined) price = prices.decode(data).microLamports;
    else {
      throw invalid('It may set the compute-unit limit and price once each, and no other part of the compute budget.');
    }
  }
  const defaultUnits = DEFAULT_INSTRUCTION_UNITS * (message.instructions.length - budget.length);
  const fee = priorityFeeLamports(units ?? Math.min(defaultUnits, MAX_COMPUTE_UNIT_LIMIT), price ?? 0n);
  if (fee > MAX_APPROVAL_PRIORITY_LAMPORTS) {
    throw invalid(`Its priority fee is ${fee} lamports; at most ${MAX_APPROVAL_PRIORITY_LAMPORTS} are paid.`);
  }
}

async function checkWalletSignature({ signatures, messageBytes }: Transaction, wallet: Address): Promise<void> {
  const signature = signatures[wallet];
  if (!signature) throw invalid(`It is not signed by the project’s wallet ${wallet}.`);
  if (!(await verifySignature(await getPublicKeyFromAddress(wallet), signature, messageBytes))) {
    throw invalid(`The signature of ${wallet} does not verify over its message.`);
  }
}

function programOf(message: Message, { programAddressIndex }: MessageInstruction): Address {
  return accountAt(message, programAddressIndex);
}

function accountsOf(message: Message, { accountIndices = [] }: MessageInstruction): Address[] {
  return accountIndices.map((index) => accountAt(message, index));
}

function accountAt({ staticAccounts }: Message, index: number): Address {
  const account = staticAccounts[index];
  if (account === undefined) throw invalid(`It names account ${index} of ${staticAccounts.length}.`);
  return account;
}

function isInstruction(message: Message, instruction: MessageInstruction, expected: Instruction): boolean {
  const accounts = accountsOf(message, instruction);
  const { accounts: expectedAccounts = [], data: expectedBytes = new Uint8Array() } = expected;
  return (
    programOf(message, instruction) === expected.programAddress &&
    bytesEqual(instruction.data ?? new Uint8Array(), expectedBytes) &&
    accounts.length === expectedAccounts.length &&
    accounts.every((account, index) => account === expectedAccounts[index]?.address)
  );
}

function invalid(problem: string, cause?: unknown): ApiError<'ERR_SIGNED_TX_INVALID'> {
  return new ApiError('ERR_SIGNED_TX_INVALID', { problem }, { cause });
}
