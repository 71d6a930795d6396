import { type Address, getBase58Decoder } from '@solana/kit';
import { getAdvanceNonceAccountInstruction, getTransferSolInstruction } from '@solana-program/system';
import {
  getCreateAssociatedTokenIdempotentInstruction,
  getTransferCheckedInstruction,
  TOKEN_PROGRAM_ADDRESS,
} from '@solana-program/token';
import { VERSIONS, type Version } from '../../wire/signed-wire.ts';
import { resultOf, waitFor } from '../client.ts';
import {
  changeWire,
  computeUnitLimit,
  instruction,
  memo,
  readBlockhash,
  signWire,
  type Wire,
} from '../transactions.ts';
import { SOL, TOKENS, V1_LIMITS, type World } from '../world.ts';
import { atEachCommitment, type Call, COMMITMENTS, call, FUTURE_SLOT } from './call.ts';

const MAX_BASE64 = { legacy: 1_644, v1: 5_464 } as const;

/** Calls that simulate, price and send transactions: those that work, and failures of each kind. */
export async function submissionCalls(world: World): Promise<Call[]> {
  const wires = await makeWires(world);
  return [...simulations(world, wires), ...sends(world, wires), ...malformedWires(wires), ...(await fees(world))];
}

type Wires = Awaited<ReturnType<typeof makeWires>>;

async function makeWires({ target, roles, keys, addresses, landed }: World) {
  const blockhash = await readBlockhash(target, roles);
  const { sender, recipient, poor, newcomer, stranger, nonce, mint } = keys;
  const { token, recipientToken, table, nowhere } = addresses;
  const give = (amount: bigint, source = sender, destination = recipient.address) =>
    getTransferSolInstruction({ source, destination, amount });
  const sign = (version: Version, ...instructions: Parameters<typeof signWire>[1][number][]) =>
    signWire(sender, instructions, { version, blockhash, config: V1_LIMITS });
  const advance = getAdvanceNonceAccountInstruction({ nonceAccount: nonce.address, nonceAuthority: sender });
  const nothingIn = new Uint8Array();
  const transfer = { source: token, mint: mint.address, destination: recipientToken, authority: sender, decimals: 6 };
  const good = await Promise.all(VERSIONS.map((version) => sign(version, give(1_000n))));
  const [legacy, v0, v1] = good as [Wire, Wire, Wire]; // one for each of VERSIONS
  const tables = (address: Address, list: Address[]) => ({ blockhash, tables: { [address]: list } });
  const createToken = getCreateAssociatedTokenIdempotentInstruction({
    payer: sender,
    ata: recipientToken,
    owner: recipient.address,
    mint: mint.address,
  });
  const failing = {
    'bad signature': changeWire(v0, 0, (bytes) => bytes.set([1, 2, 3], 10)),
    'bad signature in legacy': changeWire(legacy, 'legacy', (bytes) => bytes.set([1, 2, 3], 10)),
    'bad signature in v1': changeWire(v1, 1, (bytes) => bytes.set([1, 2, 3], bytes.length - 10)),
    'no signature': changeWire(v0, 0, (bytes) => bytes.fill(0, 1, 65)),
    'unknown blockhash': await signWire(sender, [give(1n)], { blockhash: nowhere }),
    'already processed': landed.token2022,
    'used nonce': landed.nonce,
    'nonce without advancing': await signWire(sender, [give(1n)], { blockhash: nonceValue(roles) }),
    'fee payer without account': await signWire(stranger, [give(1n, stranger)], { blockhash }),
    'fee payer without lamports for rent': await signWire(poor, [give(1n, poor)], { blockhash }),
    'fee above the balance': await signWire(poor, [memo('fee')], {
      version: 1,
      blockhash,
      config: { ...V1_LIMITS, priorityFeeLamports: SOL },
    }),
    'fee payer with data': await signWire(mint, [memo('fee')], { blockhash }),
    'fee payer with a nonce': await signWire(nonce, [memo('fee')], { blockhash }),
    'no funds in instruction 1': await sign(0, memo('first'), give(100n * SOL)),
    'v1 without limits': await signWire(sender, [give(1n)], { version: 1, blockhash }),
    'v1 that loads too much': await signWire(sender, [give(1n)], {
      version: 1,
      blockhash,
      config: { ...V1_LIMITS, loadedAccountsDataSizeLimit: 100 },
    }),
    'no funds in instruction 0 of v1': await sign(1, give(100n * SOL)),
    'account without rent': await sign(0, give(1n, sender, newcomer.address)),
    'missing program': await sign(0, instruction(nowhere, nothingIn)),
    'program without code': await sign(0, instruction(recipient.address, nothingIn)),
    'unknown instruction of System': await sign(
      0,
      instruction('11111111111111111111111111111111', new Uint8Array([99])),
    ),
    'unknown instruction of Token': await sign(0, instruction(TOKEN_PROGRAM_ADDRESS, new Uint8Array([250]))),
    'memo without text': await sign(0, instruction(memo('').programAddress, new Uint8Array([255]))),
    'too few tokens': await sign(0, getTransferCheckedInstruction({ ...transfer, amount: 100n * TOKENS })),
    'wrong decimals': await sign(0, getTransferCheckedInstruction({ ...transfer, amount: 1n, decimals: 5 })),
    'wrong owner of tokens': await sign(
      0,
      getTransferCheckedInstruction({ ...transfer, amount: 1n, source: recipientToken, destination: token }),
    ),
    'too few compute units': await sign(0, computeUnitLimit(100), memo('costs more')),
    'limit twice': await sign(0, computeUnitLimit(100), computeUnitLimit(100)),
    'malformed compute budget': await sign(0, instruction(computeUnitLimit(1).programAddress, new Uint8Array([99]))),
    'missing table': await signWire(sender, [give(1n)], tables(nowhere, [recipient.address])),
    'table that is none': await signWire(sender, [give(1n)], tables(token, [recipient.address])),
    'index outside the table': await signWire(
      sender,
      [give(1n)],
      tables(table, [sender.address, sender.address, sender.address, recipient.address]),
    ),
    'old nonce after an advance': await signWire(sender, [advance, give(9n)], { blockhash: nonceValue(roles) }),
  };
  const working = {
    legacy,
    v0,
    v1,
    'with a table': await signWire(sender, [give(1n)], tables(table, [recipient.address, sender.address])),
    'with inner instructions': await sign(0, createToken, getTransferCheckedInstruction({ ...transfer, amount: 1n })),
    'with a nonce': await signWire(sender, [advance, give(9n)], { blockhash: nonceValue(roles, 'next nonce value') }),
  };
  const wires: Readonly<Record<string, Wire>> = { ...failing, ...working };
  for (const [name, { signature }] of Object.entries(wires)) {
    if (!roles.has(signature)) roles.set(signature, `signature of simulated ${name}`);
  }
  return { failing, working };
}

