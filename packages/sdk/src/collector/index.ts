export * from './collector.ts';
export * from './end-signed-batches.ts';
export type { CollectedItem, ItemStatus } from './item.ts';
export * from './item-handler.ts';
export * from './memory-store.ts';
export type { HeldUp, WalletApproval } from './pay-batch.ts';
export { RECIPIENT_PARKED } from './plan-batch.ts';
export * from './prometheus.ts';
export type * from './store.ts';
