import * as z from 'zod';
import { API_KEY_FORMAT, API_KEY_HEADER } from './api-key.ts';
import { type BatchEvent, batchEventText } from './batch-events.ts';
import type { ErrorCode } from './error-codes.ts';
import { errorExample } from './error-notes.ts';
import { ERRORS } from './errors.ts';
import { EXAMPLES, type Example } from './examples.ts';
import { errorsOf, type Operation, type OperationResponse } from './operation.ts';
import { LOCAL_SERVICE_URL, OPERATIONS, type OperationId } from './operations.ts';
import { MAX_PAGE_SIZE, PAGE_LIMIT } from './page.ts';
import { ErrorBody } from './schemas.ts';

/**
 * Describes the contract under `/v1` as OpenAPI 3.1, from the same schemas that validate requests, with an example for
 * every operation and every error.
 * @param serverUrl origin that the operations are called at, e.g. `https://flywheel.example`
 */
export function openapi(serverUrl: string = LOCAL_SERVICE_URL) {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const [operationId, operation] of Object.entries<Operation>(OPERATIONS)) {
    const methods = paths[operation.path] ?? {};
    // EXAMPLES has a key for each of OPERATIONS, by its type.
    const example: Example = EXAMPLES[operationId as OperationId];
    methods[operation.method.toLowerCase()] = describeOperation(operationId, operation, example);
    paths[operation.path] = methods;
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Flywheel batch service',
      version: '1.0.0',
      description: INTRODUCTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: serverUrl }],
    tags: TAGS,
    paths,
    components: {
      schemas: namedSchemas(),
      headers: HEADERS,
      securitySchemes: {
        apiKey: {
          type: 'apiKey',
          in: 'header',
          name: API_KEY_HEADER,
          description: `API key of the project: ${API_KEY_FORMAT}.`,
        },
      },
    },
  };
}

const TAGS = [
  { name: 'Batches', description: 'Create, execute and cancel batches.' },
  { name: 'Status', description: 'Read batches, and follow them as they change.' },
] as const;

const INTRODUCTION = `Token operations become batches. Two parties approve a batch through a multisig, it is executed on Solana in
bundles, and anyone can check the proof of each operation. New here? Begin with the [tutorial](/docs/tutorial).

## From a pipeline to the chain

1. **Initialize** a batch: send pipelines, receive an approval transaction.
2. **Sign** \`proposalApproveTx\` with the project’s wallet.
3. **Execute** the batch: send the signed transaction.
4. **Read** the batch until its status is \`EXECUTED\` or \`FAILED\`.

A batch is \`AVAILABLE_TO_QUEUE\` while it is set up on chain, then \`FINALIZED\`. You may take days to sign: the approval
uses a durable nonce, so it does not expire with a blockhash.

## Authentication

Send the project’s API key in the header \`${API_KEY_HEADER}\`. Its last six characters are a checksum, so a key that was cut
off is reported as malformed, not as unknown. A key carries the scope \`burn\`, \`airdrop\` or both. Either scope opens every
operation; the actions \`BURN\` and \`AIRDROP\` each need their own. Bearer tokens are not accepted.

## Errors

Every error is JSON with a code for programs and a sentence for people, e.g.
\`{"error":"ERR_INVALID_REQUEST","message":"body.batchId must be a UUID."}\`. [All codes](/docs/errors) and what to do about
them. Every response carries \`x-request-id\`: quote it when you ask for help.

## Rate limits

Requests are counted per API key and limit: ${describeSharedLimits()}; every other
operation has a limit of its own. Every response to a counted request says how many are left; one without a
valid key, which is answered with 401 or 404, is not counted:
\`RateLimit-Policy: "init";q=10;w=60\` means ten requests in 60 seconds, \`RateLimit: "init";r=9;t=41\` means nine are left
for the next 41 seconds. Above the limit the response is 429 with \`Retry-After\`. Repeated requests count too.

## Idempotency

Make one UUID per batch and send it in \`x-idempotency-key\`. The same key with the same body returns the same batch, with
\`idempotency-replayed: true\` and the status that the batch has now; with a different body it is refused. Once the status is
\`EXECUTED\` or \`FAILED\`, \`proposalApproveTx\` is the earlier one, and there is nothing to sign any more. A request that
failed stored nothing: send it again with the same key. Executing needs no key: a batch is never executed twice.
`;

/** Names the operations whose requests are counted together. */
function describeSharedLimits(): string {
  const byLimit = Map.groupBy(Object.entries<Operation>(OPERATIONS), ([, { rateLimit }]) => rateLimit);
  const names = new Intl.ListFormat('en-GB');
  return [...byLimit]
    .filter(([, operations]) => operations.length > 1)
    .map(([limit, operations]) => `${names.format(operations.map(([id]) => `\`${id}\``))} share \`${limit}\``)
    .join('; ');
}

