import { encodeBase58, formatProofMemo, proofHash, proofMemo, writeMergedPayload } from '@flywheel/protocol';
import {
  batchTransactionAddress,
  decodeMultisig,
  proposalAddress,
  SQUADS_PROGRAM_ADDRESS,
  transactionAddress,
  vaultAddress,
} from '@flywheel/squads';
import { findMultisig } from '@flywheel/testing/chain';
import type { TestProject } from '@flywheel/testing/project';
import { openStranger } from '@flywheel/testing/stranger';
import { addressNamed, memoBy } from '@flywheel/testing/synthetic-vault';
import type { VaultHistory } from '@flywheel/testing/vault-history';
import type { World } from '@flywheel/testing/world';
import {
  type Address,
  assertAccountExists,
  createNoopSigner,
  fetchEncodedAccount,
  generateKeyPairSigner,
  type Instruction,
} from '@solana/kit';
import { getTransferSolInstruction } from '@solana-program/system';
import type {
  Derivation,
  ProofVector,
  RecordedGroup,
  RecordedInstruction,
  RecordedTransaction,
  Vectors,
} from './verify-vectors.ts';

const EVENT = { type: 'WATCH_AD', payload: '{"adId":"1"}' };
/** A character that takes the place of bytes that are no UTF-8 in most decoders. */
const REPLACED = { ...EVENT, type: 'WATCH_\uFFFD' };
const MERGED = writeMergedPayload(EVENT.type, [EVENT.payload, '{"adId":"2"}']);
const OUTER = writeMergedPayload(EVENT.type, [MERGED, '{"adId":"3"}']);
const DESCENDING = MERGED.replace(/"(\w{64})","(\w{64})"/, '"$2","$1"');

/** Records proofs and refutations on a cluster. Keys differ from run to run; everything else is the same. */
export async function recordVectors(world: World, project: TestProject, history: VaultHistory): Promise<Vectors> {
  const vault = project.vaultAddress as Address;
  const vector = (
    name: string,
    transaction: RecordedTransaction | null,
    given: Partial<Omit<ProofVector, 'name' | 'transaction'>> = {},
  ): ProofVector => ({
    ...{ name, isEdited: false, vault, ...EVENT, isProven: false, found: [], ...given },
    transaction,
  });
  const read = (signature = '') => readTransaction(world, signature);
  const first = await read(history.executions[0]);
  const memos = history.pipelines.slice(0, countExecutions(first)).map(proofMemo);
  const calls = await recordCalls(world, read);
  const edited = (name: string, transaction: RecordedTransaction, given: Partial<ProofVector> = {}) =>
    vector(name, transaction, { ...given, isEdited: true });
  const called = (name: string, transaction: RecordedTransaction, given: Partial<ProofVector> = {}) =>
    vector(name, transaction, { vault: calls.vault, ...given });
  const isProven = { isProven: true, found: [proofMemo(EVENT)] };
  const found = [proofMemo({ ...EVENT, payload: MERGED })];
  return {
    description:
      'Recorded on the local cluster: answers of getTransaction (encoding json), a question about a proof in each, and the verdict (docs/proof-format.md). index and position of a derivation are those of the seeds: both count from 1.',
    derivations: await recordDerivations(world, project),
    proofs: [
      vector('a proof', first, { isProven: true, found: memos }),
      vector('another payload', first, { payload: '{"adId": "1"}', found: memos }),
      vector('another type', first, { type: 'PURCHASE', found: memos }),
      vector('another vault', first, { vault: calls.vault }),
      vector('a transaction that the node does not know', null),
      vector('the approval, which executes nothing', await read(history.approval)),
      vector('a memo of a stranger beside a gift to the vault', await read(history.dust[0]), {
        payload: '{"adId":"3"}',
      }),
      called('a proof of version 0', calls.proof, isProven),
      called('a proof of version legacy', calls.legacyProof, isProven),
      called('a proof whose last accounts come from a lookup table', withLookupTable(calls.proof), {
        ...{ isEdited: true, ...isProven },
      }),
      vector('a proof by the vault of another multisig', calls.proof),
      ...calls.refuted.map(({ name, answer }) => called(name, answer)),
      called('an event that a merged payload lists', calls.merged, { mergedPayload: MERGED, isProven: true, found }),
      called('an event of a merged payload, without that payload', calls.merged, { found }),
      called('an event that the merged payload does not list', calls.merged, {
        ...{ payload: '{"adId":"3"}', mergedPayload: MERGED, found },
      }),
      called('an event of another type than the merged payload', calls.merged, {
        ...{ type: 'PURCHASE', mergedPayload: MERGED, found },
      }),
      called('a merged payload that is not in the transaction', calls.proof, {
        ...{ mergedPayload: MERGED, found: isProven.found },
      }),
      called('an event of a merged payload inside another', calls.outer, {
        ...{ mergedPayload: OUTER, found: [proofMemo({ ...EVENT, payload: OUTER })] },
      }),
      called('a merged payload whose hashes descend', calls.descending, {
        ...{ mergedPayload: DESCENDING, found: [proofMemo({ ...EVENT, payload: DESCENDING })] },
      }),
      edited('a failed transaction', {
        ...first,
        meta: { ...first.meta, err: { InstructionError: [0, { Custom: 1 }] } },
      }),
      edited('a transaction that called nothing', { ...first, meta: { ...first.meta, innerInstructions: [] } }),
      edited(
        'an instruction of another program',
        withInstructions(first, (each) => ({ ...each, programIdIndex: 0 })),
      ),
      edited(
        'an instruction with another discriminator',
        withInstructions(first, (each) => ({ ...each, data: '11111111' })),
      ),
      edited(
        'an execution with four accounts',
        withInstructions(first, (each) => ({ ...each, accounts: each.accounts.slice(0, 4) })),
      ),
      edited(
        'an execution by a multisig that does not own the vault',
        withInstructions(first, ({ accounts: [, ...others], ...each }) => ({ ...each, accounts: [0, ...others] })),
      ),
      edited('an execution that another program calls', calledByAnother(first)),
      edited(
        'a memo that another account has signed too',
        withCalls(first, (each) => ({ ...each, accounts: [...each.accounts, 0] })),
      ),
      edited(
        'a memo that is no UTF-8',
        withCalls(calls.proof, (each, place) => (place === 0 ? { ...each, data: memoWithoutUtf8() } : each)),
        { ...REPLACED, vault: calls.vault },
      ),
    ],
  };
}

