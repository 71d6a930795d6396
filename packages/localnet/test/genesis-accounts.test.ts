import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Address, address, generateKeyPairSigner, getAddressEncoder } from '@solana/kit';
import { SOL, startCluster } from './cluster.ts';

/** Its account holds the ELF file itself. */
const MEMO_PROGRAM = address('MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr');

test('a cluster starts with accounts from files, at their own address or another', async (t) => {
  const directory = await temporaryDirectory(t);
  const [own, other] = [await newAddress(), await newAddress()];
  await writeFile(join(directory, 'account.json'), accountFile(own, [1, 2, 3]));
  const { rpc } = await startCluster(t, {
    genesis: {
      accountDirectories: [directory],
      accounts: [{ address: other, file: join(directory, 'account.json') }],
    },
  });
  for (const at of [own, other]) {
    const { value } = await rpc.getAccountInfo(at, { encoding: 'base64', commitment: 'finalized' }).send();
    assert.deepEqual(
      [value?.lamports, value?.owner, Buffer.from(value?.data[0] ?? '', 'base64')],
      [9_007_199_254_740_993n, MEMO_PROGRAM, Buffer.of(1, 2, 3)],
    );
  }
});

test('a cluster starts with a program from an ELF file', async (t) => {
  const directory = await temporaryDirectory(t);
  const file = join(directory, 'program.so');
  const first = await startCluster(t);
  const program = await first.rpc.getAccountInfo(MEMO_PROGRAM, { encoding: 'base64' }).send();
  await writeFile(file, Buffer.from(program.value?.data[0] ?? '', 'base64'));
  const target = await newAddress();
  const { wallet, sign, rpc } = await startCluster(t, { genesis: { programs: [{ address: target, file }] } });
  const data = new TextEncoder().encode('hello');
  const { wire } = await sign(await wallet(SOL), [{ programAddress: target, data }]);
  const { value } = await rpc.simulateTransaction(wire, { encoding: 'base64' }).send();
  assert.equal(value.err, null);
  assert.match(value.logs?.join() ?? '', new RegExp(`Program ${target} success`));
});

test('a cluster starts with a program from account files, whichever of its two accounts is read first', async (t) => {
  const directory = await temporaryDirectory(t);
  const first = await startCluster(t);
  const memo = await first.rpc.getAccountInfo(MEMO_PROGRAM, { encoding: 'base64' }).send();
  const [program, code] = [await newAddress(), await newAddress()];
  const key = getAddressEncoder().encode(code);
  await writeFile(join(directory, 'a.json'), loaderFile(program, [2, 0, 0, 0, ...key], true));
  const elf = Buffer.from(memo.value?.data[0] ?? '', 'base64');
  await writeFile(join(directory, 'b.json'), loaderFile(code, [3, ...new Uint8Array(44), ...elf], false));
  const { wallet, sign, rpc } = await startCluster(t, { genesis: { accountDirectories: [directory] } });
  const { wire } = await sign(await wallet(), [{ programAddress: program, data: new TextEncoder().encode('hello') }]);
  assert.equal((await rpc.simulateTransaction(wire, { encoding: 'base64' }).send()).value.err, null);
});

test('a missing or invalid file is named in the error', async (t) => {
  const directory = await temporaryDirectory(t);
  const file = join(directory, 'account.json');
  const start = () => startCluster(t, { genesis: { accountDirectories: [directory] } });
  await writeFile(file, '{"pubkey":"x"}');
  await assert.rejects(start(), /account\.json is not an account: account: /);
  await writeFile(file, '{');
  await assert.rejects(start(), /account\.json is not JSON/);
  const accounts = [{ address: MEMO_PROGRAM, file: join(directory, 'none.json') }];
  await assert.rejects(startCluster(t, { genesis: { accounts } }), /none\.json cannot be read/);
});

async function newAddress(): Promise<Address> {
  return (await generateKeyPairSigner()).address;
}

/** As the Solana CLI writes it. */
function accountFile(pubkey: Address, data: readonly number[]): string {
  const base64 = Buffer.from(data).toString('base64');
  return `{"pubkey":"${pubkey}","account":{"lamports":9007199254740993,"data":["${base64}","base64"],
    "owner":"${MEMO_PROGRAM}","executable":false,"rentEpoch":18446744073709551615,"space":${data.length}}}`;
}

/** An account of the upgradeable loader: a program, or its code. */
function loaderFile(pubkey: Address, data: readonly number[], executable: boolean): string {
  const content = [Buffer.from(data).toString('base64'), 'base64'];
  const owner = 'BPFLoaderUpgradeab1e11111111111111111111111';
  return JSON.stringify({ pubkey, account: { lamports: 1_000_000_000, data: content, owner, executable } });
}

async function temporaryDirectory(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'flywheel-localnet-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  return directory;
}
