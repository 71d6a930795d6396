import { ProofType } from '@flywheel/api';

/** A proof type as it is being written: its schema is text until it parses. */
export interface ProofTypeDraft {
  readonly key: string;
  readonly type: string;
  readonly description: string;
  readonly schemaText: string;
}

/** An empty one, to be filled in. */
export function newProofType(): ProofTypeDraft {
  return { key: crypto.randomUUID(), type: '', description: '', schemaText: '' };
}

/** A registered one, to be changed. */
export function draftOf({ type, description, payloadSchema }: ProofType): ProofTypeDraft {
  return {
    key: crypto.randomUUID(),
    type,
    description: description ?? '',
    schemaText: payloadSchema === undefined ? '' : JSON.stringify(payloadSchema, null, 2),
  };
}

/** What stands against a draft, or the proof type it makes. */
export function readDraft({ type, description, schemaText }: ProofTypeDraft): ProofType | { readonly problem: string } {
  const schema = parseSchema(schemaText);
  if (schema === null) return { problem: 'The schema is no JSON object.' };
  const parsed = ProofType.safeParse({
    type,
    ...(description === '' ? {} : { description }),
    ...(schema === undefined ? {} : { payloadSchema: schema }),
  });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  return { problem: `${issue?.path.join('.') ?? 'It'} ${issue?.message ?? 'is malformed'}` };
}

/** The first problem of a list, repeated names included; null when there is none. */
export function proofTypesProblem(drafts: readonly ProofTypeDraft[]): string | null {
  const seen = new Set<string>();
  for (const draft of drafts) {
    const read = readDraft(draft);
    if ('problem' in read) return `${draft.type || 'A type without a name'}: ${read.problem}`;
    if (seen.has(draft.type)) return `${draft.type} is there twice.`;
    seen.add(draft.type);
  }
  return null;
}

/** undefined for no schema, null for one that is no object. */
function parseSchema(text: string): unknown {
  if (text.trim() === '') return undefined;
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? parsed : null;
  } catch {
    return null;
  }
}
