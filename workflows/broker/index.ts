export { approvalWindow } from './approval-window.js';
export { buildImage } from './build-image.js';
export { revokeAndWipe } from './revoke-and-wipe.js';
export { webhookBatch } from './webhook-batch.js';
export { webhookDelivery } from './webhook-delivery.js';
export { webhookRetention } from './webhook-retention.js';
export { rewrapSecrets } from './rewrap-secrets.js';
