import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { type Address, address, generateKeyPairSigner, getAddressEncoder } from '@solana/kit';
import { getCreateAccountInstruction } from '@solana-program/system';
import { getBurnCheckedInstruction, getTransferInstruction, TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import {
  getEnableMemoTransfersInstruction,
  getInitializeAccount3Instruction,
  getTokenSize,
} from '@solana-program/token-2022';
import { startCluster } from '../cluster.ts';

const TOKEN_2022 = address('TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb');
const U64_MAX = 18_446_744_073_709_551_615n;

for (const [name, programAddress, token2022] of [
  ['SPL Token', TOKEN_PROGRAM_ADDRESS, false],
  ['Token-2022', TOKEN_2022, true],
] as const) {
  test(`${name}: every method shows a supply up to u64 exactly`, async (t) => {
    const { localnet, rpc, wallet } = await startCluster(t);
    const owner = await wallet();
    const mint = await localnet.bank.createMint(9, token2022);
    const account = await localnet.bank.mintTo(mint, owner.address, U64_MAX);
    await localnet.warp({ slots: 3n });
    const { value: balance } = await rpc.getTokenAccountBalance(account).send();
    assert.deepEqual([balance.amount, balance.uiAmountString], [String(U64_MAX), '18446744073.709551615']);
    assert.equal((await rpc.getTokenSupply(mint).send()).value.amount, String(U64_MAX));
    const { value: largest } = await rpc.getTokenLargestAccounts(mint).send();
    assert.deepEqual(
      largest.map((holder) => holder.address),
      [account],
    );
    const { value: owned } = await rpc
      .getTokenAccountsByOwner(owner.address, { programId: programAddress }, { encoding: 'jsonParsed' })
      .send();
    assert.equal(owned[0]?.pubkey, account);
    assert.equal(owned[0]?.account.data.parsed.info.tokenAmount.amount, String(U64_MAX));
    const { value: parsed } = await rpc.getAccountInfo(mint, { encoding: 'jsonParsed' }).send();
    assert.partialDeepStrictEqual(parsed?.data, { parsed: { info: { supply: String(U64_MAX), decimals: 9 } } });
  });

  test(`${name}: a transaction's token balances show a burn`, async (t) => {
    const { localnet, rpc, wallet, send } = await startCluster(t);
    const owner = await wallet();
    const mint = await localnet.bank.createMint(2, token2022);
    const account = await localnet.bank.mintTo(mint, owner.address, 500n);
    const burn = getBurnCheckedInstruction(
      { account, mint, authority: owner, amount: 120n, decimals: 2 },
      { programAddress },
    );
    const signature = await send(owner, [burn]);
    await localnet.warp();
    const transaction = await rpc
      .getTransaction(signature, { commitment: 'confirmed', encoding: 'json', maxSupportedTransactionVersion: 0 })
      .send();
    const { preTokenBalances, postTokenBalances } = transaction?.meta ?? {};
    assert.deepEqual(
      preTokenBalances?.map((entry) => entry.uiTokenAmount.amount),
      ['500'],
    );
    assert.deepEqual(
      postTokenBalances?.map((entry) => entry.uiTokenAmount.uiAmountString),
      ['3.8'],
    );
    assert.deepEqual(
      postTokenBalances?.map((entry) => [entry.mint, entry.owner]),
      [[mint, owner.address]],
    );
  });
}

test('jsonParsed shows a Token-2022 account with room for an extension that it does not have yet', async (t) => {
  const { localnet, rpc, wallet, send } = await startCluster(t);
  const owner = await wallet();
  const mint = await localnet.bank.createMint(2, true);
  const account = await generateKeyPairSigner();
  const space = getTokenSize([{ __kind: 'MemoTransfer', requireIncomingTransferMemos: true }]);
  const extensions = async () => {
    const { value } = await rpc
      .getAccountInfo(account.address, { encoding: 'jsonParsed', commitment: 'processed' })
      .send();
    assert.ok(value && 'parsed' in value.data);
    return Reflect.get(Object(value.data.parsed.info), 'extensions');
  };
  await send(owner, [
    getCreateAccountInstruction({
      payer: owner,
      newAccount: account,
      lamports: await rpc.getMinimumBalanceForRentExemption(BigInt(space)).send(),
      space,
      programAddress: TOKEN_2022,
    }),
    getInitializeAccount3Instruction({ account: account.address, mint, owner: owner.address }),
  ]);
  assert.equal(await extensions(), undefined);
  await send(owner, [getEnableMemoTransfersInstruction({ token: account.address, owner })]);
  assert.deepEqual(await extensions(), [{ extension: 'memoTransfer', state: { requireIncomingTransferMemos: true } }]);
});

test('getProgramAccounts filters by size and bytes, and slices data', async (t) => {
  const { localnet, rpc, wallet } = await startCluster(t);
  const [owner, other] = [await wallet(), await wallet()];
  const mint = await localnet.bank.createMint(6, false);
  const account = await localnet.bank.mintTo(mint, owner.address, 7n);
  await localnet.bank.mintTo(mint, other.address, 8n);
  const found = await rpc
    .getProgramAccounts(TOKEN_PROGRAM_ADDRESS, {
      encoding: 'base64',
      dataSlice: { offset: 64, length: 8 },
      filters: [{ dataSize: 165n }, { memcmp: { offset: 32n, bytes: owner.address, encoding: 'base58' } }],
    })
    .send();
  assert.deepEqual(
    found.map(({ pubkey }) => pubkey),
    [account],
  );
  assert.equal(Buffer.from(found[0]?.account.data[0] ?? '', 'base64').readBigUInt64LE(), 7n);
});

test('accounts of a program are listed by address, also in older banks', async (t) => {
  const { localnet, wallet, send, call } = await startCluster(t);
  const mint = await localnet.bank.createMint(0, false);
  const owner = await wallet();
  const own = await localnet.bank.mintTo(mint, owner.address, 40n);
  const others: Address[] = [];
  for (let count = 0; count < 12; count += 1) {
    others.push(await localnet.bank.mintTo(mint, (await wallet()).address, 1n));
  }
  await localnet.warp({ slots: 40n });
  // The older bank holds these accounts as they were, the others as they are.
  for (const destination of others.slice(4, 8)) {
    await send(owner, [getTransferInstruction({ source: own, destination, authority: owner, amount: 1n })]);
  }
  const bytes = (account: Address) => Buffer.from(getAddressEncoder().encode(account));
  const expected = [own, ...others].toSorted((a, b) => Buffer.compare(bytes(a), bytes(b)));
  const filters = [{ dataSize: 165 }, { memcmp: { offset: 0, bytes: mint } }];
  for (const commitment of ['processed', 'finalized'] as const) {
    const { result } = await call('getProgramAccounts', [
      TOKEN_PROGRAM_ADDRESS,
      { commitment, encoding: 'base64', filters },
    ]);
    assert.deepEqual(
      (result as { pubkey: Address }[]).map(({ pubkey }) => pubkey),
      expected,
    ); // the documented shape
  }
});

test('getTokenLargestAccounts lists empty accounts too, and equal ones from the last address to the first', async (t) => {
  const { localnet, rpc, wallet } = await startCluster(t);
  const mint = await localnet.bank.createMint(0, false);
  const accounts: { readonly account: Address; readonly amount: bigint }[] = [];
  for (const amount of [5n, 0n, 9n, 5n, 0n, 5n]) {
    accounts.push({ account: await localnet.bank.mintTo(mint, (await wallet()).address, amount), amount });
  }
  const bytes = (account: Address) => Buffer.from(getAddressEncoder().encode(account));
  const { value } = await rpc.getTokenLargestAccounts(mint).send();
  assert.deepEqual(
    value.map(({ address, amount }) => [address, amount]),
    accounts
      .toSorted((a, b) => Number(b.amount - a.amount) || Buffer.compare(bytes(b.account), bytes(a.account)))
      .map(({ account, amount }) => [account, String(amount)]),
  );
});

test('the Squads ProgramConfig account exists from the first slot, as on mainnet', async (t) => {
  const { rpc } = await startCluster(t);
  const { value } = await rpc
    .getAccountInfo(address('BSTq9w3kZwNwpBXJEvTZz2G9ZTNyKBvoSeXMvwb4cNZr'), { encoding: 'base64' })
    .send();
  const bytes = Buffer.from(value?.data[0] ?? '', 'base64');
  assert.equal(value?.owner, 'SQDS4ep65T869zMMBKyuUq6aD6EgTu8psMjkvj52pCf');
  assert.equal(
    createHash('sha256').update(bytes).digest('hex'),
    'ba8e7712f069f2e68e8583b105ac2eb22d791265440da56df32f9f3f734af3e0',
  );
});
