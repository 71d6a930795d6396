import { setting, settingWithDefault } from './setting-tree.ts';
import { lamports, rateLimit, registrationMode, whole } from './setting-types.ts';

/** The settings of what callers may take: requests, batches, and the operator's lamports. `config.ts` has the others. */
export const LIMIT_SETTINGS = {
  rateLimits: {
    init: settingWithDefault('RATE_LIMIT_INIT', rateLimit(), 'init requests per API key, as requests/seconds', '10/60'),
    preview: settingWithDefault(
      'RATE_LIMIT_PREVIEW',
      rateLimit(),
      'preview requests per API key: a preview compiles as much as init and also queries the cluster',
      '10/60',
    ),
    execute: settingWithDefault('RATE_LIMIT_EXECUTE', rateLimit(), 'execute and cancel requests per API key', '10/60'),
    get: settingWithDefault('RATE_LIMIT_GET', rateLimit(), 'requests per API key that read batches', '10/1'),
    current: settingWithDefault(
      'RATE_LIMIT_CURRENT',
      rateLimit(),
      'requests per API key for the current batch',
      '10/1',
    ),
    console: settingWithDefault(
      'RATE_LIMIT_CONSOLE',
      rateLimit(),
      'all operations under `/console/api`, per wallet or IP address; enough for a person with several pages that refresh',
      '600/60',
    ),
    project: settingWithDefault(
      'RATE_LIMIT_PROJECT',
      rateLimit(),
      'previews per project, with whatever key, and of tokens per wallet; as many opened event streams; as many proof checks; and as many completed registrations per wallet',
      '120/60',
    ),
    heavy: settingWithDefault(
      'RATE_LIMIT_HEAVY',
      rateLimit(),
      'operations of the console that make much work: create, preview, execute or cancel a batch, withdraw, replace the wallet, preview a token, register, change proof types, try a schema or rules of the company, send a test of a webhook or a delivery again. Per wallet; and per IP address in each process',
      '120/60',
    ),
    proof: settingWithDefault(
      'RATE_LIMIT_PROOF',
      rateLimit(),
      'proof checks per IP address; each may read twenty transactions of the cluster',
      '60/60',
    ),
  },
  registration: settingWithDefault(
    'REGISTRATION',
    registrationMode(),
    'whose projects are served: `open`: all that are registered; `approval`: those that the company [has admitted](#who-is-served); `closed`: the same, and no project is registered. The same for `serve` and `work`',
    'open',
  ),
  addressLimits: {
    any: settingWithDefault(
      'RATE_LIMIT_ADDRESS',
      rateLimit(),
      'all operations per IP address, counted in each process before any query; enough for one server with twenty API keys that poll',
      '30000/60',
    ),
    unknownCredentials: settingWithDefault(
      'RATE_LIMIT_UNKNOWN_CREDENTIALS',
      rateLimit(),
      'unknown API keys and cookies that are searched per IP address, counted in each process; those that have worked before are not limited by it',
      '60/60',
    ),
  },
  fairUse: {
    maxOpenBatches: settingWithDefault(
      'MAX_OPEN_BATCHES',
      whole('batches', 1, 10_000),
      'open batches per project',
      '50',
    ),
    maxOpenPipelines: settingWithDefault(
      'MAX_OPEN_PIPELINES',
      whole('pipelines', 1, 1_000_000),
      'pipelines in open batches per project',
      '2000',
    ),
  },
  caps: {
    lockedPerProjectLamports: settingWithDefault(
      'MAX_LOCKED_LAMPORTS_PER_PROJECT',
      lamports(),
      'most rent that the batches of a project lock; 2,000 open pipelines lock about 9 SOL',
      '20000000000',
    ),
    lockedUnadmittedLamports: setting(
      'MAX_LOCKED_LAMPORTS_UNADMITTED',
      lamports(),
      'most rent that all projects together lock that the company has not admitted: what strangers can take; default: 100 SOL',
    ),
    spentPerProjectLamports: settingWithDefault(
      'MAX_SPENT_LAMPORTS_PER_PROJECT',
      lamports(),
      'most fees and tips that the batches of a project take in a UTC day, with what open ones may still take',
      '5000000000',
    ),
    spentUnadmittedLamports: setting(
      'MAX_SPENT_LAMPORTS_UNADMITTED',
      lamports(),
      'the same for all projects together that the company has not admitted; default: as `MAX_LOCKED_LAMPORTS_UNADMITTED`, but at most 1 SOL unless `REGISTRATION` is `open`',
    ),
    keySharePercent: settingWithDefault(
      'KEY_SHARE_PERCENT',
      whole('percent', 1, 100),
      "share of each of its project's caps that one API key may hold; 100 for all",
      '50',
    ),
  },
};
