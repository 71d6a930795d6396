export * from './console-operations/index.ts';
export * from './console-schemas/index.ts';
export * from './errors.ts';
export * from './openapi.ts';
export * from './operation.ts';
export * from './operations.ts';
export * from './preview-schemas.ts';
export * from './schemas.ts';
