import { createContext, Script } from 'node:vm';
import { ApiError, type Pipeline, type ProofType } from '@flywheel/api';
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import { formatPath } from '../../model/request-issue.ts';

/**
 * Checks payloads against the JSON Schemas (2020-12) that the project has registered for their types.
 * @throws ApiError ERR_FLYWHEEL_INVALID_PROOF_TYPE with the failing path; also for a schema that does not compile or takes
 * too long, because no payload can satisfy it.
 */
export function checkPayloads(
  pipelines: readonly Pick<Pipeline, 'type' | 'payload'>[],
  proofTypes: ReadonlyMap<string, ProofType>,
): void {
  const validators = new Map<string, Validate>();
  const validatorOf = (type: string) => {
    const schema = proofTypes.get(type)?.payloadSchema;
    if (!schema) return undefined;
    const validate = validators.get(type) ?? compile(schema);
    validators.set(type, validate);
    return validate;
  };
  let checked = 0;
  const problem = withinTime(() => {
    for (const { type, payload } of pipelines) {
      const found = validatorOf(type)?.(JSON.parse(payload));
      if (found) return `does not satisfy the schema registered for ${type}: ${found}.`;
      checked += 1;
    }
    return null;
  });
  if (problem === null) return;
  throw new ApiError('ERR_FLYWHEEL_INVALID_PROOF_TYPE', {
    place: formatPath(['pipelines', checked, 'payload']),
    problem,
  });
}

/**
 * Finds the first JSON Schema of a list that cannot be registered; null if all can. All schemas of a list share one time
 * limit, because this thread does nothing else meanwhile.
 */
export function findSchemaProblem(
  proofTypes: readonly Pick<ProofType, 'payloadSchema'>[],
): { readonly position: number; readonly problem: string } | null {
  let position = 0;
  const problem = withinTime(() => {
    for (const { payloadSchema } of proofTypes) {
      const found = payloadSchema === undefined ? null : findProblem(payloadSchema);
      if (found !== null) return found;
      position += 1;
    }
    return null;
  });
  return problem === null ? null : { position, problem };
}

/** Validates schemas and keeps none of them. Initialized here because that takes longer than checking most schemas. */
const metaSchema = new Ajv2020({ strict: false, validateFormats: false, logger: false });
metaSchema.validateSchema({});

function findProblem(payloadSchema: PayloadSchema): string | null {
  if (!metaSchema.validateSchema(payloadSchema)) {
    return `is not a JSON Schema (2020-12): ${metaSchema.errorsText(metaSchema.errors)}.`;
  }
  compile(payloadSchema);
  return null;
}

type PayloadSchema = NonNullable<ProofType['payloadSchema']>;
type Validate = (payload: unknown) => string | null;

/**
 * Schemas come from users, and a pattern or a reference can take exponential time. The limit is hundreds of times the
 * duration for a full request, so that a busy machine does not fail it.
 */
const MAX_SCHEMA_MS = 1_000;

const sandbox = createContext({});
const runner = new Script('run()');

/** Runs on this thread; the time limit also interrupts a regular expression. */
function withinTime(run: () => string | null): string | null {
  let result: string | null = null;
  sandbox.run = () => {
    result = run();
  };
  try {
    runner.runInContext(sandbox, { timeout: MAX_SCHEMA_MS });
  } catch (error) {
    return `cannot be checked by the registered schema: ${error instanceof Error ? error.message : String(error)}.`;
  }
  return result;
}

/** Each schema gets its own Ajv instance, so that identifiers of one project never collide with another's. */
function compile(payloadSchema: PayloadSchema): Validate {
  // An asynchronous validation returns a promise, which would count as valid.
  if ('$async' in payloadSchema) throw new Error('$async schemas are not supported');
  const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false, meta: false, validateSchema: false });
  const validate = ajv.compile(payloadSchema);
  return (payload) => (validate(payload) ? null : describeError(validate.errors?.[0]));
}

function describeError(error: ErrorObject | undefined): string {
  return `${error?.instancePath || 'the payload'} ${error?.message ?? 'is invalid'}`;
}
