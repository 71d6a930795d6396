import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import {
  appendTransactionMessageInstruction,
  compileTransactionMessage,
  createTransactionMessage,
  getBase64Decoder,
  getCompiledTransactionMessageEncoder,
  pipe,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
} from '@solana/kit';
import {
  getApproveInstruction,
  getBurnCheckedInstruction,
  getCreateAssociatedTokenIdempotentInstructionAsync,
  TOKEN_PROGRAM_ADDRESS,
} from '@solana-program/token';
import { startCluster } from '../cluster.ts';
import { DOCUMENTED, DOCUMENTED_ERRORS } from './documented.ts';
import { mismatches } from './shape.ts';

describe('every method answers the documented members', async () => {
  test('for a chain with a burn, a delegate and a new token account', async (t) => {
    const { call, parameters } = await clusterWithContent(t);
    assert.deepEqual(Object.keys(parameters).toSorted(), Object.keys(DOCUMENTED).toSorted());
    const found: string[] = [];
    for (const [name, shape] of Object.entries(DOCUMENTED)) {
      const [method = ''] = name.split(' ');
      const { result, error } = await call(method, parameters[name]);
      assert.equal(error, undefined, name);
      assert.notDeepEqual(result, [], `${name} shows nothing`);
      assert.notEqual(result, null, `${name} shows nothing`);
      found.push(...mismatches(result, shape, name));
    }
    assert.deepEqual(found, []);
  });

  test('or the documented error code if it is not offered', async (t) => {
    const { call } = await startCluster(t);
    for (const [method, [code, params]] of Object.entries(DOCUMENTED_ERRORS)) {
      assert.equal((await call(method, params)).error?.code, code, method);
    }
  });

  test('and the comparison finds mismatches', () => {
    const shape = { 'maybe?': 'u64', name: 'string' } as const;
    assert.deepEqual(mismatches({ name: 'a' }, shape), []);
    assert.deepEqual(mismatches({ name: 'a', maybe: -1 }, shape), ['result.maybe is no u64: -1']);
    assert.deepEqual(mismatches({ nam: 'a' }, shape), ['result.nam is not documented', 'result.name is missing']);
  });
});

/** Starts a cluster with accounts and transactions, and lists the parameters for each method. */
async function clusterWithContent(t: TestContext) {
  const { localnet, rpc, call, wallet, send, sign } = await startCluster(t);
  const [owner, delegate, stranger] = [await wallet(), await wallet(), await wallet()];
  const mint = await localnet.bank.createMint(6, false);
  const account = await localnet.bank.mintTo(mint, owner.address, 1_000_000n);
  const signature = await send(owner, [
    await getCreateAssociatedTokenIdempotentInstructionAsync({ payer: owner, owner: stranger.address, mint }),
    getBurnCheckedInstruction({ account, mint, authority: owner, amount: 10n, decimals: 6 }),
    getApproveInstruction({ source: account, delegate: delegate.address, owner, amount: 5n }),
  ]);
  await localnet.warp({ slots: 200n });
  const read = await rpc
    .getTransaction(signature, { commitment: 'confirmed', encoding: 'json', maxSupportedTransactionVersion: 1 })
    .send();
  const slot = Number(read?.slot);
  const burn = () => getBurnCheckedInstruction({ account, mint, authority: owner, amount: 1n, decimals: 6 });
  const [one, other] = await Promise.all(
    [[burn()], [burn(), burn()]].map((burns) => sign(owner, burns, { commitment: 'finalized' })),
  );
  assert.ok(one && other);
  const block = (transactionDetails: string, rewards = true) => [
    slot,
    { transactionDetails, rewards, maxSupportedTransactionVersion: 1 },
  ];
  const transaction = (encoding: string) => [signature, { encoding, maxSupportedTransactionVersion: 1 }];
  const ofProgram = { programId: TOKEN_PROGRAM_ADDRESS };
  const asBase64 = { encoding: 'base64' };
  const parameters: Readonly<Record<string, readonly unknown[]>> = {
    getAccountInfo: [account, { encoding: 'jsonParsed' }],
    getBalance: [owner.address],
    'getBlock full': block('full'),
    'getBlock accounts': block('accounts'),
    'getBlock signatures': block('signatures', false),
    'getBlock none': block('none', false),
    getBlockCommitment: [slot],
    getBlockHeight: [],
    getBlockProduction: [],
    getBlockTime: [slot],
    getBlocks: [0, slot],
    getBlocksWithLimit: [0, 3],
    getClusterNodes: [],
    getEpochInfo: [],
    getEpochSchedule: [],
    getFeeForMessage: [await messageOf(owner.address, burn())],
    getFirstAvailableBlock: [],
    getGenesisHash: [],
    getHealth: [],
    getIdentity: [],
    getInflationGovernor: [],
    getInflationRate: [],
    getLargestAccounts: [],
    getLatestBlockhash: [],
    getLeaderSchedule: [],
    getMaxRetransmitSlot: [],
    getMaxShredInsertSlot: [],
    getMinimumBalanceForRentExemption: [165],
    getMultipleAccounts: [[owner.address, stranger.address], asBase64],
    getProgramAccounts: [TOKEN_PROGRAM_ADDRESS, asBase64],
    'getProgramAccounts withContext': [TOKEN_PROGRAM_ADDRESS, { ...asBase64, withContext: true }],
    getRecentPerformanceSamples: [],
    getRecentPrioritizationFees: [[owner.address]],
    getSignatureStatuses: [[signature, other.signature]],
    getSignaturesForAddress: [owner.address],
    getSlot: [],
    getSlotLeader: [],
    getSlotLeaders: [0, 2],
    getStakeMinimumDelegation: [],
    getSupply: [],
    getTokenAccountBalance: [account],
    getTokenAccountsByDelegate: [delegate.address, ofProgram, { encoding: 'jsonParsed' }],
    getTokenAccountsByOwner: [owner.address, { mint }, asBase64],
    getTokenLargestAccounts: [mint],
    getTokenSupply: [mint],
    'getTransaction json': transaction('json'),
    'getTransaction jsonParsed': transaction('jsonParsed'),
    'getTransaction base64': transaction('base64'),
    getTransactionCount: [],
    getVersion: [],
    getVoteAccounts: [],
    isBlockhashValid: [(await rpc.getLatestBlockhash().send()).value.blockhash],
    minimumLedgerSlot: [],
    requestAirdrop: [owner.address, 1_000_000],
    sendTransaction: [one.wire, asBase64],
    simulateTransaction: [
      other.wire,
      { ...asBase64, innerInstructions: true, accounts: { encoding: 'base64', addresses: [account] } },
    ],
  };
  return { call, parameters };

  async function messageOf(feePayer: typeof owner.address, instruction: ReturnType<typeof burn>): Promise<string> {
    const { value } = await rpc.getLatestBlockhash().send();
    const message = pipe(
      createTransactionMessage({ version: 0 }),
      (empty) => setTransactionMessageFeePayer(feePayer, empty),
      (paid) => setTransactionMessageLifetimeUsingBlockhash(value, paid),
      (timed) => appendTransactionMessageInstruction(instruction, timed),
    );
    return getBase64Decoder().decode(getCompiledTransactionMessageEncoder().encode(compileTransactionMessage(message)));
  }
}
