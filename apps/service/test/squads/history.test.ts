import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { compileVaultMessage, type SquadsInstruction } from '@flywheel/squads';
import {
  AccountRole,
  type Address,
  createNoopSigner,
  generateKeyPairSigner,
  getBase58Decoder,
  type Instruction,
  type Signature,
} from '@solana/kit';
import { getTransferSolInstruction } from '@solana-program/system';
import type { Batch, CompiledPipeline } from '../../src/model/batch.ts';
import type { Multisig } from '../../src/model/project.ts';
import { createChain } from '../../src/solana/chain.ts';
import { closeGroups, executionGroup, setupGroups } from '../../src/squads/groups.ts';
import { type BatchHistory, createHistoryReader } from '../../src/squads/history.ts';
import { locateBatch, proposalApprove, proposalCancel } from '../../src/squads/instructions.ts';
import {
  configTransactionExecute,
  encodeReplacement,
  rotationCloseGroup,
  rotationSetupGroup,
} from '../../src/squads/rotation.ts';
import { startHttpServer } from '../solana/http-server.ts';

type HistoryBatch = Pick<Batch, 'kind' | 'batchIndex' | 'pipelines'>;

describe('the history of a closed batch', () => {
  let ours: Multisig;
  let theirs: Multisig;
  let batch: HistoryBatch;
  let life: readonly Instruction[];
  before(async () => {
    [ours, theirs] = [await multisig(), await multisig()];
    batch = { kind: 'pipelines', batchIndex: 7n, pipelines: [await pipeline(ours, 1n), await pipeline(ours, 2n)] };
    life = await lifeOf(ours, batch, 2);
  });

  it('counts each executed pipeline once', async () => {
    assert.deepEqual(readBatchHistory(ours, batch, life), { executed: 2 });
    assert.deepEqual(readBatchHistory(ours, batch, [...life, ...life]), { executed: 2 });
    const cancelled = [...(await lifeOf(ours, batch, 1)), proposalCancel(locateBatch(ours, 7n), ours.company)];
    assert.deepEqual(readBatchHistory(ours, batch, cancelled), { executed: 1 });
  });

  it('is whole if a stranger closed the batch by calls of another program', async () => {
    const { proposal } = locateBatch(ours, batch.batchIndex);
    const calling = { programAddress: await anAddress() };
    const opened = { instructions: life.slice(0, -3), inner: [] };
    const read = await readFromNode([opened, { instructions: [calling], inner: life.slice(-3) }], proposal);
    assert.deepEqual(readBatchHistory(ours, batch, read), { executed: 2 });
    const withoutCalls = await readFromNode([opened, { instructions: [calling], inner: [] }], proposal);
    assert.equal(readBatchHistory(ours, batch, withoutCalls), 'incomplete');
  });

  it('ignores another multisig that names the batch among its own accounts', async () => {
    const { address } = locateBatch(ours, batch.batchIndex);
    const forged = (await lifeOf(theirs, batch, 2)).map((instruction) => naming(instruction, address));
    assert.deepEqual(readBatchHistory(ours, batch, [...forged, ...life, ...forged]), { executed: 2 });
    const unexecuted = await lifeOf(ours, batch, 0);
    assert.deepEqual(readBatchHistory(ours, batch, [...forged, ...unexecuted]), { executed: 0 });
    assert.equal(readBatchHistory(ours, batch, forged), 'incomplete');
  });

  it('ignores instructions with only some of the addresses at their positions', async () => {
    const [a, b] = [locateBatch(ours, 7n), locateBatch(theirs, 7n)];
    const executes = life.filter((instruction) => instruction.accounts?.[3]?.address === a.address);
    const unexecuted = await lifeOf(ours, batch, 0);
    for (const [from, to] of [
      [ours.address, theirs.address],
      [a.proposal, b.proposal],
      [a.address, b.address],
    ] as const) {
      const forged = executes.map((instruction) => naming(replacing(instruction, from, to), a.address));
      assert.deepEqual(readBatchHistory(ours, batch, [...unexecuted, ...forged]), { executed: 0 });
    }
  });

  it('never shows fewer executed pipelines, whichever instructions the node lacks', async () => {
    // All but the creation, which is where a history begins, and the votes.
    const others = life.slice(2).filter(({ accounts }) => accounts?.length !== 3);
    for (let lacking = 0; lacking < 2 ** others.length; lacking += 1) {
      const kept = life.filter((instruction) => {
        const i = others.indexOf(instruction);
        return i === -1 || (lacking & (1 << i)) === 0;
      });
      const read = readBatchHistory(ours, batch, kept);
      assert.ok(
        ['incomplete', 'foreign', '{"executed":2}'].includes(typeof read === 'string' ? read : JSON.stringify(read)),
      );
    }
    assert.equal(readBatchHistory(ours, batch, []), 'incomplete');
    assert.equal(readBatchHistory(ours, batch, life.slice(-1)), 'incomplete');
    assert.equal(readBatchHistory(ours, batch, life.slice(0, -1)), 'incomplete');
  });

  it('is foreign if the index held other content', async () => {
    const other = { ...batch, pipelines: [await pipeline(ours, 3n), await pipeline(ours, 4n)] };
    assert.equal(readBatchHistory(ours, other, life), 'foreign');
    assert.equal(readBatchHistory(ours, { ...batch, pipelines: batch.pipelines.slice(0, 1) }, life), 'foreign');
    assert.equal(readBatchHistory(ours, await rotation(), life), 'foreign');
    assert.equal(readBatchHistory(ours, batch, await rotationLife(ours, await rotation())), 'foreign');
  });

  it('shows no executed pipeline for a batch that was closed before all of its messages were added', async () => {
    const partial = { ...batch, pipelines: batch.pipelines.slice(0, 1) };
    assert.deepEqual(readBatchHistory(ours, batch, await lifeOf(ours, partial, 0)), { executed: 0 });
  });

  it('of a rotation counts only its own execution', async () => {
    const replaced = await rotation();
    const whole = await rotationLife(ours, replaced);
    assert.deepEqual(readBatchHistory(ours, replaced, whole), { executed: 1 });
    const { address } = locateBatch(ours, replaced.batchIndex);
    const forged = (await rotationLife(theirs, replaced)).map((instruction) => naming(instruction, address));
    const closing = rotationCloseGroup(ours, replaced);
    const rejected = [...rotationSetupGroup(ours, replaced).instructions, ...closing.instructions];
    assert.deepEqual(readBatchHistory(ours, replaced, [...forged, ...rejected]), { executed: 0 });
    assert.equal(readBatchHistory(ours, replaced, forged), 'incomplete');
  });
});

