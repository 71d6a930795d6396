export * from './environment.ts';
export * from './listener.ts';
export * from './wallet.ts';
