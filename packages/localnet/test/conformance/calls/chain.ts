import { SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import type { World } from '../world.ts';
import { atEachCommitment, type Call, COMMITMENTS, call, FUTURE_SLOT } from './call.ts';

/** Limits of numbers in parameters: an u64 and more. */
const U64_MAX = 18_446_744_073_709_551_615n;

/** Calls about the cluster, its slots and blocks. */
export function chainCalls(world: World): Call[] {
  return [...clusterCalls(world), ...networkCalls(world), ...blockCalls(world)];
}

function clusterCalls({ oldBlockhash, addresses, slots }: World): Call[] {
  const rent = (about: string, bytes: unknown) => call('getMinimumBalanceForRentExemption', about, [bytes]);
  return [
    call('getHealth'),
    call('getHealth', 'with parameters', [1]),
    call('getVersion', '', undefined, 'kinds'),
    call('getGenesisHash', '', undefined, 'kinds'),
    call('getIdentity', '', undefined, 'kinds'),
    call('getEpochSchedule'),
    ...['getSlot', 'getBlockHeight', 'getTransactionCount'].flatMap((method) => atEachCommitment(method)),
    ...atEachCommitment('getEpochInfo'),
    ...atEachCommitment('getLatestBlockhash'),
    ...atEachCommitment('getSupply', [], {}, 'kinds'),
    call('getSupply', 'without the list', [{ excludeNonCirculatingAccountsList: true }], 'kinds'),
    ...atEachCommitment('getLargestAccounts', [], {}, 'kinds'),
    call('getLargestAccounts', 'circulating', [{ filter: 'circulating' }], 'kinds'),
    call('getLargestAccounts', 'unknown filter', [{ filter: 'red' }], 'kinds'),
    ...COMMITMENTS.map((commitment) => call('isBlockhashValid', commitment, [oldBlockhash, { commitment }])),
    call('isBlockhashValid', 'default commitment', [oldBlockhash]),
    call('isBlockhashValid', 'future minContextSlot', [oldBlockhash, { minContextSlot: FUTURE_SLOT }]),
    call('isBlockhashValid', 'unknown blockhash', [addresses.nowhere]),
    call('isBlockhashValid', 'short blockhash', ['abc']),
    call('isBlockhashValid', 'blockhash outside base58', ['0'.repeat(44)]),
    rent('nothing', 0),
    rent('165 bytes', 165),
    rent('largest account', 10_485_760),
    rent('more than the largest account', 10_485_761),
    rent('negative', -1),
    rent('fraction', 1.5),
    rent('more than an u64', U64_MAX + 1n),
    call('getBlockTime', 'slot of a transaction', [slots.legacy]),
    call('getBlockTime', 'slot 0', [0]),
    call('getBlockTime', 'future slot', [FUTURE_SLOT]),
  ];
}

function networkCalls({ keys, addresses, slots }: World): Call[] {
  const reward = (about: string, params: readonly unknown[]) => call('getInflationReward', about, params);
  const kinds = (method: string, about = '', params?: readonly unknown[]) => call(method, about, params, 'kinds');
  return [
    kinds('getClusterNodes'),
    ...atEachCommitment('getVoteAccounts', [], {}, 'kinds'),
    kinds('getVoteAccounts', 'of no account', [{ votePubkey: addresses.nowhere }]),
    kinds('getVoteAccounts', 'malformed account', [{ votePubkey: 'abc' }]),
    ...atEachCommitment('getSlotLeader', [], {}, 'kinds'),
    kinds('getSlotLeaders', 'three', [0, 3]),
    kinds('getSlotLeaders', 'none', [0, 0]),
    kinds('getSlotLeaders', '5001', [0, 5_001]),
    kinds('getSlotLeaders', 'future', [FUTURE_SLOT, 3]),
    kinds('getLeaderSchedule', 'now', []),
    kinds('getLeaderSchedule', 'future', [FUTURE_SLOT]),
    kinds('getLeaderSchedule', 'of no node', [null, { identity: addresses.nowhere }]),
    kinds('getLeaderSchedule', 'configuration first', [{ identity: addresses.nowhere }]),
    kinds('getLeaderSchedule', 'malformed node', [null, { identity: 'abc' }]),
    ...atEachCommitment('getBlockProduction', [], {}, 'kinds'),
    kinds('getBlockProduction', 'of no node', [{ identity: addresses.nowhere }]),
    kinds('getBlockProduction', 'range', [{ range: { firstSlot: 1, lastSlot: slots.legacy } }]),
    call('getBlockProduction', 'range from behind', [{ range: { firstSlot: 2, lastSlot: 1 } }]),
    kinds('getBlockProduction', 'future range', [{ range: { firstSlot: 1, lastSlot: FUTURE_SLOT } }]),
    kinds('getBlockCommitment', 'slot of a transaction', [slots.legacy]),
    call('getBlockCommitment', 'future slot', [FUTURE_SLOT], 'kinds'),
    kinds('getInflationGovernor', 'default commitment', []),
    kinds('getInflationRate'),
    reward('before the first epoch ended', [[keys.sender.address]]),
    reward('of a future epoch', [[keys.sender.address], { epoch: 4_000_000 }]),
    reward('malformed address', [['abc']]),
    ...atEachCommitment('getStakeMinimumDelegation'),
    kinds('getRecentPerformanceSamples', 'at most 721', [721]),
    kinds('getRecentPerformanceSamples', 'none', [0]),
    kinds('getRecentPrioritizationFees', 'all', []),
    kinds('getRecentPrioritizationFees', 'of an account', [[keys.sender.address]]),
    kinds('getRecentPrioritizationFees', '129 accounts', [Array.from({ length: 129 }, () => addresses.nowhere)]),
    kinds('getRecentPrioritizationFees', 'malformed account', [['abc']]),
    kinds('getMaxRetransmitSlot'),
    kinds('getMaxShredInsertSlot'),
    kinds('getFirstAvailableBlock'),
    kinds('minimumLedgerSlot'),
  ];
}

function blockCalls({ slots }: World): Call[] {
  const { legacy, v0 } = slots;
  const versions = { maxSupportedTransactionVersion: 1, rewards: false };
  // Other transactions, votes for example, may stand in the same block.
  const block = (about: string, config: unknown, slot: unknown = legacy): Call => {
    return { ...call('getBlock', about, [slot, config]), only: 'signature of legacy' };
  };
  return [
    ...COMMITMENTS.map((commitment) => block(commitment, { ...versions, commitment, transactionDetails: 'none' })),
    ...['full', 'accounts', 'signatures', 'none', 'red'].map((transactionDetails) =>
      block(`details ${transactionDetails}`, { ...versions, transactionDetails }),
    ),
    ...['json', 'jsonParsed', 'base58', 'base64', 'hex'].map((encoding) => block(encoding, { ...versions, encoding })),
    call('getBlock', 'rewards', [legacy, { ...versions, transactionDetails: 'none', rewards: true }], 'kinds'),
    block('without a highest version', { rewards: false }, v0),
    block('future slot', versions, FUTURE_SLOT),
    block('encoding instead of a configuration', 'base64'),
    call('getBlocks', 'range', [legacy, legacy], 'kinds'),
    call('getBlocks', 'to the newest', [legacy], 'kinds'),
    call('getBlocks', 'configuration second', [legacy, { commitment: 'confirmed' }], 'kinds'),
    call('getBlocks', 'processed', [legacy, null, { commitment: 'processed' }], 'kinds'),
    call('getBlocks', 'from behind', [legacy, 0]),
    call('getBlocks', 'too long', [0, 500_001], 'kinds'),
    call('getBlocks', 'future', [FUTURE_SLOT, FUTURE_SLOT + 1]),
    call('getBlocksWithLimit', 'one', [legacy, 1], 'kinds'),
    call('getBlocksWithLimit', 'none', [legacy, 0]),
    call('getBlocksWithLimit', 'confirmed', [legacy, 2, { commitment: 'confirmed' }], 'kinds'),
    call('getBlocksWithLimit', 'processed', [legacy, 2, { commitment: 'processed' }], 'kinds'),
    call('getBlocksWithLimit', 'too many', [legacy, 500_001]),
    call('getBlocksWithLimit', 'future', [FUTURE_SLOT, 2]),
  ];
}

/** Calls about past transactions. */
export function historyCalls({ landed, keys, addresses }: World): Call[] {
  const { legacy, v0, v1, token, failed } = landed;
  const unknown = '1'.repeat(63) + legacy.signature.slice(0, 1).replace(/./, '1');
  const statuses = (about: string, ...params: unknown[]) => call('getSignatureStatuses', about, params);
  const ofAddress = (about: string, ...params: unknown[]) => call('getSignaturesForAddress', about, params);
  const read = (about: string, ...params: unknown[]) => call('getTransaction', about, params);
  const all = Object.values(landed).map(({ signature }) => signature);
  const highest = { maxSupportedTransactionVersion: 1 };
  const { sender } = keys;
  return [
    statuses('all', all),
    statuses('with history', all, { searchTransactionHistory: true }),
    statuses('unknown', [unknown]),
    statuses('none', []),
    statuses('malformed', ['abc']),
    statuses(
      '257',
      Array.from({ length: 257 }, () => unknown),
    ),
    statuses('malformed configuration', [unknown], { searchTransactionHistory: 'yes' }),
    ofAddress('all', sender.address, { limit: 9 }),
    ...COMMITMENTS.map((commitment) => ofAddress(commitment, sender.address, { commitment, limit: 2 })),
    ofAddress('before', sender.address, { before: v0.signature, limit: 1 }),
    ofAddress('until', sender.address, { until: v0.signature, before: failed.signature }),
    ofAddress('before an unknown one', sender.address, { before: unknown }),
    ofAddress('until an unknown one', sender.address, { until: unknown, limit: 1 }),
    ofAddress('program', SYSTEM_PROGRAM_ADDRESS, { before: v1.signature, limit: 1 }),
    ofAddress('no account', addresses.nowhere),
    ofAddress('malformed address', 'abc'),
    ofAddress('malformed signature', sender.address, { before: 'abc' }),
    ofAddress('limit 0', sender.address, { limit: 0 }),
    ofAddress('limit 1001', sender.address, { limit: 1_001 }),
    ofAddress('future minContextSlot', sender.address, { minContextSlot: FUTURE_SLOT }),
    ...Object.entries(landed).flatMap(([name, { signature }]) =>
      ['json', 'jsonParsed', 'base64'].map((encoding) =>
        read(`${name} in ${encoding}`, signature, { ...highest, encoding }),
      ),
    ),
    ...COMMITMENTS.map((commitment) => read(commitment, token.signature, { ...highest, commitment })),
    read('in base58', token.signature, { ...highest, encoding: 'base58' }),
    read('encoding instead of a configuration', legacy.signature, 'base64'),
    read('legacy without a highest version', legacy.signature),
    read('v0 without a highest version', v0.signature),
    read('v1 with version 0 as the highest', v1.signature, { maxSupportedTransactionVersion: 0 }),
    read('unknown encoding', legacy.signature, { encoding: 'hex' }),
    read('highest version 300', legacy.signature, { maxSupportedTransactionVersion: 300 }),
    read('unknown', unknown, highest),
    read('malformed signature', 'abc', highest),
  ];
}
