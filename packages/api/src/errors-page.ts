import { CONSOLE_OPERATIONS } from './console-operations/index.ts';
import type { ErrorCode } from './error-codes.ts';
import { ERROR_NOTES, errorExample } from './error-notes.ts';
import { ERRORS } from './errors.ts';
import { errorsByStatus } from './openapi.ts';
import type { Operation } from './operation.ts';
import { OPERATIONS } from './operations.ts';

/** Writes the catalogue as a Markdown page: what each code means, which operations return it, and what to do. */
export function errorsPage(): string {
  // The keys of ERRORS are exactly its codes.
  const codes = Object.keys(ERRORS) as ErrorCode[];
  return [
    '# Errors',
    '',
    '<!-- Generated from packages/api/src/errors.ts by `npm run generate`. -->',
    '',
    'Every error response is JSON with `error` and `message`: `{"error": "ERR_…", "message": "…"}`. Many also have `problems` (the place of',
    'each issue, and the recipient that causes it), and `ERR_CAP_REACHED` has `cap`. `error` is one of the codes below, whose meaning never',
    'changes; `message` is a sentence with the values and the limits. Match on `error`, show `message`.',
    '',
    '| code | status | when |',
    '|---|---|---|',
    ...codes.map(
      (code) => `| [\`${code}\`](#${code.toLowerCase()}) | ${ERRORS[code].status} | ${ERRORS[code].summary} |`,
    ),
    '',
    ...codes.flatMap(section),
  ].join('\n');
}

function section(code: ErrorCode): string[] {
  const { status, summary } = ERRORS[code];
  const { remedy } = ERROR_NOTES[code];
  return [
    `## ${code}`,
    '',
    `Status ${status}. ${answeredBy(code)}`,
    '',
    summary,
    '',
    `**What to do.** ${remedy}`,
    '',
    '```json',
    JSON.stringify(errorExample(code)),
    '```',
    '',
  ];
}

function answeredBy(code: ErrorCode): string {
  const operations = Object.entries<Operation>({ ...OPERATIONS, ...CONSOLE_OPERATIONS });
  const answering = operations.filter(([, operation]) => [...errorsByStatus(operation).values()].flat().includes(code));
  if (answering.length === 0) return 'Returned for requests that reach no operation.';
  if (answering.length === operations.length) return 'Returned by every operation.';
  return `Returned by ${answering.map(([operationId]) => `\`${operationId}\``).join(', ')}.`;
}
