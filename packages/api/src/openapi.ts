import * as z from 'zod';
import { ERRORS, type ErrorCode } from './errors.ts';
import { errorsOf, type Operation, type OperationResponse } from './operation.ts';
import { OPERATIONS } from './operations.ts';
import { ErrorBody } from './schemas.ts';

/** OpenAPI 3.1 of the contract under `/v1`, from the same schemas that validate. */
export function openapi() {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const [operationId, operation] of Object.entries<Operation>(OPERATIONS)) {
    const methods = paths[operation.path] ?? {};
    methods[operation.method.toLowerCase()] = describeOperation(operationId, operation);
    paths[operation.path] = methods;
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Flywheel batch service',
      version: '1.0.0',
      description: 'Batches of token operations, approved by two parties through a multisig, executed on Solana.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    paths,
    components: {
      schemas: namedSchemas(),
      securitySchemes: { apiKey: { type: 'apiKey', in: 'header', name: 'x-service-api-key' } },
    },
  };
}

/** The codes an operation may answer, by status. */
export function errorsByStatus(operation: Operation): ReadonlyMap<number, readonly ErrorCode[]> {
  const grouped = Map.groupBy(errorsOf(operation), (code) => ERRORS[code].status);
  return new Map([...grouped].sort(([a], [b]) => a - b));
}

function describeOperation(operationId: string, operation: Operation) {
  const { summary, description, body, responses } = operation;
  return {
    operationId,
    summary,
    description,
    security: operation.authentication === 'apiKey' ? [{ apiKey: [] }] : [],
    parameters: [
      ...parameters('path', operation.params),
      ...parameters('query', operation.query),
      ...parameters('header', operation.headers),
    ],
    ...(body && { requestBody: { required: true, content: json(body, 'input') } }),
    responses: Object.fromEntries([
      ...Object.entries(responses).map(([status, response]) => [
        status,
        { description: response.description, headers: RATE_LIMIT_HEADERS, ...content(status, response) },
      ]),
      ...[...errorsByStatus(operation)].map(([status, codes]) => [
        status,
        {
          description: codes.map((code) => `\`${code}\`: ${ERRORS[code].summary}`).join('\n\n'),
          content: json(ErrorBody, 'output'),
        },
      ]),
    ]),
  };
}

const NO_CONTENT = '204';

/** Of a stream the schema is that of an event’s `data`. */
function content(status: string, { schema, mediaType }: OperationResponse) {
  if (status === NO_CONTENT) return {};
  if (mediaType === undefined) return { content: json(schema, 'output') };
  return { content: { [mediaType]: { schema: toJsonSchema(schema, 'output') } } };
}

const RATE_LIMIT_HEADERS = {
  'RateLimit-Policy': { schema: { type: 'string' }, description: 'E.g. `"init";q=10;w=60`.' },
  RateLimit: { schema: { type: 'string' }, description: 'E.g. `"init";r=9;t=41`.' },
};

function parameters(place: 'path' | 'query' | 'header', shape: z.ZodObject | undefined) {
  return Object.entries(shape?.shape ?? {}).map(([name, schema]) => {
    const { description, ...jsonSchema } = toJsonSchema(schema as z.ZodType, 'input');
    const required = place === 'path' || !(schema as z.ZodType).safeParse(undefined).success;
    return { name, in: place, required, ...(description !== undefined && { description }), schema: jsonSchema };
  });
}

function json(schema: z.ZodType, io: 'input' | 'output') {
  return { 'application/json': { schema: toJsonSchema(schema, io) } };
}

/** A schema with an id becomes a reference to its component; the others stand inline. */
function toJsonSchema(schema: z.ZodType, io: 'input' | 'output'): Record<string, unknown> {
  const registry = z.registry<{ id: string }>();
  for (const [id, named] of namedZodSchemas()) registry.add(named, { id });
  const id = registry.get(schema)?.id;
  if (id !== undefined) return { $ref: componentUri(id) };
  registry.add(schema, { id: INLINE });
  const { schemas } = z.toJSONSchema(registry, { io, uri: componentUri });
  const { $schema: _, $id: __, ...inline } = schemas[INLINE] ?? {};
  return inline;
}

function namedSchemas(): Record<string, unknown> {
  const registry = z.registry<{ id: string }>();
  for (const [id, named] of namedZodSchemas()) registry.add(named, { id });
  const { schemas } = z.toJSONSchema(registry, { io: 'output', uri: componentUri });
  return Object.fromEntries(Object.entries(schemas).map(([id, { $schema: _, $id: __, ...schema }]) => [id, schema]));
}

const INLINE = 'inline';

function componentUri(id: string): string {
  return `#/components/schemas/${id}`;
}

/** Every schema of the wire that has an id, by id, in a stable order. */
function namedZodSchemas(): ReadonlyMap<string, z.ZodType> {
  const found = new Map<string, z.ZodType>();
  const visit = (schema: z.ZodType) => {
    const id = z.globalRegistry.get(schema)?.id;
    if (id !== undefined) {
      if (found.has(id)) return;
      found.set(id, schema);
    }
    for (const child of children(schema)) visit(child);
  };
  visit(ErrorBody);
  for (const operation of Object.values<Operation>(OPERATIONS)) {
    if (operation.body) visit(operation.body);
    for (const { schema } of Object.values(operation.responses)) visit(schema);
  }
  return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function children(schema: z.ZodType): readonly z.ZodType[] {
  if (schema instanceof z.ZodObject) return Object.values(schema.shape) as z.ZodType[];
  if (schema instanceof z.ZodArray) return [schema.element as z.ZodType];
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return [schema.unwrap() as z.ZodType];
  if (schema instanceof z.ZodDiscriminatedUnion) return schema.options as z.ZodType[];
  return [];
}
