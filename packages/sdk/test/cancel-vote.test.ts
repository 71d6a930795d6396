import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import {
  type BatchProgress,
  type CastCancelOptions,
  castCancel,
  createFlywheelClient,
  isFlywheelError,
  runBatch,
  type VerifyOptions,
} from '@flywheel/sdk';
import {
  getProposalCancelInstruction,
  getProposalRejectInstruction,
  proposalAddress,
  VAULT_INDEX,
  vaultAddress,
} from '@flywheel/squads';
import {
  AccountRole,
  type Address,
  address,
  appendTransactionMessageInstructions,
  type Blockhash,
  compileTransaction,
  createTransactionMessage,
  generateKeyPairSigner,
  getBase64EncodedWireTransaction,
  type Instruction,
  type KeyPairSigner,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
} from '@solana/kit';
import { transfer } from './approvals.ts';
import { BATCH, BATCH_ID, initAnswer, PIPELINES } from './batches.ts';
import { startStubService } from './stub-service.ts';

const MULTISIG = address(BATCH.multisig);
const OTHER_MULTISIG = address('So11111111111111111111111111111111111111112');
const BLOCKHASH = '4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi' as Blockhash;
/** Nothing listens there: a vote that is signed fails when it is sent. */
const RPC_URL = 'http://127.0.0.1:1';

describe('the cancel vote that a service asks for', () => {
  let wallet: KeyPairSigner;
  let thief: Address;
  before(async () => {
    wallet = await generateKeyPairSigner();
    thief = (await generateKeyPairSigner()).address;
  });

  it('is signed if it is that vote alone', async () => {
    await assert.rejects(cast([await vote()]), (error) => isFlywheelError(error, 'ERR_UNREACHABLE'));
  });

  it('is refused with a transfer before or behind it', async () => {
    await refused([await vote(), transfer(wallet.address, thief)]);
    await refused([transfer(wallet.address, thief), await vote()]);
  });

  it('is refused with a second vote', async () => {
    await refused([await vote(), await vote()]);
  });

  it('is refused for another batch, multisig or member', async () => {
    await refused([await vote({ batchIndex: 2n })]);
    await refused([await vote({ multisig: OTHER_MULTISIG })]);
    await refused([await vote({ named: OTHER_MULTISIG })]);
    await refused([await vote({ member: thief })]);
  });

  it('is refused if it is another instruction, or of another program', async () => {
    const proposal = proposalAddress(MULTISIG, 1n);
    await refused([getProposalRejectInstruction({ multisig: MULTISIG, member: wallet.address, proposal, memo: null })]);
    await refused([{ ...(await vote()), programAddress: OTHER_MULTISIG }]);
    await refused([]);
  });

  it('is refused with a further account', async () => {
    const { accounts = [], ...rest } = await vote();
    await refused([{ ...rest, accounts: [...accounts, { address: thief, role: AccountRole.WRITABLE }] }]);
  });

  it('is refused if another account pays', async () => {
    await refused([await vote()], thief);
  });

  it('is refused in a multisig that only the service names, by a call that resumes a batch', async () => {
    const [own, other] = [MULTISIG, OTHER_MULTISIG].map((multisig) => vaultAddress(multisig, VAULT_INDEX));
    for (const known of [{}, { vaultAddress: other }, { expect: { multisig: OTHER_MULTISIG } }]) {
      assert.ok(isFlywheelError(await errorOfResumed(known), 'ERR_SIGNING_REFUSED'));
    }
    for (const known of [{ vaultAddress: own }, { expect: { multisig: MULTISIG } }]) {
      assert.ok(isFlywheelError(await errorOfResumed(known), 'ERR_UNREACHABLE'));
    }
  });

  for (const [method, answered] of [
    ['sendTransaction', 0],
    ['getSignatureStatuses', 1],
  ] as const) {
    it(`ends with the signal’s reason during ${method}, and closes its connection`, async () => {
      const controller = new AbortController();
      const reason = new Error('enough');
      await using node = await startStubService((request, count) => {
        if (count <= answered) return { status: 200, body: { jsonrpc: '2.0', id: 1, result: 'sent' } };
        assert.ok(request.body.includes(method));
        controller.abort(reason);
        return 'silence';
      });
      const options = { rpcUrl: node.url, signal: controller.signal };
      await assert.rejects(cast([await vote()], options), (error) => error === reason);
      await node.allGone();
    });
  }

  interface Vote {
    readonly multisig?: Address;
    /** The multisig that the instruction names, if not the proposal's. */
    readonly named?: Address;
    readonly batchIndex?: bigint;
    readonly member?: Address;
  }

  async function vote({ multisig = MULTISIG, named, batchIndex = 1n, member }: Vote = {}): Promise<Instruction> {
    const proposal = proposalAddress(multisig, batchIndex);
    const accounts = { multisig: named ?? multisig, member: member ?? wallet.address, proposal };
    return getProposalCancelInstruction({ ...accounts, memo: null });
  }

  interface Cast extends Partial<Pick<CastCancelOptions, 'rpcUrl' | 'signal'>> {
    readonly feePayer?: Address;
  }

  /** Runs a batch that failed before the call, and returns why the vote in `MULTISIG` was not cast. */
  async function errorOfResumed(known: Omit<VerifyOptions, 'rpcUrl'>): Promise<unknown> {
    const failed = { batchId: BATCH_ID, status: 'FAILED', cancelTx: transactionOf([await vote()]) };
    await using service = await startStubService(({ method, path }) => {
      if (path.endsWith('/init')) return { status: 200, body: initAnswer('') };
      return { status: 200, body: method === 'POST' ? failed : { ...BATCH, status: 'FAILED' } };
    });
    const client = createFlywheelClient({ url: service.url, apiKey: 'fw_key' });
    const events: BatchProgress[] = [];
    await runBatch(client, PIPELINES, {
      ...{ wallet, idempotencyKey: BATCH_ID, verify: { rpcUrl: RPC_URL, ...known } },
      onProgress: (event) => void events.push(event),
    });
    const owed = events.find(({ stage }) => stage === 'cancelVote');
    return owed && 'error' in owed ? owed.error : undefined;
  }

  function cast(
    instructions: readonly Instruction[],
    { feePayer = wallet.address, rpcUrl = RPC_URL, signal }: Cast = {},
  ) {
    const cancelTx = transactionOf(instructions, feePayer);
    const batch = { ...BATCH, status: 'FAILED' } as const;
    const client = {
      getBatch: async () => batch,
      cancelBatch: async () => ({ batchId: BATCH_ID, status: 'FAILED', cancelTx }) as const,
    };
    return castCancel(client, BATCH_ID, { wallet, rpcUrl, signal });
  }

  function transactionOf(instructions: readonly Instruction[], feePayer: Address = wallet.address): string {
    const paid = setTransactionMessageFeePayer(feePayer, createTransactionMessage({ version: 0 }));
    const lifetime = { blockhash: BLOCKHASH, lastValidBlockHeight: 1n };
    const message = appendTransactionMessageInstructions(
      instructions,
      setTransactionMessageLifetimeUsingBlockhash(lifetime, paid),
    );
    return getBase64EncodedWireTransaction(compileTransaction(message));
  }

  async function refused(instructions: readonly Instruction[], feePayer: Address = wallet.address): Promise<void> {
    await assert.rejects(cast(instructions, { feePayer }), (error) => isFlywheelError(error, 'ERR_SIGNING_REFUSED'));
  }
});
