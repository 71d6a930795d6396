/** A test by its file and its title, as the title stands in the source. */
type Reference = readonly [file: string, title: string];

interface Thief {
  readonly can: readonly Reference[];
  /** Tests by what the thief cannot do, one for each part of the cell between semicolons. */
  readonly cannot: Readonly<Record<string, readonly Reference[]>>;
}

const service = (file: string, title: string): Reference => [`apps/service/test/${file}.test.ts`, title];
const sdk = (file: string, title: string): Reference => [`packages/sdk/test/${file}.test.ts`, title];

const BOTH_VOTES = service(
  'execution/votes',
  'needs the votes of both keys on chain: with one it stays active, and the operator has none',
);
const RECOVERY_KEY = service(
  'treasury/rotate-operator',
  'leaves a recovery key without a vote: it uses up indices, and executes nothing that is not approved',
);
const SESSION_END = service(
  'registration/registration',
  'is stored as a hash, which opens nothing, and ends when the wallet signs out',
);
const NO_STATEMENT = service(
  'company/stolen-serve',
  'gets the company’s signature by no statement that serve may run, whichever rule a batch breaks',
);
const NO_FORGED_DECISION = service(
  'company/signed-decisions',
  'is not given for a decision whose row nobody signed, and the batch waits again',
);
/** By the API, and by a worker, which reads rows of other processes. */
const OWN_WALLET = [
  service(
    'company/manual-approval',
    'cannot be approved for the company by the project’s own wallet, even if that wallet is an operator of the company',
  ),
  service(
    'company/signed-decisions',
    'is not given for a decision of the wallet that approves for the project, although it is an operator’s',
  ),
] as const;
const NO_FORGED_ADMISSION = service(
  'company/admission',
  'follows what an operator signed, once, and nothing that somebody else wrote',
);
const NOT_BY_ANOTHERS_APPROVAL = service(
  'company/stolen-serve',
  'gets no vote for a withdrawal by its signed approval in the row of another batch',
);
const NO_STATEMENTS_TOGETHER = service(
  'company/stolen-serve',
  'gets it by no statements together, whichever rule a batch breaks',
);
const BYTES_ON_CHAIN = service(
  'execution/votes',
  'is not approved if the bytes on chain differ from the compiled ones: 409, FAILED, limits returned',
);
const CHANGED_BUNDLE = service(
  'execution/packing',
  'because the engine changed it moves nothing, also if the engine reports it as landed, and is sent again',
);
const REGISTRATION_LIES = [
  'apps/cli/test/register-lies.test.ts',
  'loses nothing of the wallet’s to a registration that',
] as const;
const BATCH_LIES = sdk(
  'verify-approval',
  'finds every amount, recipient, payload and order that differs from the chain',
);

