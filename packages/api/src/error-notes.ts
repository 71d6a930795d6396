import { ApiError, type ErrorCode, type ErrorContext } from './errors.ts';

/** Builds an example of an error's body from the context in `ERROR_NOTES`. */
export function errorExample(code: ErrorCode) {
  // ERROR_NOTES pairs each code with its own context, which the union of codes cannot express.
  return { error: code, message: new ApiError(code, ERROR_NOTES[code].example as never).message };
}

/** Documents each code: what a caller should do about it, and a context that makes an example of its sentence. */
export const ERROR_NOTES: {
  readonly [Code in ErrorCode]: { readonly remedy: string; readonly example: ErrorContext<Code> };
} = {
  ERR_INVALID_REQUEST: {
    remedy: 'Mend the place that the message names. Repeating the same request answers the same.',
    example: { place: 'headers.x-idempotency-key', problem: 'is missing; send a UUID of your own, one per batch.' },
  },
  ERR_FLYWHEEL_NO_INSTRUCTIONS: { remedy: 'Send at least one pipeline.', example: undefined },
  ERR_FLYWHEEL_ACTIONS_EMPTY: {
    remedy: 'Give the pipeline an action, or leave it out.',
    example: { pipeline: 2 },
  },
  ERR_FLYWHEEL_INVALID_ACTION: {
    remedy: 'Mend the action that the message names. `BUYBACK`, `LOCK` and `UNLOCK` are declared and not implemented.',
    example: { place: 'pipelines[0].actions[1].action', problem: 'is LOCK, which is declared but not implemented.' },
  },
  ERR_FLYWHEEL_INVALID_PROOF_TYPE: {
    remedy: 'Use a registered type and a payload that satisfies its schema.',
    example: {
      place: 'pipelines[0].type',
      problem: 'WATCH_VIDEO is not registered; this project has WATCH_AD, PURCHASE.',
    },
  },
  ERR_FLYWHEEL_PIPELINE_TOO_BIG: {
    remedy: 'Split the pipeline: each half gets a proof memo and a transaction of its own.',
    example: { pipeline: 2, problem: 'needs 1010 bytes; one transaction holds 856.' },
  },
  ERR_FLYWHEEL_DAILY_LIMIT_EXCEEDED: {
    remedy: 'Ask for less, or wait for the reset. What failed batches had reserved goes back to the day it came from.',
    example: { kind: 'burn', cap: '1000', used: '940', asked: '75', resetsAt: '2026-11-22T00:00:00.000Z' },
  },
  ERR_SIGNED_TX_INVALID: {
    remedy:
      'Sign the batch’s current `proposalApproveTx` (`?include=approval` answers it) with the registered wallet, and send it as the wallet returns it. The batch stays executable.',
    example: { problem: 'It is not signed by the project’s wallet 7Fq2bYtmWpQh1dS9xkX4rGz8uVnE3cJaLo5sTiR69dKe.' },
  },
  ERR_MINT_UNSUPPORTED: {
    remedy: 'Register a mint whose transfers arrive whole; the message says what stands in the way.',
    example: {
      mint: 'So1TokenWithFee1111111111111111111111111111',
      problem: 'takes a transfer fee of 50 basis points: less than sent arrives.',
    },
  },
  ERR_UNAUTHORIZED: {
    remedy: 'Send a valid key in `x-service-api-key`; for the console, sign in again.',
    example: { problem: 'Send an API key in the header x-service-api-key.' },
  },
  ERR_SIGN_IN_INVALID: {
    remedy: 'Ask for a new challenge and sign its message byte for byte, within five minutes and once.',
    example: { problem: 'The challenge is unknown, used or expired. Ask for a new one.' },
  },
  ERR_KEY_SCOPES_UNAUTHORIZED: {
    remedy: 'Leave the action out, or use a key that carries its scope.',
    example: { place: 'pipelines[0].actions[0]', action: 'BURN', scope: 'burn' },
  },
  ERR_KEY_NOT_FOUND: {
    remedy: 'The key is well formed but nobody holds it: check that it belongs to this service.',
    example: undefined,
  },
  ERR_TOKEN_NOT_FOUND: { remedy: 'Ask the service’s operator: the key’s token was removed.', example: undefined },
  ERR_FLYWHEEL_NOT_FOUND: { remedy: 'Ask the service’s operator: the key’s flywheel was removed.', example: undefined },
  ERR_BATCH_NOT_FOUND: {
    remedy: 'Check the id. Another project’s batch answers the same as one that does not exist.',
    example: { batchId: '5b1c7f6e-6a0d-4a57-9d0e-1f1f0c9e2a44' },
  },
  ERR_PROJECT_NOT_FOUND: {
    remedy: 'Check the id and the wallet that signed in. Another wallet’s project answers the same.',
    example: { projectId: '0c2d9a1b-52a7-4d1e-8b3f-6c7d1e2f3a4b' },
  },
  ERR_REGISTRATION_NOT_FOUND: {
    remedy: 'Begin a registration again; if it went through before, its project exists already.',
    example: { registrationId: 'a3f0c8d2-91b4-4e6f-a7c5-2d4e6f8a0b1c' },
  },
  ERR_ROUTE_NOT_FOUND: {
    remedy: 'Check the path against /docs.',
    example: { method: 'GET', path: '/v1/flywheel/batches' },
  },
  ERR_METHOD_NOT_ALLOWED: {
    remedy: 'Use the method that the header `Allow` names.',
    example: { method: 'GET', path: '/v1/flywheel/batch/init', allow: 'POST' },
  },
  ERR_BATCH_NOT_CANCELLABLE: {
    remedy: 'Nothing: the batch has done its work. Read its `executeResult`.',
    example: { batchId: '5b1c7f6e-6a0d-4a57-9d0e-1f1f0c9e2a44' },
  },
  ERR_BATCH_NOT_EXECUTABLE: {
    remedy: 'Initialize a new batch. Nothing of this one was executed and its daily amounts went back.',
    example: { batchId: '5b1c7f6e-6a0d-4a57-9d0e-1f1f0c9e2a44', reason: 'The proposal is rejected on chain.' },
  },
  ERR_VAULT_UNDERFUNDED: {
    remedy: 'Deposit what is missing into the vault, then repeat execute with the same `signedTx`.',
    example: {
      problems: [
        'The vault 9hTqVd2yQ1sWmZ3xPb6nKc8rLf4gUj5oEi7aYtR2vBkX holds 120 tokens; this batch needs 450: 330 more.',
      ],
    },
  },
  ERR_BATCH_WOULD_FAIL: {
    remedy: 'Mend every problem listed, then repeat execute with the same `signedTx`: nothing was sent.',
    example: { problems: ['Pipeline 3: 4mKx…c2Pz is a token account, not a wallet.'] },
  },
  ERR_REGISTRATION_FAILED: {
    remedy: 'Begin the registration again; see that the wallet holds SOL for it.',
    example: { problem: 'the transaction did not land in time. Begin again for a fresh one.' },
  },
  ERR_BODY_TOO_LARGE: { remedy: 'Split the batch into several.', example: { maxBytes: 2_097_152 } },
  ERR_UNSUPPORTED_MEDIA_TYPE: {
    remedy: 'Send JSON, uncompressed, with `Content-Type: application/json`.',
    example: { given: 'text/plain' },
  },
  ERR_DUPLICATE_IDEMPOTENCY_KEY: {
    remedy: 'Make a new key for a new batch; repeat a request with the very body it had.',
    example: { idempotencyKey: '3f2504e0-4f89-41d3-9a0c-0305e82c3301' },
  },
  ERR_RATE_LIMITED: {
    remedy: 'Wait for `Retry-After` seconds. The headers `RateLimit` and `RateLimit-Policy` say what is left.',
    example: { requests: 10, seconds: 60, retryAfterSeconds: 41 },
  },
  ERR_TOO_MANY_OPEN_BATCHES: {
    remedy: 'Execute what is open first.',
    example: { open: 50, asked: 1, max: 50, unit: 'batches' },
  },
  ERR_TOO_MANY_STREAMS: {
    remedy: 'Follow a batch once, and close the connection when you are done.',
    example: { open: 20, max: 20 },
  },
  ERR_INTERNAL: {
    remedy: 'Repeat later; if it stays, tell the service’s operator the header `x-request-id`.',
    example: undefined,
  },
  ERR_BATCH_INIT_FAILED: {
    remedy: 'Repeat with the same `x-idempotency-key`: either nothing was stored, or the batch is answered.',
    example: undefined,
  },
  ERR_BATCH_EXECUTE_FAILED: {
    remedy: 'Repeat execute: it joins what was sent before, and never executes twice.',
    example: undefined,
  },
  ERR_BATCH_CURRENT_FAILED: { remedy: 'Repeat.', example: undefined },
  ERR_NONCE_POOL_EMPTY: {
    remedy: 'Wait for `Retry-After` seconds and repeat with the same `x-idempotency-key`.',
    example: { retryAfterSeconds: 5 },
  },
  ERR_COMPANY_ONLY: {
    remedy: 'Sign in with a wallet that COMPANY_OPERATORS lists.',
    example: { wallet: '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin' },
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
    remedy: 'List the jobs again: it may have gone on by itself.',
    example: { jobId: '6f2e9a54-0c1f-4f6b-9d2c-3a5a0e6c1b7d' },
  },
  ERR_WEBHOOK_NOT_FOUND: {
    remedy: 'List the webhooks again: it may have been deleted. Another project’s answers the same.',
    example: { webhookId: '6f2e9a54-0c1f-4f6b-9d2c-3a5a0e6c1b7d' },
  },
  ERR_WEBHOOK_DELIVERY_NOT_FOUND: {
    remedy: 'List the deliveries again.',
    example: { deliveryId: '1042' },
  },
  ERR_WEBHOOK_DISABLED: {
    remedy: 'Enable the webhook when its receiver takes events again.',
    example: {
      webhookId: '6f2e9a54-0c1f-4f6b-9d2c-3a5a0e6c1b7d',
      reason: 'The receiver answered 410: it wants no more.',
    },
  },
  ERR_TOO_MANY_WEBHOOKS: { remedy: 'Delete one that is not needed any more.', example: { max: 10 } },
  ERR_WEBHOOKS_UNAVAILABLE: {
    remedy: 'Ask the service’s operator to set `WEBHOOK_KEY_FILE`. Everything else works without.',
    example: undefined,
  },
  ERR_ROTATION_OPEN: {
    remedy: 'Wait until the rotation is approved and executed, or cancel it in the console; then repeat the request.',
    example: { batchId: '6f2e9a54-0c1f-4f6b-9d2c-3a5a0e6c1b7d' },
  },
  ERR_ROTATION_REFUSED: {
    remedy: 'Mend what the message names, then ask again.',
    example: { problem: '2 batches are open and would become stale. Execute or cancel them first.' },
  },
  ERR_BATCH_NOT_WAITING: {
    remedy: 'Read the batch: it was approved, rejected, or has ended.',
    example: { batchId: '6f2e9a54-0c1f-4f6b-9d2c-3a5a0e6c1b7d', reason: 'it is EXECUTED.' },
  },
  ERR_PAUSED: {
    remedy: 'Ask the company; repeat the same request when it goes on. What was approved stays so.',
    example: { isForAll: false, reason: 'The token’s authority has been rotated; we are checking.' },
  },
};