/** Reads each instruction by itself, newest first, as if each were a transaction. */
function readBatchHistory(owner: Multisig, batch: HistoryBatch, instructions: readonly Instruction[]): BatchHistory {
  const history = createHistoryReader(owner, batch);
  for (const instruction of instructions.toReversed()) history.read([instruction]);
  return history.result();
}

/** All instructions of a batch's life on chain, with so many pipelines executed. */
async function lifeOf(owner: Multisig, batch: HistoryBatch, executed: number): Promise<Instruction[]> {
  const { batchIndex, pipelines } = batch;
  const executions = pipelines
    .slice(0, executed)
    .map((compiled, position) => executionGroup(owner, { batchIndex, position }, compiled, 0));
  const groups = [
    ...setupGroups(owner, batch),
    { instructions: executed > 0 ? await votes(owner, batch) : [] },
    ...executions,
    ...closeGroups(owner, batch, pipelines.length),
  ];
  return groups.flatMap(({ instructions }) => instructions);
}

interface NodeTransaction {
  readonly instructions: readonly Instruction[];
  /** The calls of the last instruction. */
  readonly inner: readonly Instruction[];
}

/** Reads the instructions of transactions, oldest first, as a node lists and answers them. */
async function readFromNode(transactions: readonly NodeTransaction[], naming: Address): Promise<Instruction[]> {
  const signatures = transactions.map((_, i) => getBase58Decoder().decode(new Uint8Array(64).fill(i + 1)) as Signature);
  const server = await startHttpServer(({ body: { method, params = [] } }) => {
    if (method !== 'getTransaction') {
      return { result: signatures.toReversed().map((signature) => ({ signature, err: null })) };
    }
    const transaction = transactions[signatures.indexOf(params[0] as Signature)]; // the method's first parameter
    return { result: transaction === undefined ? null : encoded(transaction) };
  });
  try {
    const chain = createChain({ rpcUrls: [server.url] });
    const newestFirst = await Array.fromAsync(chain.transactionsNaming(naming, { commitment: 'finalized' }));
    return newestFirst.toReversed().flatMap((read) => {
      assert.ok(read !== 'incomplete');
      return [...read.instructions];
    });
  } finally {
    await server.stop();
  }
}

