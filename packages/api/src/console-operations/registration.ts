import * as z from 'zod';
import {
  ConfirmRegistrationRequest,
  MintPreview,
  RegisteredProject,
  Registration,
  RegistrationRequest,
} from '../console-schemas/registration.ts';
import { base58Address } from '../console-schemas/values.ts';
import { givenId } from '../given-id.ts';
import type { Operation } from '../operation.ts';
import { SESSION } from './access.ts';

export const REGISTRATION_OPERATIONS = {
  previewMint: {
    ...SESSION,
    method: 'GET',
    path: '/console/api/mints/{mint}',
    summary: 'See a token before it is registered',
    description: 'Its program, decimals, supply and name from the chain, what stands against it, what to know of it.',
    params: z.object({ mint: base58Address }),
    responses: { 200: { description: 'The token, or why it cannot be registered.', schema: MintPreview } },
    errors: [],
  },
  createRegistration: {
    ...SESSION,
    method: 'POST',
    path: '/console/api/registrations',
    summary: 'Begin to register a project',
    description:
      'Checks the mint on chain and answers the transaction that creates the multisig and its lookup table, to be signed and paid by the wallet within about a minute. Call again for a fresh one.',
    body: RegistrationRequest,
    responses: { 200: { description: 'The transaction to sign.', schema: Registration } },
    errors: ['ERR_MINT_UNSUPPORTED'],
  },
  confirmRegistration: {
    ...SESSION,
    method: 'POST',
    path: '/console/api/registrations/{registrationId}/confirm',
    summary: 'Send the signed registration and receive the API key',
    description: 'Sends the transaction, waits for it, checks the accounts on chain. The API key is shown this once.',
    params: z.object({ registrationId: givenId }),
    body: ConfirmRegistrationRequest,
    responses: { 200: { description: 'The project, its vault and its first key.', schema: RegisteredProject } },
    errors: ['ERR_REGISTRATION_NOT_FOUND', 'ERR_REGISTRATION_FAILED'],
  },
} as const satisfies { readonly [operationId: string]: Operation };