/** Lists the codes that an operation may answer, by status. */
export function errorsByStatus(operation: Operation): ReadonlyMap<number, readonly ErrorCode[]> {
  const codes = [...errorsOf(operation)];
  const statuses = [...new Set(codes.map((code) => ERRORS[code].status))].sort((a, b) => a - b);
  return new Map(statuses.map((status) => [status, codes.filter((code) => ERRORS[code].status === status)]));
}

function describeOperation(operationId: string, operation: Operation, { request, reply }: Example) {
  const { summary, description, body, responses, tag } = operation;
  return {
    operationId,
    tags: tag === undefined ? [] : [tag],
    summary,
    description,
    security: operation.authentication === 'apiKey' ? [{ apiKey: [] }] : [],
    parameters: [
      ...parameters('path', operation.params, request.params),
      ...parameters('query', operation.query, request.query),
      ...parameters('header', operation.headers, request.headers),
    ],
    ...(body && {
      requestBody: { required: true, content: json(body, 'input', { example: request.body }) },
    }),
    responses: Object.fromEntries([
      ...Object.entries(responses).map(([status, response]) => [
        status,
        {
          description: response.description,
          headers: successHeaders(operation, Number(status)),
          ...content(status, response, Number(status) === reply.status ? reply.body : undefined),
        },
      ]),
      ...[...errorsByStatus(operation)].map(([status, codes]) => [
        status,
        {
          description: codes.map((code) => `\`${code}\`: ${ERRORS[code].summary}`).join('\n\n'),
          headers: errorHeaders(status, codes),
          content: json(ErrorBody, 'output', { examples: errorExamples(codes) }),
        },
      ]),
    ]),
  };
}

function errorExamples(codes: readonly ErrorCode[]) {
  return Object.fromEntries(codes.map((code) => [code, { value: errorExample(code) }]));
}

const NO_CONTENT = '204';

function content(status: string, { schema, mediaType }: OperationResponse, body: unknown) {
  if (status === NO_CONTENT) return {};
  if (mediaType === undefined) return { content: json(schema, 'output', body === undefined ? {} : { example: body }) };
  // OpenAPI 3.1 has no schema for one event of a stream. Clients parse the whole text by the schema that they find here.
  const event = z.globalRegistry.get(schema)?.id;
  const description = `Server-sent events. The \`data\` of each is one \`${event}\` as JSON.`;
  // The example of a stream is an event, by its type.
  const example = body === undefined ? {} : { example: batchEventText(body as BatchEvent) };
  return { content: { [mediaType]: { schema: { type: 'string', description }, ...example } } };
}

type ExamplePart = { readonly example?: unknown } | { readonly examples: unknown };

/** Headers of responses. None is marked as required: which ones a response has depends on its request. */
const HEADERS = {
  'X-Request-Id': textHeader('Id of the request, also in the log of the service.'),
  'RateLimit-Policy': textHeader('E.g. `"init";q=10;w=60`.'),
  RateLimit: textHeader('E.g. `"init";r=9;t=41`.'),
  'Idempotency-Replayed': textHeader(
    '`true` if an earlier request with the same key created the batch; otherwise absent.',
  ),
  'Preference-Applied': textHeader('The wait that was applied, e.g. `wait=60`; absent if the request preferred none.'),
  Location: textHeader('Path of the batch.'),
  'Retry-After': { schema: { type: 'integer' }, description: 'Seconds to wait before the next request.' },
  'WWW-Authenticate': textHeader('Names the header of the API key.'),
  'Accept-Encoding': textHeader('`identity` if the body was compressed; otherwise absent.'),
};

type HeaderName = keyof typeof HEADERS;

const COUNTED = ['X-Request-Id', 'RateLimit-Policy', 'RateLimit'] as const satisfies readonly HeaderName[];
/** Statuses whose errors may pass by themselves. */
const PASSING_STATUSES: ReadonlySet<number> = new Set([429, 500, 503]);
/** Errors of other statuses that may. */
const PASSING_CODES: ReadonlySet<ErrorCode> = new Set(['ERR_FLYWHEEL_DAILY_LIMIT_EXCEEDED', 'ERR_ROTATION_OPEN']);

function successHeaders({ headers: requested }: Operation, status: number) {
  return headerReferences([
    ...COUNTED,
    ...(requested && 'x-idempotency-key' in requested.shape ? (['Idempotency-Replayed'] as const) : []),
    ...(requested && 'prefer' in requested.shape ? (['Preference-Applied'] as const) : []),
    ...(status === ACCEPTED ? (['Location', 'Retry-After'] as const) : []),
  ]);
}

