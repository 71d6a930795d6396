/** The service's own compilation of pipelines, for tests of the SDK that compare theirs with it byte by byte. */
export { compilePipeline } from '@flywheel/service/internal/compile/compile-pipeline.ts';
export { MAX_INSTRUCTION_TRACE, MAX_VAULT_MESSAGE_BYTES } from '@flywheel/service/internal/compile/size.ts';
export { lookupTableAddresses } from '@flywheel/service/internal/squads/registration.ts';
