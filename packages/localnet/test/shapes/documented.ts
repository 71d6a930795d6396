import { either, inContext, list, map, nullable, type Shape } from './shape.ts';

// Results of each method as https://solana.com/docs/rpc/http/METHOD documents them (METHOD in lower case), with the
// common parts of https://solana.com/docs/rpc/json-structures.

const account: Shape = {
  lamports: 'u64',
  owner: 'string',
  data: either('string', list('string'), { program: 'string', parsed: 'anything', space: 'u64' }),
  executable: 'boolean',
  rentEpoch: 'u64',
  'space?': 'u64',
};
const keyedAccounts = list({ pubkey: 'string', account });

const transactionError = nullable(either('string', map('anything')));
const status: Shape = either({ Ok: 'null' }, { Err: 'anything' });

const uiTokenAmount: Shape = {
  amount: 'string',
  decimals: 'u64',
  uiAmount: nullable('number'),
  uiAmountString: 'string',
};

const instruction: Shape = {
  programIdIndex: 'u64',
  accounts: list('u64'),
  data: 'string',
  'stackHeight?': nullable('u64'),
};
const parsedInstruction: Shape = either(
  { program: 'string', programId: 'string', parsed: 'anything', 'stackHeight?': nullable('u64') },
  { programId: 'string', accounts: list('string'), data: 'string', 'stackHeight?': nullable('u64') },
);

const tokenBalance: Shape = {
  accountIndex: 'u64',
  mint: 'string',
  'owner?': 'string',
  'programId?': 'string',
  uiTokenAmount,
};
const balances = {
  err: transactionError,
  status,
  fee: 'u64',
  preBalances: list('u64'),
  postBalances: list('u64'),
  preTokenBalances: nullable(list(tokenBalance)),
  postTokenBalances: nullable(list(tokenBalance)),
} as const;
const meta = (of: Shape): Shape => ({
  ...balances,
  innerInstructions: nullable(list({ index: 'u64', instructions: list(of) })),
  logMessages: nullable(list('string')),
  'rewards?': nullable(list('anything')),
  'loadedAddresses?': { writable: list('string'), readonly: list('string') },
  'returnData?': { programId: 'string', data: list('string') },
  'computeUnitsConsumed?': 'u64',
  'costUnits?': 'u64',
});

// Not documented: what Agave 4.2 answers.
const transactionConfig = map(nullable('u64'));
const lookups = list({ accountKey: 'string', writableIndexes: list('u64'), readonlyIndexes: list('u64') });
const parsedKeys = list({ pubkey: 'string', signer: 'boolean', writable: 'boolean', source: 'string' });
const message: Shape = {
  accountKeys: list('string'),
  header: { numRequiredSignatures: 'u64', numReadonlySignedAccounts: 'u64', numReadonlyUnsignedAccounts: 'u64' },
  recentBlockhash: 'string',
  instructions: list(instruction),
  'addressTableLookups?': lookups,
  'transactionConfig?': transactionConfig,
};
const parsedMessage: Shape = {
  accountKeys: parsedKeys,
  recentBlockhash: 'string',
  instructions: list(parsedInstruction),
  'addressTableLookups?': lookups,
  'transactionConfig?': transactionConfig,
};
const version = { 'version?': either('string', 'u64') } as const;
const transaction = {
  json: { transaction: { signatures: list('string'), message }, meta: meta(instruction), ...version },
  jsonParsed: {
    transaction: { signatures: list('string'), message: parsedMessage },
    meta: meta(parsedInstruction),
    ...version,
  },
  base64: { transaction: list('string'), meta: meta(instruction), ...version },
} as const;
const dated = { slot: 'u64', blockTime: nullable('i64'), 'transactionIndex?': 'u64' } as const;

const block = {
  blockhash: 'string',
  previousBlockhash: 'string',
  parentSlot: 'u64',
  blockTime: nullable('i64'),
  blockHeight: nullable('u64'),
} as const;
const rewards = {
  rewards: list({
    pubkey: 'string',
    lamports: 'i64',
    postBalance: 'u64',
    rewardType: nullable('string'),
    commission: nullable('u64'),
  }),
} as const;

const simulation: Shape = {
  err: transactionError,
  logs: nullable(list('string')),
  accounts: nullable(list(nullable(account))),
  'unitsConsumed?': 'u64',
  'returnData?': nullable({ programId: 'string', data: list('string') }),
  'innerInstructions?': nullable(list({ index: 'u64', instructions: list(either(parsedInstruction, instruction)) })),
  'replacementBlockhash?': nullable({ blockhash: 'string', lastValidBlockHeight: 'u64' }),
  'fee?': nullable('u64'),
  'loadedAccountsDataSize?': 'u64',
  'preBalances?': nullable(list('u64')),
  'postBalances?': nullable(list('u64')),
  'preTokenBalances?': nullable(list(tokenBalance)),
  'postTokenBalances?': nullable(list(tokenBalance)),
  'loadedAddresses?': nullable({ writable: list('string'), readonly: list('string') }),
};

