import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Address, type Commitment, type KeyPairSigner, lamports } from '@solana/kit';
import { getTransferSolInstruction } from '@solana-program/system';
import { getBurnCheckedInstruction, TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import { preflightError, SOL, startCluster } from '../cluster.ts';

const COMMITMENTS = ['processed', 'confirmed', 'finalized'] as const;
/** Slots after which every executed transaction is finalized. */
const FINAL_SLOTS = 32n;
const CLOCK = 'SysvarC1ock11111111111111111111111111111111' as Address;

describe('a read', () => {
  test('answers from the bank of its commitment, with the slot of that bank', async (t) => {
    const { localnet, rpc, wallet } = await startCluster(t);
    const recipient = await wallet(0n);
    await localnet.warp({ slots: 100n });
    await rpc.requestAirdrop(recipient.address, lamports(SOL)).send();
    const read = (commitment: Commitment) => rpc.getBalance(recipient.address, { commitment }).send();
    const balances = async () => Promise.all(COMMITMENTS.map(async (commitment) => (await read(commitment)).value));
    const slots = await Promise.all(COMMITMENTS.map(async (commitment) => (await read(commitment)).context.slot));
    assert.deepEqual(slots, [101n, 100n, 69n]);
    assert.deepEqual(await balances(), [SOL, 0n, 0n]);
    await localnet.warp();
    assert.deepEqual(await balances(), [SOL, SOL, 0n]);
    await localnet.warp({ slots: FINAL_SLOTS - 2n });
    assert.deepEqual(await balances(), [SOL, SOL, 0n]);
    await localnet.warp();
    assert.deepEqual(await balances(), [SOL, SOL, SOL]);
  });

  test('of every method shows the older state until its commitment is reached', async (t) => {
    const { localnet, rpc, wallet, send } = await startCluster(t);
    const owner = await wallet();
    const mint = await localnet.bank.createMint(0, false);
    const account = await localnet.bank.mintTo(mint, owner.address, 100n);
    const before = await rpc.getTransactionCount({ commitment: 'processed' }).send();
    await localnet.warp({ slots: FINAL_SLOTS });
    await send(owner, [getBurnCheckedInstruction({ account, mint, authority: owner, amount: 40n, decimals: 0 })]);
    const read = async (commitment: Commitment) => {
      const config = { commitment };
      const parsed = { ...config, encoding: 'jsonParsed' } as const;
      const program = { ...config, encoding: 'base64', filters: [{ dataSize: 165n }] } as const;
      const [held] = await rpc.getProgramAccounts(TOKEN_PROGRAM_ADDRESS, program).send();
      const [owned] = (await rpc.getTokenAccountsByOwner(owner.address, { mint }, parsed).send()).value;
      const [largest] = (await rpc.getTokenLargestAccounts(mint, config).send()).value;
      const info = (await rpc.getAccountInfo(account, { ...config, encoding: 'base64' }).send()).value;
      return [
        Buffer.from(held?.account.data[0] ?? '', 'base64').readBigUInt64LE(64),
        Buffer.from(info?.data[0] ?? '', 'base64').readBigUInt64LE(64),
        ...[
          (await rpc.getTokenAccountBalance(account, config).send()).value.amount,
          (await rpc.getTokenSupply(mint, config).send()).value.amount,
          owned?.account.data.parsed.info.tokenAmount.amount,
          largest?.amount,
        ].map((amount) => BigInt(amount ?? -1)),
        60n + 40n * (before + 1n - (await rpc.getTransactionCount(config).send())),
      ];
    };
    const [older, newer] = [Array(7).fill(100n), Array(7).fill(60n)];
    assert.deepEqual(await Promise.all(COMMITMENTS.map(read)), [newer, older, older]);
    await localnet.warp();
    assert.deepEqual(await Promise.all(COMMITMENTS.map(read)), [newer, newer, older]);
    await localnet.warp({ slots: FINAL_SLOTS - 1n });
    assert.deepEqual(await Promise.all(COMMITMENTS.map(read)), [newer, newer, newer]);
  });

  test('at a slot that its node has not reached is rejected by every method with minContextSlot', async (t) => {
    const { localnet, wallet, sign, call } = await startCluster(t);
    const owner = await wallet();
    const mint = await localnet.bank.createMint(0, false);
    const account = await localnet.bank.mintTo(mint, owner.address, 1n);
    const { wire } = await sign(owner, [
      getTransferSolInstruction({ source: owner, destination: owner.address, amount: 1n }),
    ]);
    const parameters: Readonly<Record<string, readonly unknown[]>> = {
      getAccountInfo: [account],
      getBalance: [account],
      getBlockHeight: [],
      getEpochInfo: [],
      getFeeForMessage: [Buffer.from(wire, 'base64').subarray(65).toString('base64')],
      getLatestBlockhash: [],
      getMultipleAccounts: [[account]],
      getProgramAccounts: [TOKEN_PROGRAM_ADDRESS],
      getSignaturesForAddress: [account],
      getSlot: [],
      getSlotLeader: [],
      getStakeMinimumDelegation: [],
      getTokenAccountsByDelegate: [owner.address, { mint }],
      getTokenAccountsByOwner: [owner.address, { mint }],
      getTransactionCount: [],
      isBlockhashValid: [mint],
      sendTransaction: [wire],
      simulateTransaction: [wire],
    };
    await localnet.warp({ slots: 50n });
    for (const [method, params] of Object.entries(parameters)) {
      const { error } = await call(method, [...params, { minContextSlot: 20, encoding: 'base64' }]);
      const expected = { code: -32016, data: { contextSlot: 19 } };
      assert.partialDeepStrictEqual(error, expected, `${method}: ${JSON.stringify(error)}`);
    }
  });

  test('of the clock shows the time of the bank, also if slots were skipped', async (t) => {
    const { localnet, call } = await startCluster(t);
    await localnet.warp({ slots: 1_000n });
    const slotOf = async (commitment: Commitment) => {
      const { result } = await call('getAccountInfo', [CLOCK, { commitment, encoding: 'base64' }]);
      const { context, value } = result as { context: { slot: number }; value: { data: [string] } }; // its shape
      return [BigInt(context.slot), Buffer.from(value.data[0], 'base64').readBigUInt64LE()];
    };
    assert.deepEqual(await Promise.all(COMMITMENTS.map(slotOf)), [
      [1001n, 1001n],
      [1000n, 1000n],
      [969n, 969n],
    ]);
  });
});

describe('a blockhash', () => {
  test('is unknown at a commitment that has not reached its block', async (t) => {
    const { localnet, rpc, wallet, sign } = await startCluster(t);
    const payer = await wallet();
    await localnet.warp({ slots: 100n });
    const { wire } = await sign(payer, [transfer(payer, payer.address)]);
    const { blockhash } = (await rpc.getLatestBlockhash({ commitment: 'confirmed' }).send()).value;
    const isValid = async (commitment: Commitment) =>
      (await rpc.isBlockhashValid(blockhash, { commitment }).send()).value;
    assert.deepEqual(await Promise.all(COMMITMENTS.map(isValid)), [true, true, false]);
    const simulated = async (commitment: Commitment) =>
      (await rpc.simulateTransaction(wire, { encoding: 'base64', commitment }).send()).value.err;
    assert.deepEqual(await Promise.all(COMMITMENTS.map(simulated)), [null, null, 'BlockhashNotFound']);
    const refused = await preflightError(
      rpc.sendTransaction(wire, { encoding: 'base64', preflightCommitment: 'finalized' }).send(),
    );
    assert.match(String(refused), /Blockhash not found/);
    await rpc.sendTransaction(wire, { encoding: 'base64', preflightCommitment: 'confirmed' }).send();
  });
});

describe('a simulation', () => {
  test('runs on the accounts of its commitment and does not change the newest ones', async (t) => {
    const { localnet, rpc, wallet, sign, send, balance } = await startCluster(t);
    const [payer, recipient] = [await wallet(), await wallet(0n)];
    await localnet.warp({ slots: FINAL_SLOTS });
    await send(payer, [transfer(payer, recipient.address)], { commitment: 'finalized' });
    const { wire } = await sign(recipient, [transfer(recipient, payer.address, SOL / 2n)], { commitment: 'finalized' });
    const accounts = { addresses: [payer.address, recipient.address], encoding: 'base64' } as const;
    const simulate = async (commitment: Commitment) => {
      const { value } = await rpc.simulateTransaction(wire, { encoding: 'base64', commitment, accounts }).send();
      return [value.err, ...(value.accounts ?? []).map((account) => account?.lamports)];
    };
    const paid = [null, 9n * SOL - 5000n + SOL / 2n, SOL / 2n - 5000n];
    assert.deepEqual(await simulate('processed'), paid);
    assert.deepEqual((await simulate('confirmed'))[0], 'AccountNotFound');
    await localnet.warp();
    assert.deepEqual(await simulate('confirmed'), paid);
    assert.deepEqual((await simulate('finalized'))[0], 'AccountNotFound');
    assert.deepEqual([await balance(payer.address), await balance(recipient.address)], [9n * SOL - 5000n, SOL]);
  });
});

describe('a change by the bank', () => {
  test('is visible at every commitment at once, beside changes that are not', async (t) => {
    const { localnet, rpc, wallet, send } = await startCluster(t);
    const owner = await wallet();
    const mint = await localnet.bank.createMint(0, false);
    const account = await localnet.bank.mintTo(mint, owner.address, 100n);
    await localnet.warp({ slots: FINAL_SLOTS });
    const burn = () => getBurnCheckedInstruction({ account, mint, authority: owner, amount: 10n, decimals: 0 });
    await send(owner, [burn()]);
    await localnet.warp();
    await send(owner, [burn()]);
    await localnet.bank.mintTo(mint, owner.address, 1_000n);
    const amounts = async () =>
      Promise.all(
        COMMITMENTS.map(async (commitment) => [
          (await rpc.getTokenAccountBalance(account, { commitment }).send()).value.amount,
          (await rpc.getTokenSupply(mint, { commitment }).send()).value.amount,
        ]),
      );
    assert.deepEqual(await amounts(), [
      ['1080', '1080'],
      ['1090', '1090'],
      ['1100', '1100'],
    ]);
    await localnet.warp({ slots: FINAL_SLOTS });
    assert.deepEqual(await amounts(), Array(3).fill(['1080', '1080']));
  });
});

describe('a subscription', () => {
  test('that is made after the execution notifies when its commitment is reached', async (t) => {
    const { localnet, wallet, send } = await startCluster(t);
    const [payer, recipient] = [await wallet(), await wallet(0n)];
    await send(payer, [transfer(payer, recipient.address)]);
    const nth = await subscribe(t, localnet.websocketUrl, [
      ['accountSubscribe', [recipient.address, { commitment: 'confirmed' }]],
      ['logsSubscribe', [{ mentions: [recipient.address] }, { commitment: 'finalized' }]],
    ]);
    await localnet.warp();
    assert.match(await nth(1), /accountNotification.*"lamports":1000000000,/);
    await localnet.warp({ slots: FINAL_SLOTS });
    assert.match(await nth(2), /logsNotification.*success/);
  });

  test('notifies at every commitment of a change by the bank', { timeout: 20_000 }, async (t) => {
    const { localnet, wallet } = await startCluster(t);
    const recipient = await wallet(0n);
    const nth = await subscribe(
      t,
      localnet.websocketUrl,
      COMMITMENTS.map((commitment) => ['accountSubscribe', [recipient.address, { commitment }]]),
    );
    await localnet.bank.airdrop(recipient.address, SOL);
    assert.match(await nth(1), /"lamports":1000000000,.*"subscription":1}/);
    await localnet.warp();
    assert.match(await nth(2), /"lamports":1000000000,.*"subscription":2}/);
    await localnet.warp({ slots: FINAL_SLOTS });
    assert.match(await nth(3), /"lamports":1000000000,.*"subscription":3}/);
  });
});

function transfer(source: KeyPairSigner, destination: Address, amount = SOL) {
  return getTransferSolInstruction({ source, destination, amount });
}

/** Subscribes one after the other. @returns a function that reads the n-th notification. */
async function subscribe(
  t: { readonly after: (done: () => void) => void },
  url: string,
  calls: readonly (readonly [method: string, params: readonly unknown[]])[],
): Promise<(count: number) => Promise<string>> {
  const socket = new WebSocket(url);
  t.after(() => socket.close());
  const messages: string[] = [];
  let wake: () => void = () => undefined;
  socket.addEventListener('message', ({ data }) => {
    messages.push(String(data));
    wake();
  });
  const nth = async (isWanted: (message: string) => boolean, count: number) => {
    for (;;) {
      const found = messages.filter(isWanted)[count - 1];
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  await new Promise((resolve) => socket.addEventListener('open', resolve));
  for (const [index, [method, params]] of calls.entries()) {
    socket.send(JSON.stringify({ jsonrpc: '2.0', id: index, method, params }));
    await nth((message) => message.includes(`"id":${index}`), 1);
  }
  return (count) => nth((message) => message.includes('Notification"'), count);
}
