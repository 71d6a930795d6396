export * from './console-operations.ts';
export * from './console-schemas.ts';
export * from './errors.ts';
export * from './openapi.ts';
export * from './operation.ts';
export * from './operations.ts';
export * from './preview-schemas.ts';
export * from './schemas.ts';