/** Shapes by method, and by variant if the result depends on the request. */
export const DOCUMENTED: Readonly<Record<string, Shape>> = {
  getAccountInfo: inContext(nullable(account)),
  getBalance: inContext('u64'),
  'getBlock full': { ...block, ...rewards, transactions: list(transaction.json) },
  'getBlock accounts': {
    ...block,
    ...rewards,
    transactions: list({
      transaction: { signatures: list('string'), accountKeys: parsedKeys },
      meta: balances,
      ...version,
    }),
  },
  'getBlock signatures': { ...block, signatures: list('string') },
  'getBlock none': block,
  getBlockCommitment: { commitment: nullable(list('u64')), totalStake: 'u64' },
  getBlockHeight: 'u64',
  getBlockProduction: inContext({ byIdentity: map(list('u64')), range: { firstSlot: 'u64', lastSlot: 'u64' } }),
  getBlockTime: nullable('i64'),
  getBlocks: list('u64'),
  getBlocksWithLimit: list('u64'),
  getClusterNodes: list({
    pubkey: 'string',
    gossip: nullable('string'),
    tpu: nullable('string'),
    rpc: nullable('string'),
    'pubsub?': nullable('string'),
    version: nullable('string'),
    featureSet: nullable('u64'),
    shredVersion: nullable('u64'),
  }),
  getEpochInfo: {
    absoluteSlot: 'u64',
    blockHeight: 'u64',
    epoch: 'u64',
    slotIndex: 'u64',
    slotsInEpoch: 'u64',
    transactionCount: nullable('u64'),
  },
  getEpochSchedule: {
    slotsPerEpoch: 'u64',
    leaderScheduleSlotOffset: 'u64',
    warmup: 'boolean',
    firstNormalEpoch: 'u64',
    firstNormalSlot: 'u64',
  },
  getFeeForMessage: inContext(nullable('u64')),
  getFirstAvailableBlock: 'u64',
  getGenesisHash: 'string',
  getHealth: 'string',
  getIdentity: { identity: 'string' },
  getInflationGovernor: {
    initial: 'number',
    terminal: 'number',
    taper: 'number',
    foundation: 'number',
    foundationTerm: 'number',
  },
  getInflationRate: { total: 'number', validator: 'number', foundation: 'number', epoch: 'u64' },
  getLargestAccounts: inContext(list({ address: 'string', lamports: 'u64' })),
  getLatestBlockhash: inContext({ blockhash: 'string', lastValidBlockHeight: 'u64' }),
  getLeaderSchedule: nullable(map(list('u64'))),
  getMaxRetransmitSlot: 'u64',
  getMaxShredInsertSlot: 'u64',
  getMinimumBalanceForRentExemption: 'u64',
  getMultipleAccounts: inContext(list(nullable(account))),
  getProgramAccounts: keyedAccounts,
  'getProgramAccounts withContext': inContext(keyedAccounts),
  getRecentPrioritizationFees: list({ slot: 'u64', prioritizationFee: 'u64' }),
  getRecentPerformanceSamples: list({
    slot: 'u64',
    numSlots: 'u64',
    numTransactions: 'u64',
    numNonVoteTransactions: 'u64',
    samplePeriodSecs: 'u64',
  }),
  getSignatureStatuses: inContext(
    list(
      nullable({
        slot: 'u64',
        confirmations: nullable('u64'),
        err: transactionError,
        status,
        confirmationStatus: nullable('string'),
      }),
    ),
  ),
  getSignaturesForAddress: list({
    signature: 'string',
    slot: 'u64',
    err: transactionError,
    memo: nullable('string'),
    blockTime: nullable('i64'),
    confirmationStatus: nullable('string'),
    'transactionIndex?': 'u64',
  }),
  getSlot: 'u64',
  getSlotLeader: 'string',
  getSlotLeaders: list('string'),
  getStakeMinimumDelegation: inContext('u64'),
  getSupply: inContext({
    total: 'u64',
    circulating: 'u64',
    nonCirculating: 'u64',
    nonCirculatingAccounts: list('string'),
  }),
  getTokenAccountBalance: inContext(uiTokenAmount),
  getTokenAccountsByDelegate: inContext(keyedAccounts),
  getTokenAccountsByOwner: inContext(keyedAccounts),
  getTokenLargestAccounts: inContext(list({ address: 'string', ...uiTokenAmount })),
  getTokenSupply: inContext(uiTokenAmount),
  'getTransaction json': nullable({ ...dated, ...transaction.json }),
  'getTransaction jsonParsed': nullable({ ...dated, ...transaction.jsonParsed }),
  'getTransaction base64': nullable({ ...dated, ...transaction.base64 }),
  getTransactionCount: 'u64',
  getVersion: { 'solana-core': 'string', 'feature-set': nullable('u64'), flywheel: { program: 'string' } },
  getVoteAccounts: {
    current: list({
      votePubkey: 'string',
      nodePubkey: 'string',
      activatedStake: 'u64',
      epochVoteAccount: 'boolean',
      commission: 'u64',
      'inflationRewardsCommissionBps?': 'u64',
      lastVote: 'u64',
      epochCredits: list('anything'),
      rootSlot: 'u64',
    }),
    delinquent: list('anything'),
  },
  isBlockhashValid: inContext('boolean'),
  minimumLedgerSlot: 'u64',
  requestAirdrop: 'string',
  sendTransaction: 'string',
  simulateTransaction: inContext(simulation),
};

/** Codes of documented methods that the cluster answers only with an error, and the parameters of a call. */
export const DOCUMENTED_ERRORS: Readonly<Record<string, readonly [code: number, params: readonly unknown[]]>> = {
  // A validator answers this if it has no snapshot.
  getHighestSnapshotSlot: [-32008, []],
  // The block with the rewards is that of the next epoch.
  getInflationReward: [-32004, [[]]],
};
