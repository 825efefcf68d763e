import type { WebhookEvent } from '../../domain/broker/webhook.js';
import { AppError } from '../../domain/errors.js';

export const secretChanged = (): AppError =>
  new AppError('conflict', 'the secret has another version by now; look at it again', {
    code: 'version_mismatch',
  });

export const secretAccessed = (machineId: string, name: string): WebhookEvent => ({
  eventType: 'secret.accessed',
  machineId,
  data: { name },
});
