import { REGISTRATION_OPERATIONS, type SchemaTrial } from '@flywheel/api';
import { useQuery } from '@tanstack/react-query';
import { call } from '../../lib/api/call.ts';
import { useIsPaused } from '../../lib/paused.ts';

/** Long enough that typing sends few requests, short enough that the answer follows a pause. */
const PAUSE_MS = 400;

/** Its `data` is undefined while the service is asked, and while there is nothing to ask. */
export interface SchemaTrialState {
  readonly data: SchemaTrial | undefined;
  /** The service could not check the schema, or refuses its size. */
  readonly error: Error | null;
}

/**
 * Asks the service to check a schema and a payload once their input pauses. The page has no validator of its own: ajv compiles
 * schemas to code, which the page's policy forbids, and another library would accept other schemas than the service does.
 * @param schema null if there is none to check.
 * @param payload JSON text; null while it is not valid.
 */
export function useSchemaTrial(schema: Record<string, unknown> | null, payload: string | null): SchemaTrialState {
  const asked = schema === null || payload === null ? null : JSON.stringify([schema, payload]);
  const isPaused = useIsPaused(asked, PAUSE_MS) && asked !== null;
  const { data, error } = useQuery({
    queryKey: ['schema-trial', asked],
    queryFn: () =>
      call(
        REGISTRATION_OPERATIONS.trySchema,
        { body: { payloadSchema: schema ?? {}, payload: payload ?? '' } },
        { repeatable: true },
      ),
    enabled: isPaused,
    staleTime: Number.POSITIVE_INFINITY,
  });
  return isPaused ? { data, error } : { data: undefined, error: null };
}

/** Makes a sentence of what is wrong with a payload. */
export function toSentence(payloadProblem: string): string {
  return `${payloadProblem.charAt(0).toUpperCase()}${payloadProblem.slice(1)}.`;
}
