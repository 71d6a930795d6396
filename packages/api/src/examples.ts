import type * as z from 'zod';
import type { OperationReply, OperationRequest } from './operation.ts';
import type { OPERATIONS } from './operations.ts';

/** One successful call of every operation under `/v1`, for the OpenAPI document. A test validates each against its schemas. */
export const EXAMPLES: ExamplesOf<typeof OPERATIONS> = {
  initBatch: {
    request: {
      headers: { 'x-idempotency-key': '0d0f6c52-8a2e-4b7c-9f1d-5c2f6e0a7b31' },
      body: {
        pipelines: [
          {
            type: 'WATCH_AD',
            payload: '{"adId":"123","viewer":"u-77"}',
            actions: [
              { action: 'AIRDROP', toAddress: '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin', amount: 2.5 },
              { action: 'BURN', amount: 1 },
            ],
          },
        ],
      },
    },
    reply: {
      status: 200,
      body: {
        proposalApproveTx: 'AwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
        batch: {
          id: '6f2e9a54-0c1f-4f6b-9d2c-3a5a0e6c1b7d',
          flywheelId: '41d8a3c7-5b0e-4f0d-8c55-0c8e9d1f2a60',
          status: 'AVAILABLE_TO_QUEUE',
          pipelines: [
            {
              type: 'WATCH_AD',
              payload: '{"adId":"123","viewer":"u-77"}',
              actions: [
                { action: 'AIRDROP', toAddress: '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin', amount: 2.5 },
                { action: 'BURN', amount: 1 },
              ],
              instructions: ['BUpTWpkpIQZNJOhxYNo4fHw1td28kruB', 'jJclj04kifG7PRApFI4NgwtaE5na/xCE'],
            },
          ],
          dateCreated: '2026-11-21T14:02:11.000Z',
        },
      },
    },
  },
  previewBatch: {
    request: {
      body: {
        pipelines: [{ type: 'WATCH_AD', payload: '{"adId":"124"}', actions: [{ action: 'BURN', amount: 100 }] }],
      },
    },
    reply: {
      status: 200,
      body: {
        pipelines: [{ instructions: ['BUpTWpkpIQZNJOhxYNo4fHw1td28kruB'], bytes: 212, maxBytes: 856 }],
        problems: [
          {
            code: 'ERR_VAULT_UNDERFUNDED',
            message:
              'The vault 9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin holds 40 tokens; this batch needs 100: 60 more. pipelines[0] is the first that it cannot pay.',
          },
        ],
        funds: {
          tokens: { needed: '100', available: '40', missing: '60' },
          lamports: { needed: '0', available: '0', missing: '0' },
        },
        limits: {
          burn: { cap: '1000', used: '250', asked: '100', left: '750', resetsAt: '2026-11-22T00:00:00.000Z' },
          airdrop: { cap: '1000', used: '0', asked: '0', left: '1000', resetsAt: '2026-11-22T00:00:00.000Z' },
        },
        cost: {
          feeLamports: '40200',
          tipLamports: '3000',
          vaultRentLamports: '0',
          rentLockedLamports: '7885680',
          operatorNetLamports: '43200',
        },
      },
    },
  },
  executeBatch: {
    request: {
      headers: { prefer: 'wait=60' },
      body: { batchId: '6f2e9a54-0c1f-4f6b-9d2c-3a5a0e6c1b7d', signedTx: 'A6Kf2nP0yQmB1rR8mD7c4e5h6i9jK0lZ' },
    },
    reply: {
      status: 200,
      body: {
        batchId: '6f2e9a54-0c1f-4f6b-9d2c-3a5a0e6c1b7d',
        status: 'EXECUTED',
        result: {
          total: 1,
          totalSuccessful: 1,
          totalFailed: 0,
          successfulExecutions: [
            {
              bundleId: '9f2c6a0b7d1e4f5a8c3b2d1e0f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f41',
              txHashes: ['5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW'],
            },
          ],
        },
      },
    },
  },
  getCurrentBatch: { request: {}, reply: { status: 200, body: null } },
  cancelBatch: {
    request: { params: { batchId: '6f2e9a54-0c1f-4f6b-9d2c-3a5a0e6c1b7d' }, headers: {} },
    reply: { status: 200, body: { batchId: '6f2e9a54-0c1f-4f6b-9d2c-3a5a0e6c1b7d', status: 'FAILED' } },
  },
  listBatches: {
    request: { query: { status: 'EXECUTED', limit: '1' } },
    reply: {
      status: 200,
      body: {
        batches: [
          {
            id: '6f2e9a54-0c1f-4f6b-9d2c-3a5a0e6c1b7d',
            flywheelId: '41d8a3c7-5b0e-4f0d-8c55-0c8e9d1f2a60',
            tokenId: 'c2b1f6de-9a43-4e62-b1a7-7a5f0a3d8e19',
            mintAddress: '4k3Dyjzvzp8eMZWUXbBCjEvwSkkk59S5iCNLY3QrkX6R',
            status: 'EXECUTED',
            batchIndex: '17',
            vaultIndex: '0',
            multisig: '7Fq2JcRzXGqVxvQkLd1ZcLk5yZpZ3vKjz1CqVZ9h9dKe',
            vaultAddress: 'HXtBm8XZbxaTt41uqaKhwUAa6Z1aPyvJdsZVENiWsetg',
            dateCreated: '2026-11-21T14:02:11.000Z',
            dateUpdated: '2026-11-21T14:05:40.000Z',
          },
        ],
        nextCursor: 'b17',
        vaultAddress: 'HXtBm8XZbxaTt41uqaKhwUAa6Z1aPyvJdsZVENiWsetg',
      },
    },
  },
  getBatch: {
    request: { params: { batchId: '6f2e9a54-0c1f-4f6b-9d2c-3a5a0e6c1b7d' }, query: { include: 'approval' } },
    reply: {
      status: 200,
      body: {
        id: '6f2e9a54-0c1f-4f6b-9d2c-3a5a0e6c1b7d',
        flywheelId: '41d8a3c7-5b0e-4f0d-8c55-0c8e9d1f2a60',
        tokenId: 'c2b1f6de-9a43-4e62-b1a7-7a5f0a3d8e19',
        mintAddress: '4k3Dyjzvzp8eMZWUXbBCjEvwSkkk59S5iCNLY3QrkX6R',
        status: 'FINALIZED',
        batchIndex: '17',
        vaultIndex: '0',
        multisig: '7Fq2JcRzXGqVxvQkLd1ZcLk5yZpZ3vKjz1CqVZ9h9dKe',
        vaultAddress: 'HXtBm8XZbxaTt41uqaKhwUAa6Z1aPyvJdsZVENiWsetg',
        initResult: {
          total: 1,
          totalSuccessful: 1,
          totalFailed: 0,
          successfulExecutions: [
            {
              bundleId: '1c0d9e8f7a6b5c4d3e2f419f2c6a0b7d1e4f5a8c3b2d1e0f9a8b7c6d5e4f3a2b',
              txHashes: ['2nBhEBYYvfaAe16UMNqRHre4YNSskvuYgx3M6E4JP1oDYvZEJHvoPzyUidNgNX5r9sTyN1J9UxtbCXy2rqYcuyuv'],
            },
          ],
          batchIndex: 17,
        },
        dateCreated: '2026-11-21T14:02:11.000Z',
        dateUpdated: '2026-11-21T14:02:13.000Z',
        proposalApproveTx: 'AwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
      },
    },
  },
  streamBatchEvents: {
    request: {
      params: { batchId: '6f2e9a54-0c1f-4f6b-9d2c-3a5a0e6c1b7d' },
      headers: { 'last-event-id': '1041' },
    },
    reply: {
      status: 200,
      body: {
        id: '1042',
        type: 'batch.finalized',
        batchId: '6f2e9a54-0c1f-4f6b-9d2c-3a5a0e6c1b7d',
        at: '2026-11-21T14:02:13.000Z',
        status: 'FINALIZED',
      },
    },
  },
};

type ExamplesOf<Rows> = {
  readonly [Id in keyof Rows]: {
    /** Empty for an operation without parameters and body. */
    readonly request: OperationRequest<Rows[Id]> & Example['request'];
    readonly reply: OperationReply<Rows[Id]> | ExampleEvent<Rows[Id]>;
  };
};

/** The `data` of one event, where the answer is a stream. */
type ExampleEvent<Row> = Row extends {
  readonly responses: {
    readonly 200: { readonly mediaType: 'text/event-stream'; readonly schema: z.ZodType<infer Event> };
  };
}
  ? { readonly status: 200; readonly body: Event }
  : never;

/** An example without the types of its operation. */
export interface Example {
  readonly request: {
    readonly headers?: { readonly [name: string]: unknown };
    readonly params?: { readonly [name: string]: unknown };
    readonly query?: { readonly [name: string]: unknown };
    readonly body?: unknown;
  };
  readonly reply: { readonly status: number; readonly body: unknown };
}