/** The tests that hold each row of the table of thieves in docs/security.md, by the name of the row. */
export const THIEVES: Readonly<Record<string, Thief>> = {
  'API key': {
    can: [
      service('ends', 'pages through a project’s batches, newest first, optionally of one status'),
      service('init/init-answers', 'has the compiled pipelines, proof memo first, with the vault as signer'),
      service(
        'failures/exposure',
        'cannot lock the owner out: another key works at once, and after the revocation every cap is free',
      ),
    ],
    cannot: {
      'move anything: a batch needs the wallet’s signature': [
        service(
          'execution/approval',
          'rejects an unsigned, truncated or invalid transaction, and signatures over other bytes',
        ),
      ],
      'exceed the daily limits': [
        service('init/idempotency', 'store exactly 20 with five keys of a project under the default rate limits'),
      ],
      'withdraw, or use the console': [
        service('treasury/withdraw', 'is not available to API keys'),
        service('http/session', 'does not open /v1, nor does an API key open the console'),
      ],
      'use actions beyond its scopes': [
        service(
          'init/init-answers',
          'is ERR_KEY_SCOPES_UNAUTHORIZED for an action whose scope the key lacks; memos need none',
        ),
      ],
      'learn anything of another project': [
        service('read/read', 'cannot distinguish another project’s batch from one that does not exist'),
      ],
    },
  },
  'console session': {
    can: [
      service('console/settings', 'change exactly as entered, apply from the next init on, and are in the audit log'),
    ],
    cannot: {
      'approve: the wallet signs each approval': [
        service(
          'execution/votes',
          'still needs the wallet’s signature in a request, even if the wallet has voted on chain',
        ),
      ],
      'read or change another project': [
        service('console/tenants', 'answers the owner of another project as if the project did not exist'),
      ],
      'act after it was signed out': [
        service('http/session', 'is found among other cookies, and cleared by signing out'),
        SESSION_END,
      ],
    },
  },
  'project wallet': {
    can: [service('flow', 'is compiled, approved by both, and executed')],
    cannot: {
      'withdraw or hand over its vote without a person of the company': [
        service('treasury/company-decides', 'whatever else is done'),
        NO_FORGED_DECISION,
      ],
      'get the company’s approval while the project is paused': [
        service('company/pause', 'rejects init and execute with the reason, and nothing else'),
        service('company/terms', 'is not given for a row in which a pause has ended'),
      ],
      'get it without a person if the project is `manual`, or above what the company approves by itself': [
        service(
          'company/manual-approval',
          'is not signed by any worker before an operator decides, whatever record is missing',
        ),
        service('company/terms', 'is not given for a row in which a manual project became automatic'),
        service(
          'company/terms',
          'is not given for rows in which somebody raised a limit or emptied what the day has used',
        ),
      ],
      'approve for the company': [...OWN_WALLET],
    },
  },
  'company approver’s key': {
    can: [
      BOTH_VOTES,
      service('squads/flow', 'sets up, approves, executes and closes a batch, and moves exactly the requested tokens'),
    ],
    cannot: { 'move anything for which no project wallet has voted': [BOTH_VOTES] },
  },
  'operator’s key': {
    can: [
      service('execution/strangers', 'pauses setup until it is funded'),
      RECOVERY_KEY,
      service('execution/approval', 'answers where the rebuilt approval is, which then works'),
    ],
    cannot: {
      'move any other tokens: it has no vote': [BOTH_VOTES],
      'have its content approved by the company': [BYTES_ON_CHAIN],
    },
  },
  'recovery key': {
    can: [RECOVERY_KEY],
    cannot: {
      'move any other tokens: it has no vote': [
        RECOVERY_KEY,
        sdk(
          'verify-approval',
          'accepts further members who propose and execute without a vote, as a recovery key does',
        ),
        ['packages/sdk/test/approval-lies.ts', 'a third voter beside the wallet and the company'],
      ],
    },
  },
  'session of a company operator': {
    can: [
      service('company/overview', 'lists every project, newest first, with its open batches'),
      service('company/pause', 'rejects init and execute with the reason, and nothing else'),
      service(
        'treasury/rotate-operator',
        'replaces it under load: no batch is lost, and afterwards nothing needs the old key',
      ),
    ],
    cannot: {
      'approve or reject a batch: the company operator’s wallet signs each decision': [NO_FORGED_DECISION],
      'resume, or change what the company approves by itself, for the same reason': [
        service(
          'company/terms',
          'follows a change of terms that an operator signed, once, and none that somebody else wrote',
        ),
        service('company/terms', 'ends the pause that the operator has signed for, and no other'),
        NO_STATEMENTS_TOGETHER,
      ],
      'admit a project, for the same reason': [NO_FORGED_ADMISSION],
    },
  },
  'wallet of a company operator': {
    can: [
      service(
        'company/manual-approval',
        'answers execute with 202 at once, sends nothing, and is executed after an operator approves',
      ),
      service(
        'company/manual-approval',
        'is FAILED with the reason after an operator rejects it: limits and rent return, and nothing is executed',
      ),
      service(
        'company/terms',
        'follows a change of terms that an operator signed, once, and none that somebody else wrote',
      ),
      service('company/terms', 'ends the pause that the operator has signed for, and no other'),
      NO_FORGED_ADMISSION,
    ],
    cannot: {
      'move anything that no project wallet has signed': [NOT_BY_ANOTHERS_APPROVAL, BOTH_VOTES],
      'approve for a project of its own wallet': [...OWN_WALLET],
      'use one decision for two batches': [
        service(
          'company/signed-decisions',
          'is given for a decision that is signed as a memo transaction or an off-chain message, and each is used once',
        ),
      ],
    },
  },
  'HTTP process (`serve`)': {
    can: [REGISTRATION_LIES, NO_STATEMENT, service('http/static', 'answers with its page at each of its addresses')],
    cannot: {
      'sign: it holds no signing key': [
        service(
          'process/service',
          'can run as two parts: HTTP that knows only the signers’ addresses, and a worker without HTTP',
        ),
      ],
      'have the company sign a batch that breaks a rule, whatever it writes to the database': [
        NO_STATEMENT,
        NO_STATEMENTS_TOGETHER,
        NOT_BY_ANOTHERS_APPROVAL,
        service('company/stolen-serve', 'cannot store a batch of a paused project under a flywheel of another'),
        service(
          'company/stolen-serve-multisig',
          'does not get the company’s vote for a withdrawal that no operator has approved',
        ),
        service(
          'company/signed-decisions',
          'is never given for a batch that an operator has rejected, even if it reads open and is approved later',
        ),
        service(
          'company/terms',
          'is not given for a day that a thief of serve has prepared: an index far ahead, or a batch that never expired',
        ),
        service('compile/compile-again', 'compileAgain refuses an instruction that it cannot describe'),
        service('company/approved-count', 'still counts: Squads executes it for whoever opens it again'),
      ],
      'admit a project': [
        NO_FORGED_ADMISSION,
        service(
          'company/admission',
          'is refused unless the wallet in its text is the one that votes on chain, beside the company alone',
        ),
        service(
          'company/admission',
          'is needed for the company’s signature, whatever a thief of serve writes about a batch',
        ),
        service('store/roles', 'are enough for no schema change and for none of the other role’s rows'),
      ],
      'change what was sent, the ledger, or the audit log': [
        service('store/roles', 'are enough for no schema change and for none of the other role’s rows'),
      ],
      'receive the rent that the operator pays, also with the key that it replaces': [
        service('company/stolen-serve-multisig', 'does not have the operator pay rent that the thief receives'),
        service(
          'company/stolen-serve-multisig',
          'does not have it pay rent to the key that it replaces, which the thief may have too',
        ),
      ],
      'deceive the command line or the SDK about what a wallet signs': [REGISTRATION_LIES, BATCH_LIES],
    },
  },
  'worker (`work`)': {
    can: [service('flow', 'is compiled, approved by both, and executed')],
    cannot: {
      'move what the project wallet has not voted for': [BOTH_VOTES],
      'read API keys or sessions': [
        service('store/roles', 'are enough for no schema change and for none of the other role’s rows'),
      ],
    },
  },
  'read access to the database': {
    can: [
      service(
        'store/roles',
        'is not needed by a process whose login has only the rights of a role: it checks the schema',
      ),
    ],
    cannot: {
      'use a key or session: the database holds only hashes': [
        service('http/api-key', 'is recognized by its prefix and hash'),
        service('store/sessions', 'a session is found by its hash until it is deleted'),
        SESSION_END,
      ],
    },
  },
  'write access to the database, as its owner': {
    can: [service('failures/damaged-records', 'a damaged pipeline record')],
    cannot: {
      'move anything that the wallet has not signed: what is signed is compared with the chain byte by byte': [
        BYTES_ON_CHAIN,
        service(
          'failures/check-before-signing',
          'is detected: nothing is approved, the batch names it, and is executed once it is undone',
        ),
      ],
      'have the company approve a withdrawal or a rotation': [
        NO_FORGED_DECISION,
        service(
          'company/signed-decisions',
          'is not given for a withdrawal that is stored as pipelines, nor for a message that its request does not compile to',
        ),
      ],
    },
  },
  'RPC provider': {
    can: [service('failures/invalid-answers', 'an invalid answer of the RPC node')],
    cannot: {
      'have a wallet sign what differs from what is shown, if the wallet’s holder verifies at another node': [
        [
          'apps/cli/test/register-lies.test.ts',
          'verifies at a node that the wallet’s holder names if the service is on another machine',
        ],
        [
          'apps/cli/test/register-lies.test.ts',
          'verifies at a node that the holder names if the service on this machine may be a tunnel',
        ],
        ['apps/console/test/stories/tampering.test.ts', 'is red and does not sign if the RPC node changes'],
      ],
      'have a batch executed twice or reported wrongly by answering late': [
        service('failures/lagging-node', 'let a batch be set up, approved and executed once'),
        service('failures/lagging-node', 'do not report a landed bundle as lost'),
        service('failures/late-landing', 'is detected: the batch continues, and tokens move once'),
        service('failures/invalid-answers', 'an RPC node’s false report of a failed approval'),
      ],
    },
  },
  'block engine': {
    can: [
      service(
        'execution/packing',
        'is followed by the approval alone, with a tip, and then by the pipelines one by one',
      ),
    ],
    cannot: {
      'change what a transaction does: all signatures are in it': [CHANGED_BUNDLE],
      'change a result: the chain decides what landed': [
        CHANGED_BUNDLE,
        service('failures/invalid-answers', 'changes no result: the chain decides what landed, and tokens move once'),
      ],
      'take more than the maximum tip': [
        service('solana/block-engine', 'is at least 1,000 lamports and at most the maximum'),
      ],
    },
  },
  'console’s host': {
    can: [service('http/static', 'has a policy that allows only its own files and connections to the cluster')],
    cannot: {
      'sign: keys stay in the wallets': [
        service(
          'execution/approval',
          'rejects an unsigned, truncated or invalid transaction, and signatures over other bytes',
        ),
      ],
      'have the company sign what no company operator has signed: the worker writes the text itself': [
        NO_FORGED_DECISION,
      ],
      'deceive the command line or the SDK, which run nothing of it': [REGISTRATION_LIES, BATCH_LIES],
    },
  },
};