async function readTransaction(world: World, signature: string): Promise<RecordedTransaction> {
  const params = [signature, { encoding: 'json', commitment: 'confirmed', maxSupportedTransactionVersion: 1 }];
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getTransaction', params });
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(world.localnet.url, { method: 'POST', headers, body });
  return JSON.parse(await answer.text()).result;
}

async function recordDerivations(world: World, project: TestProject): Promise<Derivation[]> {
  const { address: multisig } = await findMultisig(world, project);
  const account = await fetchEncodedAccount(world.rpc, multisig);
  assertAccountExists(account);
  const { createKey } = decodeMultisig(account);
  // The second one has a byte of each integer that is not the lowest.
  return [
    { index: 1, position: 1 },
    { index: 65_538, position: 259 },
  ].map(({ index, position }) => ({
    ...{ program: SQUADS_PROGRAM_ADDRESS, createKey, multisig, vault: vaultAddress(multisig, 0), index, position },
    transaction: transactionAddress(multisig, BigInt(index)),
    proposal: proposalAddress(multisig, BigInt(index)),
    batchTransaction: batchTransactionAddress(multisig, BigInt(index), position - 1),
  }));
}

/** The same transaction as if a lookup table listed the accounts after the fifth: their order is the same. */
function withLookupTable({ transaction, meta, ...rest }: RecordedTransaction): RecordedTransaction {
  const { accountKeys, ...message } = transaction.message;
  const [kept, readonly] = [accountKeys.slice(0, STATIC_ACCOUNTS), accountKeys.slice(STATIC_ACCOUNTS)];
  return {
    ...rest,
    transaction: { ...transaction, message: { ...message, accountKeys: kept } },
    meta: { ...meta, loadedAddresses: { writable: [], readonly } },
  };
}

const STATIC_ACCOUNTS = 5;

