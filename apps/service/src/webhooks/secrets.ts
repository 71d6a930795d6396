import { createHmac, hkdfSync } from 'node:crypto';

/** Derives the secrets of a receiver from the service’s key, the endpoint and the version; they are not stored. */
export interface WebhookSecrets {
  /** Formats a secret: `whsec_` and base64 (Standard Webhooks, symmetric secrets). */
  show(endpointId: string, version: number): string;
  /** One signature, `v1,` and base64, over what Standard Webhooks says. */
  sign(endpointId: string, version: number, message: SignedMessage): string;
}

export interface SignedMessage {
  readonly eventId: string;
  readonly timestampSeconds: number;
  readonly payload: string;
}

/** Standard Webhooks takes 24 to 64 bytes. */
const SECRET_BYTES = 32;

export function createWebhookSecrets(key: Uint8Array): WebhookSecrets {
  const derive = (endpointId: string, version: number) =>
    Buffer.from(hkdfSync('sha256', key, '', `flywheel webhook ${endpointId} ${version}`, SECRET_BYTES));
  return {
    show: (endpointId, version) => `whsec_${derive(endpointId, version).toString('base64')}`,
    sign: (endpointId, version, { eventId, timestampSeconds, payload }) => {
      const signature = createHmac('sha256', derive(endpointId, version))
        .update(`${eventId}.${timestampSeconds}.${payload}`)
        .digest('base64');
      return `v1,${signature}`;
    },
  };
}
