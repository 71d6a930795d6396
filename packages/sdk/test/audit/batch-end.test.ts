import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isFlywheelError } from '@flywheel/sdk';
import {
  BATCH_DISCRIMINATOR,
  batchEncoder,
  getBatchAccountsCloseInstruction,
  MULTISIG_DISCRIMINATOR,
  multisigEncoder,
  PROPOSAL_DISCRIMINATOR,
  type ProposalStatus,
  proposalAddress,
  proposalEncoder,
  SQUADS_PROGRAM_ADDRESS,
  transactionAddress,
} from '@flywheel/squads';
import { addressNamed, openSyntheticVault, type SyntheticVault } from '@flywheel/testing/synthetic-vault';
import { AccountRole, type Address, type ReadonlyUint8Array } from '@solana/kit';
import { requireEnd } from '../../src/audit/batch-end.ts';
import { startStubService } from '../stub-service.ts';

const BATCH_ID = '0195c9a2-7f3e-7000-8000-000000000001';

describe('the end of a failed batch whose accounts are closed', () => {
  it('is what the chain has executed, whatever the service says', async () => {
    await using closed = await openClosedBatch();
    await closed.requireExecuted(7);
    for (const executed of [0, 6, 8]) {
      await assert.rejects(closed.requireExecuted(executed), (error) => isFlywheelError(error, 'ERR_CHAIN_MISMATCH'));
    }
  });

  it('is not changed by batches of strangers that name it', async () => {
    await using closed = await openClosedBatch((vault, batch) => {
      for (const call of [vault.creation(9n), vault.execution(9n, 2, { proof: null }), closing(vault, 9n)]) {
        const accounts = [...(call.instruction.accounts ?? []), { address: batch, role: AccountRole.READONLY }];
        vault.land([{ ...call, instruction: { ...call.instruction, accounts } }]);
      }
    });
    await closed.requireExecuted(7);
    await assert.rejects(closed.requireExecuted(0), (error) => isFlywheelError(error, 'ERR_CHAIN_MISMATCH'));
  });

  for (const [name, act] of [
    ['has deleted it', ({ vault }) => vault.node.prune(vault.slot() + 1)],
    ['does not list its newest transactions', ({ vault, last, close }) => [last, close].forEach(vault.node.hide)],
    ['does not have its last execution any more', ({ vault, last }) => vault.node.forget(last)],
  ] satisfies [string, (closed: Closed) => void][]) {
    it(`is not known from a node that ${name}`, async () => {
      await using closed = await openClosedBatch();
      act(closed);
      for (const executed of [0, 5, 7]) {
        await assert.rejects(closed.requireExecuted(executed), (error) => {
          return isFlywheelError(error, 'ERR_UNEXPECTED_REPLY') && /no node shows how it ended/.test(error.message);
        });
      }
    });
  }
});

describe('the end of a failed batch', { concurrency: true }, () => {
  const at = (__kind: ProposalStatus['__kind']): NonNullable<Shown> => ({
    status: { __kind, timestamp: 1n },
    executed: 2,
  });

  for (const kind of ['Rejected', 'Cancelled', 'Executed'] as const) {
    it(`has come with the proposal ${kind}`, async () => {
      await requireOf({ confirmed: at(kind), finalized: at(kind) }, { executed: 2 });
      await assert.rejects(requireOf({ confirmed: at(kind), finalized: at(kind) }, { executed: 1 }), isMismatch);
      await assert.rejects(requireOf({ confirmed: at(kind), finalized: at(kind) }, { executed: 3 }), isMismatch);
    });
  }

  for (const kind of ['Active', 'Approved', 'Executing'] as const) {
    it(`is awaited while Squads can execute the proposal, which is ${kind}`, async () => {
      await assert.rejects(requireOf({ confirmed: at(kind), finalized: at(kind) }, { executed: 2 }), isWaiting);
      await assert.rejects(requireOf({ confirmed: at(kind), finalized: at(kind) }, { executed: 1 }), isMismatch);
    });
  }

  it('is awaited until it is finalized', async () => {
    const shown = { confirmed: at('Cancelled'), finalized: at('Approved') };
    await assert.rejects(requireOf(shown, { executed: 2 }), isWaiting);
  });

  it('is awaited from a node that lacks the proposal which the wallet has signed, and has come without a signature', async () => {
    for (const shown of [null, { ...at('Draft'), executed: 0 }]) {
      const both = { confirmed: shown, finalized: shown };
      await assert.rejects(requireOf(both, { executed: 0, isSigned: true }), isWaiting);
      await requireOf(both, { executed: 0, isSigned: false });
    }
  });
});

