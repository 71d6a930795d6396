import assert from 'node:assert/strict';
import { compilePipelines } from '@flywheel/service/internal/compile/compile-pipeline.ts';
import type { CompiledPipeline, VaultPipeline } from '@flywheel/service/internal/model/batch.ts';
import type { Project } from '@flywheel/service/internal/model/project.ts';

export { lookupTableAddresses } from '@flywheel/service/internal/squads/registration.ts';

/** Compiles one pipeline as the service does. Tests of the SDK compare theirs with it byte by byte. */
export async function compilePipeline(
  pipeline: VaultPipeline,
  project: Pick<Project, 'token' | 'flywheel'>,
): Promise<CompiledPipeline> {
  const [compiled] = await compilePipelines([pipeline], project);
  assert.ok(compiled);
  return compiled;
}
