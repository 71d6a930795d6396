import {
  ApiError,
  findPayloadIssue,
  type Pipeline,
  type ProofType,
  type SchemaTrial,
  type SchemaTrialRequest,
} from '@flywheel/api';
import type { Address } from '@solana/kit';
import { formatRequestPath } from '../model/input-issue.ts';
import type { NewProject, Project } from '../model/project.ts';
import {
  MAX_EXHAUSTIONS,
  PAYLOAD_CPU_MS,
  type Refusal,
  SCHEMA_CPU_MS,
  type SchemaPool,
  type SchemaSender,
} from './pool.ts';
import type { SchemaOutcome } from './thread.ts';
import type { SchemaIssue } from './thread-program.ts';

export interface SchemaDeps {
  readonly schemas: Pick<SchemaPool, 'run'>;
}

/**
 * Checks payloads against the JSON Schemas (2020-12) that the project has registered for their types. A request without
 * such a type costs nothing.
 * @throws ApiError ERR_FLYWHEEL_INVALID_PROOF_TYPE with the failing path; also for a schema that does not compile, because no
 * payload can satisfy it. ERR_SCHEMA_CHECK_UNAVAILABLE if the check did not end in time: its sender may repeat the request.
 */
export async function checkPayloads(
  { schemas }: SchemaDeps,
  { id, isAdmitted, proofTypes }: Pick<Project, 'id' | 'isAdmitted'> & Pick<NewProject, 'proofTypes'>,
  pipelines: readonly Pick<Pipeline, 'type' | 'payload'>[],
): Promise<void> {
  const issues: { readonly pipeline: number; readonly problem: string }[] = [];
  for (const [type, positions] of groupByType(pipelines)) {
    const schema = proofTypes.get(type)?.payloadSchema;
    if (schema === undefined) continue;
    const payloads = positions.map((position) => pipelines[position]?.payload ?? '');
    const pipelineOf = (position: number | null) => positions[position ?? 0] ?? 0;
    const outcome = await schemas.run(
      { id: `project ${id}`, kind: isAdmitted ? 'admitted' : 'project' },
      { schema: JSON.stringify(schema), isNew: false, payloads },
    );
    if (outcome.status !== 'checked') {
      const position = outcome.status === 'exhausted' ? outcome.position : null;
      // Clients look for the cause in the pipeline that is named.
      const place = outcome.status === 'starved' ? formatRequestPath([]) : payloadPath(pipelineOf(position));
      const limitMs = SCHEMA_CPU_MS + PAYLOAD_CPU_MS * payloads.length;
      throw unavailable(outcome, place, `the schema registered for ${type} needs more than ${limitMs} ms of CPU time.`);
    }
    const { issue } = outcome;
    if (issue !== null) issues.push({ pipeline: pipelineOf(issue.position), problem: toInputIssue(issue, type) });
  }
  const [first] = issues.toSorted((a, b) => a.pipeline - b.pipeline);
  if (!first) return;
  const { pipeline, problem } = first;
  throw new ApiError('ERR_FLYWHEEL_INVALID_PROOF_TYPE', { place: payloadPath(pipeline), problem });
}

/** The largest schema, in UTF-8, that can be registered. */
export const MAX_SCHEMA_BYTES = 32 * 1024;
/** All schemas of a project together: each init and each preview reads them. */
export const MAX_SCHEMAS_BYTES = 256 * 1024;
/** CPU time in which all schemas of a project must compile: a new thread compiles them again. */
export const MAX_SCHEMAS_CPU_MS = 500;
const MAX_SCHEMA_DEPTH = 32;
/** Values in a schema, each of which becomes code. */
const MAX_SCHEMA_NODES = 5_000;

/**
 * Requires that each schema of a list can be registered: it is small, a JSON Schema (2020-12), and compiles in time.
 * @param wallet whose request it is.
 * @throws ApiError ERR_INVALID_REQUEST for the first that cannot; ERR_SCHEMA_CHECK_UNAVAILABLE.
 */
export async function requireSchemas(
  deps: SchemaDeps,
  wallet: Address,
  proofTypes: readonly Pick<ProofType, 'payloadSchema'>[],
): Promise<void> {
  const places = proofTypes.flatMap(({ payloadSchema }, i) =>
    payloadSchema === undefined ? [] : [{ payloadSchema, place: `body.proofTypes[${i}].payloadSchema` }],
  );
  const texts = places.map(({ payloadSchema, place }) => ({ place, text: requireSmall(payloadSchema, place) }));
  const bytes = texts.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
  if (bytes > MAX_SCHEMAS_BYTES) {
    const problem = `have schemas of ${bytes} bytes together; a project may have ${MAX_SCHEMAS_BYTES}.`;
    throw new ApiError('ERR_INVALID_REQUEST', { place: 'body.proofTypes', problem });
  }
  let cpuMs = 0;
  for (const { place, text } of texts) {
    const { issue, usedMs } = await checkSchema(deps, wallet, { place, text, payloads: [] });
    if (issue !== null) throw new ApiError('ERR_INVALID_REQUEST', { place, problem: `${issue.problem}.` });
    cpuMs += usedMs;
    if (cpuMs > MAX_SCHEMAS_CPU_MS) {
      const problem = `compile in more than ${MAX_SCHEMAS_CPU_MS} ms of CPU time together. Simplify them, or register fewer.`;
      throw new ApiError('ERR_INVALID_REQUEST', { place: 'body.proofTypes', problem });
    }
  }
}