function simulations({ keys, addresses }: World, { failing, working }: Wires): Call[] {
  const simulate = (about: string, { base64 }: Wire, config: object = {}) =>
    call('simulateTransaction', about, [base64, { encoding: 'base64', commitment: 'confirmed', ...config }]);
  const { v0, legacy } = working;
  const inner = working['with inner instructions'];
  const unknown = failing['unknown blockhash'];
  const recipient = keys.recipient.address;
  const shown = (encoding: string, list: readonly unknown[] = [recipient, addresses.token]) => {
    return { accounts: { encoding, addresses: list } };
  };
  return [
    ...Object.entries(working).map(([name, wire]) => simulate(name, wire)),
    ...Object.entries(failing).map(([name, wire]) => simulate(name, wire)),
    ...['bad signature', 'no signature'].map((name) =>
      simulate(`${name}, verified`, failing[name as keyof typeof failing], { sigVerify: true }),
    ),
    ...atEachCommitment('simulateTransaction', [v0.base64], { encoding: 'base64' }),
    simulate('verified', v0, { sigVerify: true }),
    simulate('inner instructions', inner, { innerInstructions: true }),
    simulate('inner instructions, none', v0, { innerInstructions: true }),
    simulate('blockhash replaced', unknown, { replaceRecentBlockhash: true }),
    simulate('blockhash replaced and verified', v0, { replaceRecentBlockhash: true, sigVerify: true }),
    simulate('blockhash replaced in a failing one', failing['no funds in instruction 1'], {
      replaceRecentBlockhash: true,
    }),
    ...['base64', 'base64+zstd', 'jsonParsed', 'base58', 'hex'].map((encoding) =>
      simulate(`accounts in ${encoding}`, v0, shown(encoding)),
    ),
    simulate('accounts of a failing one', failing['no funds in instruction 1'], shown('base64')),
    simulate('no accounts', v0, shown('base64', [])),
    simulate('an account of another', v0, shown('base64', [addresses.nowhere])),
    simulate(
      'too many accounts',
      v0,
      shown(
        'base64',
        Array.from({ length: 9 }, () => recipient),
      ),
    ),
    simulate('malformed account', v0, shown('base64', ['abc'])),
    simulate('accounts without encoding', v0, { accounts: { addresses: [recipient] } }),
    call('simulateTransaction', 'in base58', [getBase58Decoder().decode(legacy.bytes)]),
    call('simulateTransaction', 'parsed encoding', [v0.base64, { encoding: 'jsonParsed' }]),
  ];
}