interface Closed {
  readonly vault: SyntheticVault;
  /** Its last execution. */
  readonly last: string;
  /** The transaction that closed its accounts. */
  readonly close: string;
}

/** Executes seven pipelines of a batch and closes it. @param beforeClose acts between the last execution and the closing. */
async function openClosedBatch(beforeClose: (vault: SyntheticVault, batch: Address) => void = () => undefined) {
  const vault = await openSyntheticVault();
  const { multisig, node, land } = vault;
  const [, last = ''] = vault.runBatch(Array.from({ length: 7 }, () => ({ proof: null })));
  beforeClose(vault, transactionAddress(multisig, 1n));
  const close = land([closing(vault, 1n)]);
  const stub = await startStubService(async ({ body }) => {
    const { method } = JSON.parse(body);
    if (method !== 'getMultipleAccounts')
      return { status: 200, body: await (await fetch(node.url, { method: 'POST', body })).text() };
    return accountsAnswer([multisigAccount(1n), null, null]);
  });
  return {
    ...{ vault, last, close },
    requireExecuted: (executed: number) =>
      requireEnd(stub.url, { multisig, batchIndex: '1' }, { batchId: BATCH_ID, executed, isSigned: true }),
    [Symbol.asyncDispose]: async () => {
      await stub[Symbol.asyncDispose]();
      await vault[Symbol.asyncDispose]();
    },
  };
}

function closing({ multisig }: SyntheticVault, index: bigint) {
  const [batch, proposal] = [transactionAddress(multisig, index), proposalAddress(multisig, index)];
  return {
    instruction: getBatchAccountsCloseInstruction({ multisig, proposal, batch, rentCollector: addressNamed('rent') }),
  };
}

/** An open batch of the multisig; null if the node does not show it yet. */
type Shown = { readonly status: ProposalStatus; readonly executed: number } | null;

/** Asks a node that shows a batch at each commitment, and gives up after two looks. */
async function requireOf(
  shown: Readonly<Record<'confirmed' | 'finalized', Shown>>,
  { executed, isSigned = true }: { readonly executed: number; readonly isSigned?: boolean },
): Promise<void> {
  const stop = new AbortController();
  await using node = await startStubService(({ body }, count) => {
    if (count > 2) stop.abort(WAITING);
    const { params } = JSON.parse(body);
    const found = shown[params[1].commitment === 'finalized' ? 'finalized' : 'confirmed'];
    return accountsAnswer([multisigAccount(found ? 1n : 0n), ...(found ? batchAccounts(found) : [null, null])]);
  });
  const proposal = { multisig: MULTISIG, batchIndex: '1' };
  await requireEnd(node.url, proposal, { batchId: BATCH_ID, executed, isSigned }, stop.signal);
}

const MULTISIG = addressNamed('multisig');
const WAITING = new Error('It waits.');
const isWaiting = (error: unknown) => error === WAITING;
const isMismatch = (error: unknown) => isFlywheelError(error, 'ERR_CHAIN_MISMATCH');

function multisigAccount(transactionIndex: bigint) {
  return accountOf(
    MULTISIG_DISCRIMINATOR,
    multisigEncoder.encode({
      ...{ createKey: MULTISIG, configAuthority: MULTISIG, threshold: 2, timeLock: 0, transactionIndex },
      ...{ staleTransactionIndex: 0n, rentCollector: null, bump: 255, members: [] },
    }),
  );
}

function batchAccounts({ status, executed }: NonNullable<Shown>) {
  const common = { multisig: MULTISIG, bump: 255 };
  return [
    accountOf(
      PROPOSAL_DISCRIMINATOR,
      proposalEncoder.encode({ ...common, transactionIndex: 1n, status, approved: [], rejected: [], cancelled: [] }),
    ),
    accountOf(
      BATCH_DISCRIMINATOR,
      batchEncoder.encode({
        ...{ ...common, creator: MULTISIG, index: 1n, vaultIndex: 0, vaultBump: 255 },
        ...{ size: 3, executedTransactionIndex: executed },
      }),
    ),
  ];
}

function accountOf(discriminator: ReadonlyUint8Array, data: ReadonlyUint8Array) {
  const bytes = Buffer.from([...discriminator, ...data]);
  return { owner: SQUADS_PROGRAM_ADDRESS, lamports: 1, data: [bytes.toString('base64'), 'base64'] };
}

function accountsAnswer(value: readonly unknown[]) {
  return { status: 200, body: { jsonrpc: '2.0', id: 1, result: { context: { slot: 1 }, value } } };
}
