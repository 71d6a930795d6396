import { useState } from 'react';
import * as z from 'zod';
import { TextArea } from '../parts/form/field.tsx';

/**
 * Tries a payload against a schema as it is typed. The service’s own check is the one that counts: it knows all of JSON
 * Schema, and runs when the schema is saved.
 */
export function SchemaTrial({ schemaText }: { readonly schemaText: string }) {
  const [payload, setPayload] = useState('{}');
  const verdict = tryPayload(schemaText, payload);
  return (
    <TextArea
      label="Try a payload"
      rows={2}
      value={payload}
      onChange={({ target }) => setPayload(target.value)}
      error={verdict.isSatisfied ? null : verdict.text}
      hint={verdict.text}
    />
  );
}

function tryPayload(schemaText: string, payload: string): { readonly isSatisfied: boolean; readonly text: string } {
  let value: unknown;
  try {
    value = JSON.parse(payload);
  } catch {
    return { isSatisfied: false, text: 'The payload is no JSON.' };
  }
  let schema: z.ZodType;
  try {
    schema = z.fromJSONSchema(JSON.parse(schemaText));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return {
      isSatisfied: true,
      text: `This page cannot try this schema (${reason}); the service checks it when you save.`,
    };
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return { isSatisfied: true, text: 'This payload satisfies the schema.' };
  const [issue] = parsed.error.issues;
  const place = issue?.path.join('.');
  return { isSatisfied: false, text: `${place ? `${place}: ` : ''}${issue?.message ?? 'Refused.'}` };
}
