export * from './client.ts';
export * from './errors.ts';
export * from './follow-batch.ts';
export * from './proof.ts';
export * from './request.ts';
export * from './run-batch.ts';
export * from './sign.ts';
