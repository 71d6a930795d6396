import { useState } from 'react';
import { TextArea } from '../../ui/fields.tsx';
import { checkPayload } from './check-payload.ts';

/** Tries a payload against a schema as both are typed. */
export function SchemaTrial({ schemaText }: { readonly schemaText: string }) {
  const [payload, setPayload] = useState('{}');
  const { isSatisfied, text } = tryPayload(schemaText, payload);
  return (
    <TextArea
      label="Try a payload"
      rows={2}
      value={payload}
      onChange={({ target }) => setPayload(target.value)}
      error={isSatisfied ? null : text}
      hint={text}
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
  const verdict = checkPayload(JSON.parse(schemaText), value);
  if ('unknown' in verdict) {
    return {
      isSatisfied: true,
      text: `This page does not know “${verdict.unknown}”: the service checks it when you save.`,
    };
  }
  return verdict.problem === null
    ? { isSatisfied: true, text: 'This payload satisfies the schema.' }
    : { isSatisfied: false, text: `Refused: ${verdict.problem}.` };
}
