import type { KeyScope } from '../crypto/key-ring.js';

/** Signing secrets are sealed under a key an endpoint; the additional data is the id of the secret's row. */
export const webhookSecretScope = (webhookId: string): KeyScope => ({
  purpose: 'svc/webhook-secret/v1',
  context: [webhookId],
});