/**
 * Tries a schema that is not registered yet with a payload, exactly as a registration and an init would check them.
 * @throws ApiError ERR_INVALID_REQUEST for a schema that is too large or too slow; ERR_SCHEMA_CHECK_UNAVAILABLE.
 */
export async function trySchema(
  deps: SchemaDeps,
  wallet: Address,
  { payloadSchema, payload }: SchemaTrialRequest,
): Promise<SchemaTrial> {
  const place = 'body.payloadSchema';
  const text = requireSmall(payloadSchema, place);
  // Init looks for these issues before it checks the schema.
  const payloadIssue = findPayloadIssue(payload);
  const payloads = payloadIssue === null ? [payload] : [];
  const { issue } = await checkSchema(deps, wallet, { place, text, payloads });
  if (issue?.position === null) return { schemaProblem: issue.problem, payloadProblem: null };
  const payloadProblem = payloadIssue === null ? issue?.problem : `the payload ${payloadIssue.replace(/\.$/, '')}`;
  return { schemaProblem: null, payloadProblem: payloadProblem ?? null };
}

type PayloadSchema = NonNullable<ProofType['payloadSchema']>;

/** @throws ApiError ERR_INVALID_REQUEST if the schema runs out of CPU time; ERR_SCHEMA_CHECK_UNAVAILABLE. */
async function checkSchema(
  { schemas }: SchemaDeps,
  wallet: Address,
  { place, text, payloads }: { readonly place: string; readonly text: string; readonly payloads: readonly string[] },
): Promise<{ readonly issue: SchemaIssue | null; readonly usedMs: number }> {
  const sender: SchemaSender = { id: `wallet ${wallet}`, kind: 'wallet' };
  const outcome = await schemas.run(sender, { schema: text, isNew: true, payloads });
  if (outcome.status === 'checked') return { issue: outcome.issue, usedMs: outcome.cpuMs };
  if (outcome.status === 'exhausted') {
    const limitMs = SCHEMA_CPU_MS + PAYLOAD_CPU_MS * payloads.length;
    const problem = `needs more than ${limitMs} ms of CPU time. Simplify its patterns and references.`;
    throw new ApiError('ERR_INVALID_REQUEST', { place, problem });
  }
  throw unavailable(outcome, place, '');
}

function requireSmall(payloadSchema: PayloadSchema, place: string): string {
  const refuse = (problem: string) => new ApiError('ERR_INVALID_REQUEST', { place, problem });
  const rest: { readonly value: unknown; readonly depth: number }[] = [{ value: payloadSchema, depth: 1 }];
  let nodes = 0;
  for (let next = rest.pop(); next; next = rest.pop()) {
    nodes += 1;
    if (nodes > MAX_SCHEMA_NODES) throw refuse(`has more than ${MAX_SCHEMA_NODES} values.`);
    if (typeof next.value !== 'object' || next.value === null) continue;
    const depth = next.depth + 1;
    if (next.depth > MAX_SCHEMA_DEPTH) throw refuse(`nests deeper than ${MAX_SCHEMA_DEPTH} levels.`);
    for (const value of Object.values(next.value)) rest.push({ value, depth });
  }
  const text = JSON.stringify(payloadSchema);
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_SCHEMA_BYTES) throw refuse(`has ${bytes} bytes; a schema may have ${MAX_SCHEMA_BYTES}.`);
  return text;
}

function groupByType(pipelines: readonly Pick<Pipeline, 'type'>[]): ReadonlyMap<string, number[]> {
  return Map.groupBy(pipelines.keys(), (position) => pipelines[position]?.type ?? '');
}

function toInputIssue({ position, problem }: SchemaIssue, type: string): string {
  return position === null
    ? `cannot be checked: the schema registered for ${type} ${problem}.`
    : `does not satisfy the schema registered for ${type}: ${problem}.`;
}

function payloadPath(pipeline: number): string {
  return formatRequestPath(['pipelines', pipeline, 'payload']);
}

/** Time after which a busy service, or a payload that is checked first next time, may have an answer. */
const RETRY_AFTER_SECONDS = 5;

function unavailable(
  outcome: Exclude<SchemaOutcome, { status: 'checked' }> | Refusal,
  place: string,
  exhausted: string,
): ApiError<'ERR_SCHEMA_CHECK_UNAVAILABLE'> {
  const refuse = (problem: string, retryAfterSeconds = RETRY_AFTER_SECONDS) =>
    new ApiError('ERR_SCHEMA_CHECK_UNAVAILABLE', { place, problem, retryAfterSeconds });
  switch (outcome.status) {
    case 'exhausted':
      return refuse(`was not checked: ${exhausted}`);
    case 'starved':
      return refuse('was not checked in time: the service is busy with other schemas.');
    case 'barred':
      return refuse(
        `is not checked now: schemas of the same sender have used up their CPU time ${outcome.exhaustions} times; ${MAX_EXHAUSTIONS} a minute are allowed.`,
        outcome.retryAfterSeconds,
      );
    default:
      return outcome satisfies never;
  }
}
