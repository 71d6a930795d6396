export * from './audit.ts';
export * from './batch.ts';
export * from './company.ts';
export * from './identity.ts';
export * from './key.ts';
export * from './project.ts';
export * from './proof.ts';
export * from './registration.ts';
