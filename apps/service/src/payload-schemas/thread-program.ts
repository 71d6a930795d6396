import { parentPort, workerData } from 'node:worker_threads';
import { messageOf, truncate } from '@flywheel/protocol/wording';
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';

/**
 * The program of a schema thread: it compiles JSON Schemas (2020-12), which are other people's text, and checks payloads with
 * them. `thread.ts` starts it, bounds its memory, and ends it when a job uses too much CPU time.
 *
 * A schema can only fill this thread's time and memory: each has an Ajv instance of its own, so that identifiers of one
 * project never collide with another's, and no option is on with which Ajv changes a payload or a schema. Between schemas
 * nothing is shared but the compiled validators below, each found by the whole text of its schema.
 */

/** One schema, and what to do with it. */
export interface SchemaJob {
  /** JSON text of the schema. */
  readonly schema: string;
  /** True for a schema that is to be registered: it is also checked against the metaschema. */
  readonly isNew: boolean;
  /** JSON texts to check in this order, up to the first that does not satisfy the schema. */
  readonly payloads: readonly string[];
}

/** The first issue of a job. */
export interface SchemaIssue {
  /** Position of the payload; null if the schema itself cannot be used. */
  readonly position: number | null;
  /** Sentence without subject and period. */
  readonly problem: string;
}

export interface SchemaAnswer {
  readonly issue: SchemaIssue | null;
  /** CPU time of this thread since its start. */
  readonly totalCpuMs: number;
}

/** Shared with `thread.ts`: the position of the payload that is being checked, or -1 while the schema is compiled. */
export type Progress = Int32Array<SharedArrayBuffer>;

type Validate = (payload: unknown) => string | null;

/** Compiled schemas by their text, least recently used first. Code and closures take about fifty times the text's size. */
const validators = new Map<string, Validate>();
const MAX_CACHED_SCHEMAS = 500;
const MAX_CACHED_CHARACTERS = 1024 * 1024;
let cachedCharacters = 0;

const metaSchema = new Ajv2020({ strict: false, validateFormats: false, logger: false });

function start(): void {
  const port = parentPort;
  if (port === null) throw new Error('This program runs in a worker thread.');
  // `thread.ts` passes nothing else.
  const progress = workerData as Progress;
  warmUp(progress);
  port.on('message', (job: SchemaJob) => port.postMessage(answer(job, progress)));
  port.postMessage({ issue: null, totalCpuMs: totalCpuMs() } satisfies SchemaAnswer);
}

/** Loads what Ajv loads lazily, and lets V8 compile it, so that the first sender does not pay for it. */
function warmUp(progress: Progress): void {
  for (let i = 0; i < 5; i++) {
    const schema = { type: 'object', required: ['id'], properties: { id: { type: 'string', pattern: `^${i}` } } };
    answer({ schema: JSON.stringify(schema), isNew: true, payloads: ['{"id":"1"}'] }, progress);
  }
  validators.clear();
  cachedCharacters = 0;
}

function answer(job: SchemaJob, progress: Progress): SchemaAnswer {
  return { issue: findIssue(job, progress), totalCpuMs: totalCpuMs() };
}

function findIssue({ schema, isNew, payloads }: SchemaJob, progress: Progress): SchemaIssue | null {
  Atomics.store(progress, 0, -1);
  let validate: Validate;
  try {
    if (isNew && !metaSchema.validateSchema(JSON.parse(schema))) {
      return {
        position: null,
        problem: `is not a JSON Schema (2020-12): ${truncate(metaSchema.errorsText(metaSchema.errors), MAX_QUOTED_CHARACTERS)}`,
      };
    }
    validate = compileOnce(schema);
  } catch (error) {
    return { position: null, problem: `cannot be used: ${sentenceOf(error)}` };
  }
  for (const [position, payload] of payloads.entries()) {
    Atomics.store(progress, 0, position);
    try {
      const problem = validate(JSON.parse(payload));
      if (problem !== null) return { position, problem };
    } catch (error) {
      // A reference to itself, for example, exhausts the stack.
      return { position, problem: `cannot be checked: ${sentenceOf(error)}` };
    }
  }
  return null;
}

function compileOnce(text: string): Validate {
  const known = validators.get(text);
  if (known) {
    validators.delete(text);
    validators.set(text, known);
    return known;
  }
  const validate = compile(JSON.parse(text));
  validators.set(text, validate);
  cachedCharacters += text.length;
  for (const [oldest] of validators) {
    if (validators.size <= MAX_CACHED_SCHEMAS && cachedCharacters <= MAX_CACHED_CHARACTERS) break;
    validators.delete(oldest);
    cachedCharacters -= oldest.length;
  }
  return validate;
}

function compile(schema: object): Validate {
  // An asynchronous validation returns a promise, which would count as valid.
  if ('$async' in schema) throw new Error('$async schemas are not supported');
  // `format` is an annotation in JSON Schema 2020-12, unless a vocabulary says otherwise.
  const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false, meta: false, validateSchema: false });
  const validate = ajv.compile(schema);
  return (payload) => (validate(payload) ? null : describeError(validate.errors?.[0]));
}

function describeError(error: ErrorObject | undefined): string {
  return [error?.instancePath || 'the payload', error?.message ?? 'is invalid']
    .map((part) => truncate(part, MAX_QUOTED_CHARACTERS))
    .join(' ');
}

function sentenceOf(error: unknown): string {
  return truncate(messageOf(error), MAX_QUOTED_CHARACTERS);
}

/** Schemas and payloads stand in the messages of Ajv and V8. */
const MAX_QUOTED_CHARACTERS = 300;

function totalCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

start();