/** A transaction as getTransaction answers it in the encoding `json`. */
function encoded({ instructions, inner }: NodeTransaction) {
  const addresses = [...instructions, ...inner].flatMap(({ programAddress, accounts = [] }) => [
    programAddress,
    ...accounts.map(({ address }) => address),
  ]);
  const accountKeys = [...new Set(addresses)];
  const compiled = ({ programAddress, accounts = [], data = new Uint8Array() }: Instruction) => ({
    programIdIndex: accountKeys.indexOf(programAddress),
    accounts: accounts.map(({ address }) => accountKeys.indexOf(address)),
    data: getBase58Decoder().decode(data),
  });
  return {
    slot: 9,
    transaction: { message: { accountKeys, instructions: instructions.map(compiled) } },
    meta: { err: null, innerInstructions: [{ index: instructions.length - 1, instructions: inner.map(compiled) }] },
  };
}

async function votes(owner: Multisig, { batchIndex }: HistoryBatch): Promise<SquadsInstruction[]> {
  const located = locateBatch(owner, batchIndex);
  return [proposalApprove(located, owner.company), proposalApprove(located, owner.wallet)];
}

async function rotationLife(owner: Multisig, rotation: HistoryBatch): Promise<Instruction[]> {
  const { instructions } = rotationSetupGroup(owner, rotation);
  const execute = configTransactionExecute(locateBatch(owner, rotation.batchIndex));
  return [
    ...instructions,
    ...(await votes(owner, rotation)),
    execute,
    ...rotationCloseGroup(owner, rotation).instructions,
  ];
}

async function rotation(): Promise<HistoryBatch> {
  const vaultMessage = encodeReplacement({ approver: 'wallet', from: await anAddress(), to: await anAddress() });
  const compiled: CompiledPipeline = { type: 'ROTATE', payload: '{}', actions: [], instructions: [], vaultMessage };
  return { kind: 'rotation', batchIndex: 7n, pipelines: [compiled] };
}

async function pipeline({ vault, lookupTable }: Multisig, amount: bigint): Promise<CompiledPipeline> {
  const transfer = getTransferSolInstruction({
    source: createNoopSigner(vault),
    destination: await anAddress(),
    amount,
  });
  const instructions = [plain(transfer)];
  const vaultMessage = compileVaultMessage(instructions, { vault, lookupTables: [lookupTable] });
  return { type: 'TEST', payload: '{}', actions: [], instructions, vaultMessage };
}

/** An instruction without signer objects. */
function plain({ programAddress, accounts = [], data }: Instruction): Instruction {
  const bare = accounts.map(({ address, role }) => ({ address, role }));
  return { programAddress, accounts: bare, ...(data && { data }) };
}

function naming(instruction: Instruction, address: Address): Instruction {
  const named = { address, role: AccountRole.READONLY };
  return { ...instruction, accounts: [...(instruction.accounts ?? []), named] };
}

function replacing(instruction: Instruction, from: Address, to: Address): Instruction {
  const accounts = (instruction.accounts ?? []).map((meta) =>
    meta.address === from ? { ...meta, address: to } : meta,
  );
  return { ...instruction, accounts };
}

async function multisig(): Promise<Multisig> {
  const [address, vault, operator, company, wallet, table] = await Promise.all(Array.from({ length: 6 }, anAddress));
  if (!address || !vault || !operator || !company || !wallet || !table) throw new Error('Six addresses are needed.');
  const lookupTable = { address: table, addresses: [] };
  return {
    address,
    vaultIndex: 0,
    vault,
    operator,
    rentCollector: operator,
    recovery: null,
    company,
    wallet,
    lookupTable,
  };
}

async function anAddress(): Promise<Address> {
  return (await generateKeyPairSigner()).address;
}
