import { SYSVAR_CLOCK_ADDRESS, SYSVAR_RENT_ADDRESS } from '@solana/sysvars';
import { SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import { TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import { TOKEN_2022_PROGRAM_ADDRESS } from '@solana-program/token-2022';
import type { World } from '../world.ts';
import { atEachCommitment, type Call, call } from './call.ts';

const ENCODINGS = ['base58', 'base64', 'base64+zstd', 'jsonParsed'] as const;
const AMOUNT = { offset: 64, length: 8 };

/** Calls that read accounts and tokens. */
export function accountCalls(world: World): Call[] {
  return [
    ...oneAccount(world),
    ...severalAccounts(world),
    ...programAccounts(world),
    ...tokens(world),
    ...tokensOf('getTokenAccountsByOwner', world, world.keys.sender.address),
    ...tokensOf('getTokenAccountsByDelegate', world, world.keys.delegate.address),
  ];
}

function oneAccount({ keys, addresses }: World): Call[] {
  const { sender, recipient, mint, mint2022, nonce } = keys;
  const { token, token2022, table, nowhere } = addresses;
  const parsed = {
    mint: mint.address,
    token,
    'mint of Token-2022': mint2022.address,
    'token of Token-2022': token2022,
    nonce: nonce.address,
    table,
    wallet: sender.address,
    clock: SYSVAR_CLOCK_ADDRESS,
    rent: SYSVAR_RENT_ADDRESS,
    'slot hashes': 'SysvarS1otHashes111111111111111111111111111',
    'stake history': 'SysvarStakeHistory1111111111111111111111111',
    'epoch schedule': 'SysvarEpochSchedu1e111111111111111111111111',
    'Token program': TOKEN_PROGRAM_ADDRESS,
    'Token-2022 program': TOKEN_2022_PROGRAM_ADDRESS,
    'System program': SYSTEM_PROGRAM_ADDRESS,
    nothing: nowhere,
  };
  const info = (about: string, params: readonly unknown[]) => call('getAccountInfo', about, params);
  return [
    ...atEachCommitment('getBalance', [recipient.address]),
    call('getBalance', 'no account', [nowhere]),
    ...atEachCommitment('getAccountInfo', [token], { encoding: 'base64' }),
    ...ENCODINGS.map((encoding) => info(`mint in ${encoding}`, [mint.address, { encoding }])),
    ...ENCODINGS.map((encoding) => info(`token in ${encoding}`, [token, { encoding }])),
    ...ENCODINGS.map((encoding) => info(`slice in ${encoding}`, [token, { encoding, dataSlice: AMOUNT }])),
    ...Object.entries(parsed).map(([name, address]) => {
      const detail = ['slot hashes', 'stake history', 'clock'].includes(name) ? 'kinds' : 'values';
      return call('getAccountInfo', `parsed ${name}`, [address, { encoding: 'jsonParsed' }], detail);
    }),
    info('mint without encoding', [mint.address]),
    info('token without encoding', [token]),
    info('null as configuration', [mint.address, null]),
    info('slice beyond the end', [token, { encoding: 'base64', dataSlice: { offset: 160, length: 100 } }]),
    info('slice after the end', [token, { encoding: 'base64', dataSlice: { offset: 500, length: 1 } }]),
    info('empty slice', [token, { encoding: 'base64', dataSlice: { offset: 0, length: 0 } }]),
    info('slice of a parsed nonce', [nonce.address, { encoding: 'jsonParsed', dataSlice: AMOUNT }]),
    info('slice without length', [token, { encoding: 'base64', dataSlice: { offset: 1 } }]),
    info('unknown encoding', [token, { encoding: 'hex' }]),
    info('encoding binary', [mint.address, { encoding: 'binary' }]),
    info('unknown member', [mint.address, { encoding: 'base64', colour: 'red' }]),
    info('configuration as text', [mint.address, 'base64']),
    info('short address', ['abc']),
    info('address outside base58', ['0OIl']),
  ];
}

function severalAccounts({ keys, addresses }: World): Call[] {
  const { mint, poor } = keys;
  const list = [mint.address, addresses.nowhere, poor.address, mint.address];
  return [
    ...atEachCommitment('getMultipleAccounts', [list], { encoding: 'base64' }),
    call('getMultipleAccounts', 'without encoding', [list]),
    call('getMultipleAccounts', 'parsed', [list, { encoding: 'jsonParsed' }]),
    call('getMultipleAccounts', 'slice', [list, { encoding: 'base64', dataSlice: { offset: 36, length: 8 } }]),
    call('getMultipleAccounts', 'token in base58', [[addresses.token], { encoding: 'base58' }]),
    call('getMultipleAccounts', 'no address', [[]]),
    call('getMultipleAccounts', '101 addresses', [Array.from({ length: 101 }, () => poor.address)]),
    call('getMultipleAccounts', 'malformed address', [[poor.address, 'abc']]),
  ];
}

function programAccounts({ keys, addresses }: World): Call[] {
  const { mint, sender } = keys;
  const ofMint = { memcmp: { offset: 0, bytes: mint.address } };
  const ofOwner = { memcmp: { offset: 32, bytes: sender.address } };
  const read = (about: string, config: object) =>
    call('getProgramAccounts', about, [TOKEN_PROGRAM_ADDRESS, config], 'unordered');
  const base64 = { encoding: 'base64' };
  return [
    ...atEachCommitment('getProgramAccounts', [TOKEN_PROGRAM_ADDRESS], { ...base64, filters: [ofMint] }, 'unordered'),
    ...ENCODINGS.map((encoding) => read(`filter in ${encoding}`, { encoding, filters: [ofMint, ofOwner] })),
    read('without encoding', { filters: [ofMint, ofOwner] }),
    read('with context', { ...base64, filters: [ofMint], withContext: true }),
    read('context at a future slot', { ...base64, filters: [ofMint], withContext: true, minContextSlot: 4e9 }),
    read('slice', { ...base64, filters: [ofMint], dataSlice: AMOUNT }),
    read('data size', { ...base64, filters: [{ dataSize: 165 }, ofMint] }),
    read('data size of no account', { ...base64, filters: [{ dataSize: 7 }] }),
    read('token account state', { ...base64, filters: ['tokenAccountState', ofMint] }),
    read('bytes in base64', {
      ...base64,
      filters: [{ memcmp: { offset: 44, bytes: 'Bg==', encoding: 'base64' } }, { dataSize: 82 }],
    }),
    read('bytes as a list', { ...base64, filters: [ofMint, { memcmp: { offset: 108, bytes: [1] } }] }),
    read('bytes outside base58', { ...base64, filters: [{ memcmp: { offset: 0, bytes: '0' } }] }),
    read('bytes outside base64', { ...base64, filters: [{ memcmp: { offset: 0, bytes: '*', encoding: 'base64' } }] }),
    read('too many bytes', { ...base64, filters: [{ memcmp: { offset: 0, bytes: '1'.repeat(129) } }] }),
    read('too long bytes', { ...base64, filters: [{ memcmp: { offset: 0, bytes: '1'.repeat(180) } }] }),
    read('five filters', { ...base64, filters: Array.from({ length: 5 }, () => ofMint) }),
    read('unknown filter', { ...base64, filters: [{ colour: 'red' }] }),
    read('no filters', { ...base64, filters: [{ dataSize: 82 }, { memcmp: { offset: 0, bytes: '' } }] }),
    call('getProgramAccounts', 'program without accounts', [addresses.nowhere, base64]),
    call('getProgramAccounts', 'malformed program', ['abc', base64]),
  ];
}

function tokens({ keys, addresses }: World): Call[] {
  const { mint, mint2022, sender } = keys;
  const { token, token2022, nowhere } = addresses;
  const each = (method: string, good: string, good2022: string, wrong: string): Call[] => [
    ...atEachCommitment(method, [good]),
    call(method, 'Token-2022', [good2022]),
    call(method, 'other kind of account', [wrong]),
    call(method, 'wallet', [sender.address]),
    call(method, 'no account', [nowhere]),
    call(method, 'malformed address', ['abc']),
  ];
  return [
    ...each('getTokenAccountBalance', token, token2022, mint.address),
    ...each('getTokenSupply', mint.address, mint2022.address, token),
    ...each('getTokenLargestAccounts', mint.address, mint2022.address, token),
  ];
}

function tokensOf(method: string, { keys, addresses }: World, holder: string): Call[] {
  const { mint, stranger } = keys;
  const base64 = { encoding: 'base64' };
  const ofMint = { mint: mint.address };
  const read = (about: string, filter: object, config?: object) =>
    call(method, about, [holder, filter, ...(config ? [config] : [])], 'unordered');
  return [
    ...atEachCommitment(method, [holder, ofMint], base64, 'unordered'),
    ...ENCODINGS.map((encoding) => read(`in ${encoding}`, ofMint, { encoding })),
    read('without encoding', ofMint),
    read('slice', ofMint, { ...base64, dataSlice: AMOUNT }),
    read('of the Token program', { programId: TOKEN_PROGRAM_ADDRESS }, base64),
    read('of the Token-2022 program', { programId: TOKEN_2022_PROGRAM_ADDRESS }, base64),
    read('of another program', { programId: SYSTEM_PROGRAM_ADDRESS }, base64),
    read('of no mint', { mint: addresses.nowhere }, base64),
    read('of a wallet as mint', { mint: holder }, base64),
    read('of a malformed mint', { mint: 'abc' }, base64),
    read('with neither mint nor program', {}, base64),
    read('with mint and program', { ...ofMint, programId: TOKEN_PROGRAM_ADDRESS }, base64),
    call(method, 'of a stranger', [stranger.address, ofMint, base64]),
    call(method, 'malformed holder', ['abc', ofMint, base64]),
  ];
}