function sends({ landed }: World, { failing, working }: Wires): Call[] {
  const send = (about: string, { base64 }: Wire, config: object = {}) =>
    call('sendTransaction', about, [base64, { encoding: 'base64', preflightCommitment: 'confirmed', ...config }]);
  const { v0 } = working;
  const skipPreflight = true;
  return [
    ...Object.entries(failing).map(([name, wire]) => send(name, wire)),
    ...['unknown blockhash', 'bad signature', 'no signature'].map((name) =>
      send(`${name} without preflight`, failing[name as keyof typeof failing], { skipPreflight }),
    ),
    send('already processed without preflight', landed.token2022, { skipPreflight }),
    ...COMMITMENTS.map((preflightCommitment) =>
      send(`no funds at ${preflightCommitment}`, failing['no funds in instruction 1'], { preflightCommitment }),
    ),
    send('future minContextSlot', v0, { minContextSlot: FUTURE_SLOT }),
    send('future minContextSlot without preflight', v0, { minContextSlot: FUTURE_SLOT, skipPreflight }),
    send('malformed maxRetries', v0, { maxRetries: -1 }),
    send('unknown commitment', v0, { preflightCommitment: 'red' }),
    call('sendTransaction', 'parsed encoding', [v0.base64, { encoding: 'jsonParsed' }]),
    call('sendTransaction', 'json encoding', [v0.base64, { encoding: 'json' }]),
  ];
}

function malformedWires({ working }: Wires): Call[] {
  const { v0, legacy, v1 } = working;
  const broken = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');
  const changed = (wire: Wire, version: Version, offset: number, ...values: number[]) =>
    changeWire(wire, version, (bytes) => bytes.set(values, offset)).base64;
  const texts: Readonly<Record<string, string>> = {
    nothing: '',
    'not base64': '*',
    'base64 without padding': 'AAA',
    'a few bytes': 'AAAA',
    'cut off': broken(v0.bytes.subarray(0, -3)),
    'v1 cut off': broken(v1.bytes.subarray(0, -3)),
    'trailing bytes': broken(Buffer.concat([v0.bytes, Buffer.alloc(3)])),
    'v1 with trailing bytes': broken(Buffer.concat([v1.bytes, Buffer.alloc(3)])),
    '1,233 bytes': broken(Buffer.concat([v0.bytes, Buffer.alloc(1_233 - v0.bytes.length)])),
    'text too long': 'A'.repeat(MAX_BASE64.legacy + 4),
    'v1 of 4,097 bytes': broken(Buffer.concat([v1.bytes, Buffer.alloc(4_097 - v1.bytes.length)])),
    'text of v1 too long': `gQ${'A'.repeat(MAX_BASE64.v1 + 2)}`,
    'version 2': changed(v0, 0, 65, 0x82),
    'two signatures announced': changed(v0, 0, 0, 2),
    'header that asks for two signatures': changed(v0, 0, 66, 2),
    'header without a signer': changed(v0, 0, 66, 0),
    'fee payer that is read-only': changed(v0, 0, 67, 1),
    'more read-only accounts than accounts': changed(v0, 0, 68, 9),
    'legacy header with too many accounts': changed(legacy, 'legacy', 67, 9),
    'program index outside the accounts': changed(v0, 0, programIndexOffset(v0), 77),
    'fee payer as program': changed(v0, 0, programIndexOffset(v0), 0),
    'account twice': changed(v0, 0, 70 + 32, ...v0.bytes.subarray(70, 70 + 32)),
  };
  return [
    ...Object.entries(texts).flatMap(([about, text]) => [
      call('sendTransaction', `malformed, ${about}`, [text, { encoding: 'base64' }]),
      call('simulateTransaction', `malformed, ${about}`, [text, { encoding: 'base64', commitment: 'confirmed' }]),
    ]),
    call('sendTransaction', 'malformed, not base58', ['0OIl']),
    call('sendTransaction', 'malformed, text of base58 too long', ['1'.repeat(1_684)]),
    call('sendTransaction', 'malformed, base64 as base58', ['gAEAAQ0+']),
    call('sendTransaction', 'malformed, 1,233 bytes in base58', ['1'.repeat(1_233)]),
  ];
}

