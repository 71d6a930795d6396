import { ApiError } from './api-error.ts';
import { errorBody } from './error-body.ts';
import type { ErrorCode } from './error-codes.ts';
import type { ErrorContext } from './errors.ts';

/** Builds an example of an error's body from the context in `ERROR_NOTES`. */
export function errorExample(code: ErrorCode) {
  // ERROR_NOTES pairs each code with its own context, which the union of codes cannot express.
  return errorBody(new ApiError(code, ERROR_NOTES[code].example as never));
}

/** Documents each code: what a caller should do about it, and a context that makes an example of its sentence. */
export const ERROR_NOTES: {
  readonly [Code in ErrorCode]: { readonly remedy: string; readonly example: ErrorContext<Code> };
} = {
  ERR_INVALID_REQUEST: {
    remedy:
      'Correct the field that the message names. The same request always gets the same answer. A request whose headers take longer than 10 seconds, or that takes longer than 30 in all, gets this code with the status 408.',
    example: { place: 'headers.x-idempotency-key', problem: 'is missing; send a UUID of your own, one per batch.' },
  },
  ERR_FLYWHEEL_NO_INSTRUCTIONS: { remedy: 'Send at least one pipeline.', example: undefined },
  ERR_FLYWHEEL_ACTIONS_EMPTY: {
    remedy: 'Add an action to the pipeline, or leave the pipeline out.',
    example: { pipeline: 2 },
  },
  ERR_FLYWHEEL_INVALID_ACTION: {
    remedy:
      'Correct the action that the message names. `BUYBACK`, `LOCK` and `UNLOCK` are declared but not implemented. A memo may not begin with `flywheel:`.',
    example: {
      place: 'pipelines[0].actions[1].action',
      problem: 'LOCK is declared but not implemented; BURN, AIRDROP and MEMO are.',
    },
  },
  ERR_FLYWHEEL_INVALID_PROOF_TYPE: {
    remedy:
      'Use a registered type and a payload that matches its schema. `WITHDRAW` and `ROTATE` are types of the service’s own batches.',
    example: {
      place: 'pipelines[0].type',
      problem: 'WATCH_VIDEO is not registered; this project has WATCH_AD, PURCHASE.',
    },
  },
  ERR_FLYWHEEL_PIPELINE_TOO_BIG: {
    remedy: 'Split the pipeline into two: each gets its own proof memo and transaction.',
    example: { pipeline: 2, problem: 'needs 1010 bytes; one transaction holds 856.' },
  },
  ERR_FLYWHEEL_DAILY_LIMIT_EXCEEDED: {
    remedy:
      'Send a smaller batch, or wait for the reset. Amounts that failed batches had reserved are returned to their day.',
    example: {
      kind: 'burn',
      cap: '1000',
      used: '940',
      asked: '75',
      resetsAt: '2026-11-22T00:00:00.000Z',
      retryAfterSeconds: 36_000,
    },
  },
  ERR_SIGNED_TX_INVALID: {
    remedy:
      'Sign the batch’s current `proposalApproveTx` (`?include=approval` answers it) with the registered wallet, and send it as the wallet returns it. The batch stays executable.',
    example: { problem: 'It is not signed by the project’s wallet 7Fq2bYtmWpQh1dS9xkX4rGz8uVnE3cJaLo5sTiR69dKe.' },
  },
  ERR_MINT_UNSUPPORTED: {
    remedy: 'Register a mint whose transfers arrive in full; the message says what prevents it.',
    example: {
      mint: 'So1TokenWithFee1111111111111111111111111111',
      problem: 'has a transfer fee of 50 basis points, so recipients would receive less than was sent.',
    },
  },
  ERR_UNAUTHORIZED: {
    remedy: 'Send a valid API key in `x-service-api-key`. In the console, sign in again.',
    example: { problem: 'Send an API key in the header x-service-api-key.' },
  },
  ERR_SIGN_IN_INVALID: {
    remedy: 'Request a new challenge and sign its message unchanged within five minutes. Each challenge works once.',
    example: { problem: 'The challenge is unknown, used or expired. Request a new one.' },
  },
  ERR_KEY_SCOPES_UNAUTHORIZED: {
    remedy: 'Leave the action out, or use a key that has its scope.',
    example: { place: 'pipelines[0].actions[0]', action: 'BURN', scope: 'burn' },
  },
  ERR_KEY_NOT_FOUND: {
    remedy: 'The key is well formed but unknown: check that it was created by this service.',
    example: undefined,
  },
  ERR_TOKEN_NOT_FOUND: {
    remedy: 'Contact the company that runs the service: the key’s token was removed.',
    example: undefined,
  },
  ERR_FLYWHEEL_NOT_FOUND: {
    remedy: 'Contact the company that runs the service: the key’s flywheel was removed.',
    example: undefined,
  },
  ERR_BATCH_NOT_FOUND: {
    remedy: 'Check the id. A batch of another project gets the same answer.',
    example: { batchId: '5b1c7f6e-6a0d-4a57-9d0e-1f1f0c9e2a44' },
  },
  ERR_PROJECT_NOT_FOUND: {
    remedy: 'Check the id and the signed-in wallet. A project of another wallet gets the same answer.',
    example: { projectId: '0c2d9a1b-52a7-4d1e-8b3f-6c7d1e2f3a4b' },
  },
  ERR_REGISTRATION_NOT_FOUND: {
    remedy: 'Start a new registration. If the earlier one succeeded, its project exists already.',
    example: { registrationId: 'a3f0c8d2-91b4-4e6f-a7c5-2d4e6f8a0b1c' },
  },
  ERR_ROUTE_NOT_FOUND: {
    remedy: 'Compare the path with /docs.',
    example: { method: 'GET', path: '/v1/flywheel/batch' },
  },
  ERR_METHOD_NOT_ALLOWED: {
    remedy: 'Use the method that the header `Allow` names.',
    example: { method: 'GET', path: '/v1/flywheel/batch/init', allow: 'POST' },
  },
  ERR_BATCH_NOT_CANCELLABLE: {
    remedy: 'Nothing: the batch was executed. Read its `executeResult`.',
    example: { batchId: '5b1c7f6e-6a0d-4a57-9d0e-1f1f0c9e2a44' },
  },
  ERR_BATCH_NOT_EXECUTABLE: {
    remedy:
      'Initialize a new batch. Nothing of this one was executed, and its amounts no longer count against the daily limits.',
    example: { batchId: '5b1c7f6e-6a0d-4a57-9d0e-1f1f0c9e2a44', reason: 'The proposal is rejected on chain.' },
  },
  ERR_VAULT_UNDERFUNDED: {
    remedy: 'Deposit the missing amount into the vault, then execute again with the same `signedTx`.',
    example: {
      problems: [
        'The vault 9hTqVd2yQ1sWmZ3xPb6nKc8rLf4gUj5oEi7aYtR2vBkX holds 120 tokens; this batch needs 450: 330 more.',
      ],
    },
  },
  ERR_BATCH_WOULD_FAIL: {
    remedy: 'Correct every issue in the list, then execute again with the same `signedTx`. Nothing was sent.',
    example: {
      problems: [
        'pipelines[3].actions[0].toAddress: 9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin is a mint, not a wallet.',
      ],
      details: [
        {
          code: 'ERR_BATCH_WOULD_FAIL',
          place: 'pipelines[3].actions[0].toAddress',
          message: '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin is a mint, not a wallet.',
          recipient: '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin',
        },
      ],
    },
  },
  ERR_REGISTRATION_FAILED: {
    remedy: 'Start the registration again. Make sure that the wallet holds enough SOL.',
    example: { problem: 'the transaction did not land before its blockhash expired. Start again to get a new one.' },
  },
  ERR_BODY_TOO_LARGE: {
    remedy: 'Split the batch into several; or register fewer or shorter schemas.',
    example: { maxBytes: 2_097_152 },
  },
  ERR_UNSUPPORTED_MEDIA_TYPE: {
    remedy: 'Send JSON, uncompressed, with `Content-Type: application/json`.',
    example: { given: 'text/plain' },
  },
  ERR_DUPLICATE_IDEMPOTENCY_KEY: {
    remedy: 'Use a new key for a new batch. When you repeat a request, send exactly the same body.',
    example: { idempotencyKey: '3f2504e0-4f89-41d3-9a0c-0305e82c3301' },
  },
  ERR_RATE_LIMITED: {
    remedy:
      'Wait for `Retry-After` seconds. The headers `RateLimit` and `RateLimit-Policy` say how many requests of the key or wallet are left; other limits send `Retry-After` alone.',
    example: { requests: 10, seconds: 60, retryAfterSeconds: 41 },
  },
  ERR_TOO_MANY_OPEN_BATCHES: {
    remedy: 'Execute or cancel open batches first.',
    example: { open: 50, asked: 1, max: 50, unit: 'batches' },
  },
  ERR_CAP_REACHED: {
    remedy:
      '`cap` has the figures. Execute or cancel open batches, and sign the cancel votes that are owed. If `cap.scope` is `key`, use another key or the console. If it is `unadmitted`, try again later or ask the company to admit your project. `Retry-After` is sent if the cap resets by itself.',
    example: {
      problem:
        'This project’s batches lock 19.6 of at most 20 SOL of the operator as rent, and this batch needs 0.62 SOL. Execute or cancel open batches, and sign the cancel votes that are owed.',
      cap: { scope: 'project', kind: 'locked', cap: '20000000000', used: '19600000000', asked: '620000000' },
      retryAfterSeconds: null,
    },
  },
  ERR_TOO_MANY_STREAMS: {
    remedy: 'Open one stream per batch, and close it when you no longer need it.',
    example: { open: 20, max: 20, retryAfterSeconds: 5 },
  },
  ERR_TOO_MANY_AT_ONCE: {
    remedy: 'Wait for `Retry-After` seconds, and send such requests one after the other.',
    example: { work: 'previews', max: 8, retryAfterSeconds: 1 },
  },
  ERR_INTERNAL: {
    remedy:
      'Try again later; `Retry-After` is sent while the database or every node of the service is out of reach. If the error stays, send the value of the header `x-request-id` to the company that runs the service.',
    example: undefined,
  },
  ERR_BATCH_INIT_FAILED: {
    remedy:
      'Send the request again with the same `x-idempotency-key`. If the batch was stored after all, the response is that batch. `Retry-After` is sent while the database or every node of the service is out of reach.',
    example: undefined,
  },
  ERR_BATCH_EXECUTE_FAILED: {
    remedy:
      'Execute again: the request continues the earlier one and never executes twice. `Retry-After` is sent while the database or every node of the service is out of reach.',
    example: undefined,
  },
  ERR_BATCH_CURRENT_FAILED: {
    remedy: 'Try again. `Retry-After` is sent while the database of the service is out of reach.',
    example: undefined,
  },
  ERR_NONCE_POOL_EMPTY: {
    remedy: 'Wait for `Retry-After` seconds, then send the request again with the same `x-idempotency-key`.',
    example: { retryAfterSeconds: 5 },
  },
  ERR_NODE_UNAVAILABLE: {
    remedy:
      'Wait for `Retry-After` seconds, then send the same request again: it takes effect once. If it lasts, tell the company that its RPC nodes are out of reach.',
    example: { retryAfterSeconds: 2 },
  },
  ERR_OPERATOR_UNFUNDED: {
    remedy:
      'Wait for `Retry-After` seconds, then send the same request again. If it lasts, tell the company: its operator needs SOL for fees and rent.',
    example: { operator: '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin', retryAfterSeconds: 15 },
  },
  ERR_SCHEMA_CHECK_UNAVAILABLE: {
    remedy:
      'Wait for `Retry-After` seconds, then send the request again with the same `x-idempotency-key`; nothing was stored. If the message says that a registered schema needs too much CPU time, simplify it in the project’s settings: patterns that repeat a repetition, such as `(a+)+`, and references to themselves are the usual causes.',
    example: {
      place: 'pipelines[3].payload',
      problem: 'was not checked: the schema registered for WATCH_AD needs more than 52 ms of CPU time.',
      retryAfterSeconds: 5,
    },
  },
  ERR_COMPANY_ONLY: {
    remedy: 'Sign in with a wallet that COMPANY_OPERATORS lists.',
    example: { wallet: '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin' },
  },
  ERR_PROJECT_NOT_ADMITTED: {
    remedy:
      'Contact the company. Once it has admitted the project, send the same request again. Withdrawals from the vault need no admission.',
    example: { flywheelId: '0d9c3a76-3c0b-4f0e-8d63-5a5b7d9b2f10' },
  },
  ERR_POLICY_REFUSED: {
    remedy:
      'Leave out the recipients that `problems` names; nothing was stored. The page Rules of the project shows the rules, which the company changes.',
    example: {
      problems: [
        '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin is a denied recipient. 12 listed recipients may not be paid.',
      ],
      details: [
        {
          code: 'ERR_POLICY_REFUSED',
          message:
            '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin is a denied recipient. 12 listed recipients may not be paid.',
          recipient: '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin',
        },
      ],
    },
  },
  ERR_POLICY_CAP_REACHED: {
    remedy:
      'Send less of what has reached its cap, or wait for the next UTC day; nothing was stored. Amounts that failed batches did not execute are given back.',
    example: {
      problems: [
        'With this batch the proof type WATCH_AD moves 1,020 tokens on 2026-11-21. The proof type WATCH_AD moves at most 1,000 tokens a day.',
      ],
      retryAfterSeconds: 36_000,
    },
  },
  ERR_REGISTRATION_CLOSED: {
    remedy: 'Contact the company that runs the service. Projects that exist are not affected.',
    example: undefined,
  },
  ERR_OWN_BATCH: {
    remedy: 'Ask another operator of the company.',
    example: { batchId: '6f2e9a54-0c1f-4f6b-9d2c-3a5a0e6c1b7d' },
  },
  ERR_VAULT_NOT_FOUND: {
    remedy: 'Check the address: it is the vault’s, not the multisig’s or the mint’s.',
    example: { address: '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin' },
  },
  ERR_JOB_NOT_FOUND: {
    remedy: 'List the jobs again: the job may have continued by itself.',
    example: { jobId: '6f2e9a54-0c1f-4f6b-9d2c-3a5a0e6c1b7d' },
  },
  ERR_WEBHOOK_NOT_FOUND: {
    remedy:
      'List the webhooks again: this one may have been deleted. A webhook of another project gets the same answer.',
    example: { webhookId: '6f2e9a54-0c1f-4f6b-9d2c-3a5a0e6c1b7d' },
  },
  ERR_WEBHOOK_DELIVERY_NOT_FOUND: {
    remedy: 'List the deliveries again.',
    example: { deliveryId: '1042' },
  },
  ERR_WEBHOOK_DISABLED: {
    remedy: 'Enable the webhook when its receiver accepts events again.',
    example: {
      webhookId: '6f2e9a54-0c1f-4f6b-9d2c-3a5a0e6c1b7d',
      reason: 'The receiver answered 410 Gone: it wants no more events.',
    },
  },
  ERR_TOO_MANY_KEYS: {
    remedy:
      'Revoke a key that you no longer need, and try again a minute later: until then it counts, so that replacing keys does not raise the rate of requests.',
    example: { max: 20 },
  },
  ERR_SETTINGS_CHANGED: {
    remedy: 'Read the settings, and send your change again with them as `from`.',
    example: { settings: 'daily limits' },
  },
  ERR_TOO_MANY_WEBHOOKS: { remedy: 'Delete a webhook that you no longer need.', example: { max: 10 } },
  ERR_WEBHOOKS_UNAVAILABLE: {
    remedy: 'Ask the company that runs the service to set `WEBHOOK_KEY_FILE`. Everything else works without it.',
    example: undefined,
  },
  ERR_RECIPIENT_HELD_BACK: {
    remedy:
      'Split the batch: `problems` names every pipeline that pays such a recipient. A recipient is held back until a pipeline that pays it is executed, at most 30 days.',
    example: {
      problems: [
        'pipelines[3].actions[0].toAddress: 9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin stopped batch 5b1c7f6e-6a0d-4a57-9d0e-1f1f0c9e2a44 on 2026-11-21T14:02:11.000Z.',
      ],
      details: [
        {
          code: 'ERR_RECIPIENT_HELD_BACK',
          place: 'pipelines[3].actions[0].toAddress',
          message:
            '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin stopped batch 5b1c7f6e-6a0d-4a57-9d0e-1f1f0c9e2a44 on 2026-11-21T14:02:11.000Z.',
          recipient: '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin',
        },
      ],
    },
  },
  ERR_ROTATION_OPEN: {
    remedy:
      'Wait for `Retry-After` seconds, then send the request again with the same `x-idempotency-key`. The rotation is executed when the open batches have ended, at the latest ten minutes later unless `ROTATION_GRACE_SECONDS` says otherwise; or cancel it in the console.',
    example: { batchId: '6f2e9a54-0c1f-4f6b-9d2c-3a5a0e6c1b7d' },
  },
  ERR_ROTATION_REFUSED: {
    remedy: 'Resolve what the message names, then try again.',
    example: {
      problem: 'batch 6f2e9a54-0c1f-4f6b-9d2c-3a5a0e6c1b7d replaces a member. Try again when it has ended.',
    },
  },
  ERR_BATCH_NOT_WAITING: {
    remedy: 'Read the batch: it was approved or rejected, or it has ended.',
    example: { batchId: '6f2e9a54-0c1f-4f6b-9d2c-3a5a0e6c1b7d', reason: 'it is EXECUTED.' },
  },
  ERR_TOO_MANY_REGISTRATIONS: {
    remedy:
      'Ask the company to admit the projects that are registered, or wait until those that were not paid have expired.',
    example: { pending: 5, max: 5, of: 'wallet', untilAdmitted: true },
  },
  ERR_PAUSED: {
    remedy:
      'Contact the company. Send the same request again after the project is resumed; existing approvals stay valid.',
    example: { isForAll: false, reason: 'The token’s authority has been rotated; we are checking.' },
  },
  ERR_PROJECT_MOVING: {
    remedy:
      'Wait for `Retry-After` seconds, then send the same request again, an init with the same `x-idempotency-key`. A move takes half a minute at most.',
    example: { retryAfterSeconds: 2 },
  },
};
