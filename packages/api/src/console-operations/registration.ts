import * as z from 'zod';
import {
  ConfirmRegistrationRequest,
  MintPreview,
  RegisteredProject,
  Registration,
  RegistrationRequest,
  SchemaTrial,
  SchemaTrialRequest,
} from '../console-schemas/registration.ts';
import { base58Address } from '../console-schemas/values.ts';
import type { Operation } from '../operation.ts';
import { idParam } from '../schemas.ts';
import { HEAVY, PAYLOAD_BODY_BYTES, PROOF_TYPES_BODY_BYTES } from './common.ts';

export const REGISTRATION_OPERATIONS = {
  previewMint: {
    ...HEAVY,
    method: 'GET',
    path: '/console/api/mints/{mint}',
    summary: 'Preview a token',
    description:
      'Program, decimals, supply and name from the chain, and warnings or the reason why it cannot be registered.',
    params: z.object({ mint: base58Address }),
    responses: { 200: { description: 'The token, or why it cannot be registered.', schema: MintPreview } },
    errors: ['ERR_TOO_MANY_AT_ONCE', 'ERR_NODE_UNAVAILABLE'],
  },
  trySchema: {
    ...HEAVY,
    method: 'POST',
    path: '/console/api/schema-trials',
    summary: 'Try a JSON Schema',
    description:
      'Checks a schema as a registration does, and a payload against it as init does. Nothing is stored. An invalid schema or payload is part of the response, not an error.',
    body: SchemaTrialRequest,
    maxBodyBytes: PAYLOAD_BODY_BYTES,
    responses: {
      200: { description: 'What is wrong with the schema or the payload, if anything.', schema: SchemaTrial },
    },
    errors: ['ERR_SCHEMA_CHECK_UNAVAILABLE'],
  },
  createRegistration: {
    ...HEAVY,
    method: 'POST',
    path: '/console/api/registrations',
    summary: 'Start a registration',
    description:
      'Checks the mint on chain and returns the transaction that creates the multisig and its lookup table. The wallet signs it and pays, within about a minute; call again to get a new one.',
    body: RegistrationRequest,
    maxBodyBytes: PROOF_TYPES_BODY_BYTES,
    responses: { 200: { description: 'The transaction to sign.', schema: Registration } },
    errors: [
      'ERR_MINT_UNSUPPORTED',
      'ERR_SCHEMA_CHECK_UNAVAILABLE',
      'ERR_REGISTRATION_CLOSED',
      'ERR_TOO_MANY_REGISTRATIONS',
      'ERR_NODE_UNAVAILABLE',
    ],
  },
  confirmRegistration: {
    ...HEAVY,
    method: 'POST',
    path: '/console/api/registrations/{registrationId}/confirm',
    summary: 'Complete a registration',
    description:
      'Sends the signed transaction, waits until it lands, checks the accounts on chain, and returns the API key, which is shown only here.',
    params: z.object({ registrationId: idParam }),
    body: ConfirmRegistrationRequest,
    responses: { 200: { description: 'The project, its vault and its first key.', schema: RegisteredProject } },
    errors: ['ERR_REGISTRATION_NOT_FOUND', 'ERR_REGISTRATION_FAILED', 'ERR_TOO_MANY_AT_ONCE', 'ERR_NODE_UNAVAILABLE'],
  },
} as const satisfies { readonly [operationId: string]: Operation };

/** Time to wait for `confirmRegistration`, which answers only when the cluster has confirmed the transaction. */
export const CONFIRM_REGISTRATION_TIMEOUT_MS = 90_000;

/**
 * Returns true if the error of a `confirmRegistration` does not tell if the project exists: there was no answer, or the service
 * failed, perhaps after it had sent the transaction.
 * @param status the answer's HTTP status; null if there was no answer.
 */
export function isOutcomeUnknown({ status }: { readonly status: number | null }): boolean {
  return status === null || status >= 500;
}
