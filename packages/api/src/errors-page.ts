import { CONSOLE_OPERATIONS } from './console-operations/index.ts';
import { ERROR_NOTES, errorExample } from './error-notes.ts';
import { ERRORS, type ErrorCode } from './errors.ts';
import { errorsByStatus } from './openapi.ts';
import type { Operation } from './operation.ts';
import { OPERATIONS } from './operations.ts';

/** The catalogue as a Markdown page: what each code means, which operations answer it, and what to do. */
export function errorsPage(): string {
  // An object of codes: its keys are what its type says.
  const codes = Object.keys(ERRORS) as ErrorCode[];
  return [
    '# Errors',
    '',
    '<!-- Generated from packages/api/src/errors.ts by `npm run generate`. -->',
    '',
    'Every failure is JSON with two fields, whatever the route: `{"error": "ERR_…", "message": "…"}`. `error` is one of',
    'the codes below and never changes its meaning; `message` says what was given, how much, and the bound. Match on',
    '`error`, show `message`. Within one status the code decides what to do.',
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
  if (answering.length === 0) return 'Answered where no operation is reached.';
  if (answering.length === operations.length) return 'Answered by every operation.';
  return `Answered by ${answering.map(([operationId]) => `\`${operationId}\``).join(', ')}.`;
}
