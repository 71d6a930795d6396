export * from './address-encoder.ts';
export * from './amounts.ts';
export * from './describe-instruction.ts';
export * from './instruction-data.ts';
export * from './limits.ts';
export * from './proof-memo.ts';
export * from './reserved-addresses.ts';
