import { formatProofMemo, proofHash, proofMemo } from '@flywheel/protocol';
import {
  batchTransactionAddress,
  proposalAddress,
  SQUADS_PROGRAM_ADDRESS,
  transactionAddress,
  vaultAddress,
} from '@flywheel/squads';
import { findMultisig } from '@flywheel/testing/chain';
import type { TestProject } from '@flywheel/testing/project';
import { openStranger } from '@flywheel/testing/stranger';
import { memoBy } from '@flywheel/testing/synthetic-vault';
import type { VaultHistory } from '@flywheel/testing/vault-history';
import type { World } from '@flywheel/testing/world';
import { type Address, createNoopSigner, generateKeyPairSigner, type Instruction } from '@solana/kit';
import { getTransferSolInstruction } from '@solana-program/system';
import type { ProofVector, RecordedTransaction, Vectors } from './verify-vectors.ts';

const EVENT = { type: 'WATCH_AD', payload: '{"adId":"1"}' };

/** Records proofs and refutations on a cluster. Keys differ from run to run; everything else is the same. */
export async function recordVectors(world: World, project: TestProject, history: VaultHistory): Promise<Vectors> {
  const vault = project.vaultAddress as Address;
  const { address: multisig } = await findMultisig(world, project);
  const read = async (signature: string): Promise<RecordedTransaction> => {
    const params = [signature, { encoding: 'json', commitment: 'confirmed', maxSupportedTransactionVersion: 1 }];
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getTransaction', params });
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(world.localnet.url, { method: 'POST', headers, body });
    return JSON.parse(await answer.text()).result;
  };
  const vector = (
    name: string,
    transaction: RecordedTransaction,
    given: Partial<Omit<ProofVector, 'name' | 'transaction'>> = {},
  ): ProofVector => ({
    ...{ name, isEdited: false, vault, ...EVENT, isProven: false, found: [], ...given },
    transaction,
  });
  const executions = await Promise.all(history.executions.map(read));
  const [first] = executions;
  if (!first) throw new Error('The history has no execution.');
  const memos = history.pipelines.slice(0, countExecutions(first)).map(proofMemo);
  const calls = await recordCalls(world, read);
  const edited = (name: string, transaction: RecordedTransaction) => vector(name, transaction, { isEdited: true });
  const { transaction, meta } = first;
  const derivations = [
    {
      ...{ program: SQUADS_PROGRAM_ADDRESS, multisig, vault: vaultAddress(multisig, 0), index: 1, position: 0 },
      transaction: transactionAddress(multisig, 1n),
      proposal: proposalAddress(multisig, 1n),
      batchTransaction: batchTransactionAddress(multisig, 1n, 0),
    },
  ];
  return {
    description:
      'Recorded on the local cluster: answers of getTransaction (encoding json), a question about a proof in each, and the verdict (docs/proof-format.md). index and position of a derivation count from 1 and 0.',
    derivations,
    proofs: [
      vector('a proof', first, { isProven: true, found: memos }),
      vector('another payload', first, { payload: '{"adId": "1"}', found: memos }),
      vector('another type', first, { type: 'PURCHASE', found: memos }),
      vector('another vault', first, { vault: calls.vault }),
      vector('the approval, which executes nothing', await read(history.approval)),
      vector('a memo of a stranger beside a gift to the vault', await read(history.dust[0] ?? ''), {
        payload: '{"adId":"3"}',
      }),
      vector('a proof of version 0', calls.proof, { vault: calls.vault, isProven: true, found: [proofMemo(EVENT)] }),
      vector('a proof whose last accounts come from a lookup table', withLookupTable(calls.proof), {
        ...{ isEdited: true, vault: calls.vault, isProven: true, found: [proofMemo(EVENT)] },
      }),
      vector('a proof by the vault of another multisig', calls.proof),
      ...calls.refuted.map(({ name, answer }) => vector(name, answer, { vault: calls.vault })),
      edited('a failed transaction', { ...first, meta: { ...meta, err: { InstructionError: [0, { Custom: 1 }] } } }),
      edited('a transaction that called nothing', { ...first, meta: { ...meta, innerInstructions: [] } }),
      edited('an instruction of another program', {
        ...first,
        transaction: {
          ...transaction,
          message: {
            ...transaction.message,
            instructions: transaction.message.instructions.map((each) => ({ ...each, programIdIndex: 0 })),
          },
        },
      }),
      edited('an instruction with another discriminator', {
        ...first,
        transaction: {
          ...transaction,
          message: {
            ...transaction.message,
            instructions: transaction.message.instructions.map((each) => ({ ...each, data: '11111111' })),
          },
        },
      }),
      edited('a memo that another account has signed too', {
        ...first,
        meta: {
          ...meta,
          innerInstructions: meta.innerInstructions.map((group) => ({
            ...group,
            instructions: group.instructions.map((each) => ({ ...each, accounts: [...each.accounts, 0] })),
          })),
        },
      }),
    ],
  };
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

/** Proofs in a transaction of the first batch: one for each instruction that called something. */
function countExecutions({ meta }: RecordedTransaction): number {
  return meta.innerInstructions.length;
}

async function recordCalls(world: World, read: (signature: string) => Promise<RecordedTransaction>) {
  const stranger = await openStranger(world);
  const { vault } = stranger;
  const { address: destination } = await generateKeyPairSigner();
  const memo = proofMemo(EVENT);
  const call = async (...instructions: readonly Instruction[]) => {
    await stranger.call(instructions);
    const [newest] = await world.rpc.getSignaturesForAddress(vault, { limit: 1, commitment: 'confirmed' }).send();
    return read(newest?.signature ?? '');
  };
  const pay = getTransferSolInstruction({ source: createNoopSigner(vault), destination, amount: 1_000_000n });
  const proof = await call(memoBy(vault, memo), pay);
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
  return { vault, proof, refuted };
}