function withInstructions(
  recorded: RecordedTransaction,
  edit: (each: RecordedInstruction) => RecordedInstruction,
): RecordedTransaction {
  const { transaction } = recorded;
  const { message } = transaction;
  return {
    ...recorded,
    transaction: { ...transaction, message: { ...message, instructions: message.instructions.map(edit) } },
  };
}

function withCalls(
  recorded: RecordedTransaction,
  edit: (each: RecordedInstruction, place: number) => RecordedInstruction,
): RecordedTransaction {
  return withGroups(recorded, (group) => ({ ...group, instructions: group.instructions.map(edit) }));
}

function withGroups(recorded: RecordedTransaction, edit: (group: RecordedGroup) => RecordedGroup): RecordedTransaction {
  const { meta } = recorded;
  return { ...recorded, meta: { ...meta, innerInstructions: meta.innerInstructions.map(edit) } };
}

/** The same executions one level deeper, below instructions of another program. */
function calledByAnother(recorded: RecordedTransaction): RecordedTransaction {
  const { accountKeys, instructions } = recorded.transaction.message;
  const outer = withInstructions(recorded, (each) => ({ ...each, programIdIndex: accountKeys.length }));
  const { message } = outer.transaction;
  const deeper = (each: RecordedInstruction) => ({ ...each, stackHeight: each.stackHeight + 1 });
  return withGroups(
    {
      ...outer,
      transaction: {
        ...outer.transaction,
        message: { ...message, accountKeys: [...accountKeys, addressNamed('caller')] },
      },
    },
    (group) => ({
      ...group,
      instructions: [...instructions.slice(group.index, group.index + 1), ...group.instructions].map(deeper),
    }),
  );
}

/** The proof memo of `REPLACED` with a byte that is no UTF-8 in the place of the character, in base58. */
function memoWithoutUtf8(): string {
  const [before = '', after = ''] = proofMemo(REPLACED).split('\uFFFD');
  return encodeBase58(Buffer.concat([Buffer.from(before), Buffer.of(0xff), Buffer.from(after)]));
}

/** Counts the proofs in a transaction of the first batch: one for each instruction that called something. */
function countExecutions({ meta }: RecordedTransaction): number {
  return meta.innerInstructions.length;
}

async function recordCalls(world: World, read: (signature: string) => Promise<RecordedTransaction>) {
  const stranger = await openStranger(world);
  const { vault } = stranger;
  const { address: destination } = await generateKeyPairSigner();
  const memo = proofMemo(EVENT);
  const callIn = async (version: 'legacy' | 0, instructions: readonly Instruction[]) => {
    await stranger.call(instructions, version);
    const [newest] = await world.rpc.getSignaturesForAddress(vault, { limit: 1, commitment: 'confirmed' }).send();
    return read(newest?.signature ?? '');
  };
  const call = (...instructions: readonly Instruction[]) => callIn(0, instructions);
  const pay = getTransferSolInstruction({ source: createNoopSigner(vault), destination, amount: 1_000_000n });
  const proof = await call(memoBy(vault, memo), pay);
  const legacyProof = await callIn('legacy', [memoBy(vault, memo), pay]);
  const prove = (payload: string) => call(memoBy(vault, proofMemo({ ...EVENT, payload })), pay);
  const [merged, outer, descending] = [await prove(MERGED), await prove(OUTER), await prove(DESCENDING)];
  const hash = proofHash(EVENT);
  const refuted = [
    { name: 'a memo that is not the first call', answer: await call(pay, memoBy(vault, memo)) },
    { name: 'a memo that nobody has signed', answer: await call({ ...memoBy(vault, memo), accounts: [] }, pay) },
    { name: 'a memo after a byte order mark', answer: await call(memoBy(vault, `\uFEFF${memo}`), pay) },
    { name: 'a memo with a space behind it', answer: await call(memoBy(vault, `${memo} `), pay) },
    { name: 'a memo of another version', answer: await call(memoBy(vault, memo.replace('v1', 'v2')), pay) },
    {
      name: 'a memo with a hash in capitals',
      answer: await call(memoBy(vault, formatProofMemo({ type: EVENT.type, hash: hash.toUpperCase() })), pay),
    },
  ];
  return { vault, proof, legacyProof, merged, outer, descending, refuted };
}
