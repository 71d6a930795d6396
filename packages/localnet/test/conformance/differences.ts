/** One difference between the local cluster and the validator that stays, with its reason. */
export interface Difference {
  /** Names of the calls. */
  readonly calls: RegExp;
  /** Paths in their answers. */
  readonly path: RegExp;
  /** Text of the JSON on each side; undefined for any. */
  readonly local?: RegExp;
  readonly validator?: RegExp;
  /** The difference in words, for the table in docs/localnet.md. */
  readonly what: string;
  readonly reason: string;
}

/** Calls with transactions that call the Memo program or a token program. */
const WITH_PROGRAMS = new RegExp(
  [
    '^notifications of (all )?logs',
    '^getBlock: ',
    '^getTransaction: (legacy|failed|token|confirmed|finalized|in base58|encoding|null)',
    '^simulateTransaction: (with )?inner instructions$',
    '^simulateTransaction: .*failing one$',
    '^simulateTransaction: (fee (above|payer with)|expired|null as)',
    '^(simulateTransaction|sendTransaction): (no funds (in instruction 1|at)|memo|too few|wrong|unknown instruction of Token)',
  ].join('|'),
);

/** Calls with transactions that advance a nonce. */
const WITH_NONCES = /^(getTransaction: nonce|simulateTransaction: (used nonce|with a nonce|old nonce))/;

/** Everything in which the two differ. The test fails if one is missing, or is there no more. */
export const DIFFERENCES: readonly Difference[] = [
  {
    calls: /./,
    path: /(^|\.)error\.message$/,
    local: /^"Invalid params: (params\[\d|invalid length)/,
    validator: /^"Invalid params: /,
    what: 'The text of -32602 for a parameter of a wrong type',
    reason: 'Here it names the parameter and its member; a validator names the type in Rust that it expected',
  },
  {
    calls: /with an object$/,
    path: /^error\.(message|data)$/,
    local: /^("`params` should be an array")?$/,
    what: 'The text of -32602 for parameters that are an object',
    reason: 'Here it is the same for all methods; a validator says something else where no parameter is optional',
  },
  {
    calls: /^(sendTransaction|simulateTransaction|getFeeForMessage): /,
    path: /^error\.message$/,
    local: /^"failed to deserialize solana_/,
    validator: /^"failed to deserialize solana_/,
    what: 'The reason after `failed to deserialize …` for bytes that are no transaction',
    reason: "Here it says which bytes are missing; a validator has its decoder's own words",
  },
  {
    calls: /trailing bytes$/,
    path: /^(error|result)/,
    what: 'Bytes after a transaction: here -32602, there they are ignored',
    reason: 'No client sends them, and a test should see it if its own does',
  },
  {
    calls: /^POST a number twice$/,
    path: /^body\./,
    what: 'A request that has a member twice: there a parse error, here the last one counts',
    reason: "JavaScript's parser does not report it",
  },
  {
    calls: /^getVersion/,
    path: /^result\.flywheel$/,
    what: '`getVersion` has `flywheel` in addition',
    reason: 'It names the Squads program that runs',
  },
  {
    calls: WITH_PROGRAMS,
    path: /(logs|logMessages)\.\d+$/,
    what: 'Logs of the Memo and token programs',
    reason: 'LiteSVM 1.5 contains newer builds of these programs than Agave 4.2 (p-memo, p-token)',
  },
  {
    calls: WITH_PROGRAMS,
    path: /(computeUnitsConsumed|unitsConsumed|costUnits)$/,
    what: 'Compute units of the Memo and token programs: a memo of six bytes costs 274 here, 3,589 there',
    reason: 'The same; all other programs cost the same to the unit, and `costUnits` is the same sum',
  },
  {
    calls: /^(simulateTransaction|sendTransaction): /,
    path: /loadedAccountsDataSize$/,
    what: '`loadedAccountsDataSize` with the Memo program, a token program, or a nonce',
    reason:
      'The same, and the sysvar of recent blockhashes has no content in LiteSVM; the sum is computed in the same way',
  },
  {
    calls: WITH_PROGRAMS,
    path: /(pre|post)Balances\.\d+$/,
    local: /^16926720$/,
    validator: /^521498880$/,
    what: 'Lamports of the Memo program',
    reason: 'The same: its account is as large as its code',
  },
  {
    calls: /^simulateTransaction: memo without text$|^sendTransaction: memo without text$/,
    path: /^(result\.value\.err|error\.data\.err|error\.message)/,
    what: 'The error of a memo that is not UTF-8',
    reason: 'The same',
  },
  {
    calls: WITH_NONCES,
    path: /(pre|post)Balances\.\d+$/,
    local: /^1$/,
    validator: /^42706560$/,
    what: 'Lamports of the sysvar of recent blockhashes',
    reason: "LiteSVM's sysvars hold one lamport",
  },
  {
    calls: /^getAccountInfo: parsed (rent|epoch schedule|clock|slot hashes|stake history|System program)$/,
    path: /^result\.value\.(lamports|rentEpoch)$/,
    what: '`lamports` and `rentEpoch` of sysvars and built-in programs',
    reason: "LiteSVM's have one lamport, and all accounts have the rent epoch of exempt ones",
  },
  {
    calls: /^getClusterNodes/,
    path: /^result\.0\./,
    what: '`getClusterNodes` has no addresses of services',
    reason: 'There is no network: no gossip, no votes, no repair',
  },
  {
    calls: /^getVoteAccounts/,
    path: /epochCredits\.0$/,
    what: '`getVoteAccounts` has no credits',
    reason: 'Nothing votes',
  },
  {
    calls: /^getBlockCommitment: slot of a transaction$/,
    path: /^result\.commitment$/,
    what: '`getBlockCommitment` knows no votes of a block',
    reason: 'Nothing votes',
  },
  {
    calls: /^getBlock: (rewards|null as rewards|encoding instead of a configuration)$/,
    path: /^result\.rewards\.0$/,
    what: 'Blocks have no rewards',
    reason: 'There is no leader to whom half of the fees would go',
  },
  {
    calls: /^notifications of signature when received$/,
    path: /^[01]/,
    what: '`signatureSubscribe` with `enableReceivedNotification`: here two notifications, there one',
    reason:
      'A test validator is the leader of every block, and only a node that replays blocks announces their signatures',
  },
  {
    calls: /^requestAirdrop: of more than there is$/,
    path: /^(error|result)$/,
    what: '`requestAirdrop` of more than there is: here -32602, there a signature that never lands',
    reason: "Here the transfer is simulated first; a validator's faucet signs whatever is asked for",
  },
];
