import { TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import { memo, signWire } from '../transactions.ts';
import type { World } from '../world.ts';
import { type Call, call } from './call.ts';

const CONTEXT = { commitment: null, minContextSlot: null };

/** Calls whose configurations have members that are null, as clients in Rust and Python write them. */
export async function nullCalls({ roles, keys, addresses, landed, slots, oldBlockhash }: World): Promise<Call[]> {
  const { mint } = keys;
  const { signature } = landed.legacy;
  const refused = await signWire(keys.sender, [memo('null')], { blockhash: addresses.nowhere });
  roles.set(refused.signature, 'signature of null');
  const nulls = (method: string, ...params: unknown[]) => call(method, 'null members', params);
  const kinds = (method: string, ...params: unknown[]) => call(method, 'null members', params, 'kinds');
  const ofMint = [{ memcmp: { offset: 0, bytes: mint.address } }];
  const wire = (method: string, member: string) =>
    call(method, `null as ${member}`, [refused.base64, { encoding: 'base64', [member]: null }]);
  return [
    nulls('getAccountInfo', mint.address, { ...CONTEXT, encoding: null, dataSlice: null }),
    nulls('getMultipleAccounts', [mint.address], { ...CONTEXT, encoding: null, dataSlice: null }),
    nulls('getBalance', addresses.nowhere, CONTEXT),
    {
      ...nulls('getProgramAccounts', TOKEN_PROGRAM_ADDRESS, {
        ...CONTEXT,
        encoding: 'base64',
        dataSlice: { offset: 0, length: 4 },
        filters: ofMint,
        withContext: null,
      }),
      detail: 'unordered',
    },
    nulls('getTokenSupply', mint.address, { commitment: null }),
    nulls('getTokenAccountsByOwner', addresses.nowhere, { mint: mint.address }, { ...CONTEXT, encoding: null }),
    nulls('getSignatureStatuses', [signature], { searchTransactionHistory: null }),
    nulls('getSignaturesForAddress', addresses.nowhere, { ...CONTEXT, limit: null, before: null, until: null }),
    nulls('getTransaction', signature, { commitment: null, encoding: null, maxSupportedTransactionVersion: null }),
    {
      ...nulls('getBlock', slots.legacy, {
        commitment: null,
        encoding: null,
        transactionDetails: 'signatures',
        rewards: false,
        maxSupportedTransactionVersion: null,
      }),
      only: 'signature of legacy',
    },
    call('getBlock', 'null as rewards', [slots.v0, { rewards: null, transactionDetails: 'none' }], 'kinds'),
    call('getBlock', 'null as details', [slots.v0, { transactionDetails: null }]),
    kinds('getSupply', { commitment: null, excludeNonCirculatingAccountsList: null }),
    kinds('getLargestAccounts', { commitment: null, filter: null }),
    kinds('getVoteAccounts', { commitment: null, votePubkey: null, keepUnstakedDelinquents: null }),
    kinds('getBlockProduction', { commitment: null, identity: null, range: null }),
    nulls('isBlockhashValid', oldBlockhash, CONTEXT),
    nulls('getSlot', CONTEXT),
    nulls('getLatestBlockhash', CONTEXT),
    nulls('getEpochInfo', CONTEXT),
    nulls('getFeeForMessage', '', CONTEXT),
    ...['preflightCommitment', 'maxRetries', 'minContextSlot', 'skipPreflight', 'encoding'].map((member) =>
      wire('sendTransaction', member),
    ),
    ...[
      ...['commitment', 'minContextSlot', 'accounts', 'encoding'],
      ...['sigVerify', 'replaceRecentBlockhash', 'innerInstructions'],
    ].map((member) => wire('simulateTransaction', member)),
  ];
}