/** The first instruction is the last but: program, two accounts, twelve bytes, no tables. */
function programIndexOffset({ bytes }: Wire): number {
  return bytes.length - (1 + 1 + 2 + 1 + 12 + 1);
}

async function fees({ target, roles, keys, addresses, oldBlockhash }: World): Promise<Call[]> {
  const blockhash = await readBlockhash(target, roles);
  const { sender, recipient } = keys;
  const give = getTransferSolInstruction({ source: sender, destination: recipient.address, amount: 1n });
  const message = ({ bytes }: Wire, version: Version) =>
    Buffer.from(version === 1 ? bytes.subarray(0, -64) : bytes.subarray(65)).toString('base64');
  const price = async (about: string, version: Version, lifetime = blockhash): Promise<Call> => {
    const wire = await signWire(sender, [give], {
      version,
      blockhash: lifetime,
      config: { ...V1_LIMITS, priorityFeeLamports: 7n },
    });
    return call('getFeeForMessage', about, [message(wire, version), { commitment: 'confirmed' }]);
  };
  return [
    ...(await Promise.all(VERSIONS.map((version) => price(`version ${version}`, version)))),
    ...atEachCommitment('getFeeForMessage', [message(await signWire(sender, [give], { blockhash: oldBlockhash }), 0)]),
    await price('unknown blockhash', 0, addresses.nowhere),
    call('getFeeForMessage', 'not base64', ['*']),
    call('getFeeForMessage', 'nothing', ['']),
    call('getFeeForMessage', 'a few bytes', ['AAAA']),
  ];
}

function nonceValue(roles: World['roles'], role = 'nonce value'): string {
  const [value] = [...roles].find(([, name]) => name === role) ?? [];
  if (value === undefined) throw new Error(`There is no ${role}.`);
  return value;
}

/** Airdrops go to an account about which nothing else is asked. */
export function airdropCalls({ keys }: World): Call[] {
  const airdrop = (about: string, ...params: unknown[]) => call('requestAirdrop', about, params, 'kinds');
  const { address } = keys.stranger;
  return [
    airdrop('of 1 SOL', address, SOL),
    airdrop('with a commitment', address, SOL + 1n, { commitment: 'confirmed' }),
    airdrop('of more than there is', address, 18_446_744_073_709_551_615n),
    airdrop('to a malformed address', 'abc', 1),
    airdrop('of a negative amount', address, -1),
  ];
}

/** Waits until the first blockhash of the script has expired: a minute on a cluster with slots of 400 ms. */
export async function expiredCalls({ target, keys, oldBlockhash }: World): Promise<Call[]> {
  await waitFor(target, 'the first blockhash expires', async () => {
    const result = await resultOf(target, 'isBlockhashValid', [oldBlockhash, { commitment: 'processed' }]);
    return (result as { value: boolean }).value ? null : true; // the documented shape
  });
  const old = await signWire(keys.sender, [memo('old')], { blockhash: oldBlockhash });
  const send = (about: string, config: object) =>
    call('sendTransaction', about, [old.base64, { encoding: 'base64', ...config }]);
  return [
    send('expired blockhash', { preflightCommitment: 'processed' }),
    call('simulateTransaction', 'expired blockhash', [old.base64, { encoding: 'base64', commitment: 'processed' }]),
    call('isBlockhashValid', 'expired blockhash', [oldBlockhash, { commitment: 'processed' }]),
  ];
}
