/** Gives tests of the SDK the service's compilation of pipelines, to compare theirs with it byte by byte. */
export { compilePipeline } from '@flywheel/service/internal/compile/compile-pipeline.ts';
export { lookupTableAddresses } from '@flywheel/service/internal/squads/registration.ts';
