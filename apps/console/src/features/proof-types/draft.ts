import { ProofType } from '@flywheel/api';
import { firstParseIssue } from '@flywheel/protocol';

/** A proof type while it is edited; the schema stays text. */
export interface ProofTypeDraft {
  /** Key of the list item; not sent to the service. */
  readonly key: string;
  readonly type: string;
  readonly description: string;
  readonly schemaText: string;
}

/** Creates an empty draft. */
export function newProofType(): ProofTypeDraft {
  return { key: crypto.randomUUID(), type: '', description: '', schemaText: '' };
}

/** Creates a draft of a registered proof type. */
export function draftOf({ type, description, payloadSchema }: ProofType): ProofTypeDraft {
  return {
    key: crypto.randomUUID(),
    type,
    description: description ?? '',
    schemaText: payloadSchema === undefined ? '' : JSON.stringify(payloadSchema, null, 2),
  };
}

/** Parses a draft to a proof type, or returns its first issue as a sentence. */
export function parseDraft({ type, description, schemaText }: ProofTypeDraft): ProofType | { readonly issue: string } {
  const schema = parseSchema(schemaText);
  if (schema === null) return { issue: 'The schema is not a JSON object.' };
  const parsed = ProofType.safeParse({
    type,
    ...(description === '' ? {} : { description }),
    ...(schema === undefined ? {} : { payloadSchema: schema }),
  });
  if (parsed.success) return parsed.data;
  const { place, message } = firstParseIssue(parsed.error, 'It');
  return { issue: `${place} ${message}` };
}

/** Finds the first issue of a list of drafts, repeated names included; null when there is none. */
export function findDraftIssue(drafts: readonly ProofTypeDraft[]): string | null {
  const seen = new Set<string>();
  for (const draft of drafts) {
    const parsed = parseDraft(draft);
    if ('issue' in parsed) return `${draft.type || 'A type without a name'}: ${parsed.issue}`;
    if (seen.has(draft.type)) return `The name ${draft.type} is used twice.`;
    seen.add(draft.type);
  }
  return null;
}

/** undefined for an empty text; null for a text that is not a JSON object. */
export function parseSchema(text: string): Record<string, unknown> | null | undefined {
  if (text.trim() === '') return undefined;
  try {
    const parsed: unknown = JSON.parse(text);
    // The check leaves a JSON object.
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)
      ? (parsed as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}
