/** The service's own compilation of pipelines, for tests of the SDK that compare theirs with it byte by byte. */
export { compilePipeline } from '@flywheel/service/internal/compile/compile-pipeline.ts';
export { lookupTableAddresses } from '@flywheel/service/internal/squads/registration.ts';
