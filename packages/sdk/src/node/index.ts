export * from './collector.ts';
export * from './environment.ts';
export * from './listener.ts';
export * from './serve.ts';
export * from './wallet.ts';
