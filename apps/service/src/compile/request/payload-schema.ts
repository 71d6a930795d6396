import { createContext, Script } from 'node:vm';
import { ApiError, type Pipeline, type ProofType } from '@flywheel/api';
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import { placeOf } from './place.ts';

/**
 * Checks payloads against the JSON Schemas (2020-12) that the project registered for their types.
 * @throws ApiError ERR_FLYWHEEL_INVALID_PROOF_TYPE naming the failing path; also for a schema that does not compile or
 * takes too long, since nothing can satisfy it.
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
  throw new ApiError('ERR_FLYWHEEL_INVALID_PROOF_TYPE', { place: placeOf(['pipelines', checked, 'payload']), problem });
}

/**
 * The first JSON Schema of a list that cannot be registered, and why; or null. All of them share the time of one: whoever
 * is signed in may send a list, and nothing else is done meanwhile.
 */
export function findSchemaProblem(
  proofTypes: readonly Pick<ProofType, 'payloadSchema'>[],
): { readonly position: number; readonly problem: string } | null {
  let position = 0;
  const problem = withinTime(() => {
    for (const { payloadSchema } of proofTypes) {
      const found = payloadSchema === undefined ? null : problemOf(payloadSchema);
      if (found !== null) return found;
      position += 1;
    }
    return null;
  });
  return problem === null ? null : { position, problem };
}

/** Knows what a schema is, and is never handed one to keep. Made ready here: that takes longer than most schemas. */
const metaSchema = new Ajv2020({ strict: false, validateFormats: false, logger: false });
metaSchema.validateSchema({});

function problemOf(payloadSchema: PayloadSchema): string | null {
  if (!metaSchema.validateSchema(payloadSchema)) {
    return `is no JSON Schema (2020-12): ${metaSchema.errorsText(metaSchema.errors)}.`;
  }
  compile(payloadSchema);
  return null;
}

type PayloadSchema = NonNullable<ProofType['payloadSchema']>;
type Validate = (payload: unknown) => string | null;

/**
 * Schemas come from whoever registers, and a pattern or a reference can be made to take for ever. This is hundreds of times
 * what the payloads of a full request take: a machine that is busy with other things is not their fault.
 */
const MAX_SCHEMA_MS = 1_000;

const sandbox = createContext({});
const runner = new Script('run()');

/** Runs on this thread, but is stopped when the time is over, in the midst of a regular expression too. */
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

/** A schema names no other, so each has its own instance: identifiers of one project never meet another's. */
function compile(payloadSchema: PayloadSchema): Validate {
  // A promise of a verdict would count as satisfied.
  if ('$async' in payloadSchema) throw new Error('$async schemas are not supported');
  const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false, meta: false, validateSchema: false });
  const validate = ajv.compile(payloadSchema);
  return (payload) => (validate(payload) ? null : failure(validate.errors?.[0]));
}

function failure(error: ErrorObject | undefined): string {
  return `${error?.instancePath || 'the payload'} ${error?.message ?? 'is refused'}`;
}