/** A request without a valid key is not counted, so no limit is known. */
function errorHeaders(status: number, codes: readonly ErrorCode[]) {
  if (status === UNAUTHORIZED) return headerReferences(['X-Request-Id', 'WWW-Authenticate']);
  const mayPass = PASSING_STATUSES.has(status) || codes.some((code) => PASSING_CODES.has(code));
  return headerReferences([
    ...COUNTED,
    ...(mayPass ? (['Retry-After'] as const) : []),
    ...(status === UNSUPPORTED_MEDIA_TYPE ? (['Accept-Encoding'] as const) : []),
  ]);
}

const ACCEPTED = 202;
const UNAUTHORIZED = 401;
const UNSUPPORTED_MEDIA_TYPE = 415;

function headerReferences(names: readonly HeaderName[]) {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function textHeader(description: string) {
  return { schema: { type: 'string' }, description };
}

function parameters(
  location: 'path' | 'query' | 'header',
  shape: z.ZodObject | undefined,
  examples: Readonly<Record<string, unknown>> = {},
) {
  return Object.entries(shape?.shape ?? {}).map(([name, schema]) => {
    const { description, ...jsonSchema } = toJsonSchema(schema as z.ZodType, 'input');
    // Numbers in a query are text to the service, and numbers to a client.
    const isLimit = jsonSchema.pattern === PAGE_LIMIT.source;
    const required = location === 'path' || !(schema as z.ZodType).safeParse(undefined).success;
    return {
      name,
      in: location,
      required,
      ...(description !== undefined && { description }),
      schema: isLimit ? { type: 'integer', minimum: 1, maximum: MAX_PAGE_SIZE } : jsonSchema,
      ...(name in examples && { example: isLimit ? Number(examples[name]) : examples[name] }),
    };
  });
}

function json(schema: z.ZodType, io: 'input' | 'output', example: ExamplePart) {
  return { 'application/json': { schema: toJsonSchema(schema, io), ...example } };
}

/** Turns a schema with an id into a reference to its component, and any other into an inline schema. */
function toJsonSchema(schema: z.ZodType, io: 'input' | 'output'): Record<string, unknown> {
  const registry = z.registry<{ id: string }>();
  for (const [id, named] of namedZodSchemas()) registry.add(named, { id });
  const id = registry.get(schema)?.id;
  if (id !== undefined) return { $ref: componentUri(id) };
  registry.add(schema, { id: INLINE });
  const { schemas } = z.toJSONSchema(registry, {
    io,
    uri: componentUri,
    ...(io === 'output' && { override: leaveOpen }),
  });
  const { $schema: _, $id: __, ...inline } = schemas[INLINE] ?? {};
  return inline;
}

function namedSchemas(): Record<string, unknown> {
  const registry = z.registry<{ id: string }>();
  for (const [id, named] of namedZodSchemas()) registry.add(named, { id });
  const { schemas } = z.toJSONSchema(registry, { io: 'output', uri: componentUri, override: completeComponent });
  return Object.fromEntries(Object.entries(schemas).map(([id, { $schema: _, $id: __, ...schema }]) => [id, schema]));
}

interface Override {
  readonly zodSchema: unknown;
  readonly jsonSchema: { additionalProperties?: unknown; discriminator?: unknown };
}

/** Adds to a component, which is described as a response has it, what zod leaves out. */
function completeComponent(override: Override): void {
  leaveOpen(override);
  nameDiscriminator(override);
}

/**
 * Opens an object of a response for other fields: responses may get new ones, which generated clients would refuse. Objects
 * of requests stay closed, also where a response repeats them.
 */
function leaveOpen({ zodSchema, jsonSchema }: Override): void {
  if (!requestSchemas().has(zodSchema)) delete jsonSchema.additionalProperties;
}

/** Names the property that tells the members of a union apart: generated clients would try one after the other. */
function nameDiscriminator({ zodSchema, jsonSchema }: Override): void {
  if (!(zodSchema instanceof z.ZodDiscriminatedUnion)) return;
  const { discriminator: propertyName } = zodSchema.def;
  // The contract's unions have objects that a literal tells apart; a test compares the result.
  const members = (zodSchema.options as z.ZodObject<Record<string, z.ZodLiteral>>[]).map((member) => [
    member.shape[propertyName]?.value,
    componentUri(z.globalRegistry.get(member)?.id ?? ''),
  ]);
  jsonSchema.discriminator = { propertyName, mapping: Object.fromEntries(members) };
}

/** Finds every schema that the body of a request contains. */
function requestSchemas(): ReadonlySet<unknown> {
  const found = new Set<unknown>();
  const visit = (schema: z.ZodType) => {
    if (found.has(schema)) return;
    found.add(schema);
    for (const child of children(schema)) visit(child);
  };
  for (const { body } of Object.values<Operation>(OPERATIONS)) if (body) visit(body);
  return found;
}

const INLINE = 'inline';

function componentUri(id: string): string {
  return `#/components/schemas/${id}`;
}

/** Finds every schema of the contract that has an id; the map is sorted by id. */
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
