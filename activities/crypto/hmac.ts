import { createHmac, randomBytes } from 'node:crypto';
import {
  isStandardSecret,
  standardSecret,
  standardSecretBase64,
  standardSignedText,
} from '../../domain/broker/webhook.js';

/** `sha256=` and the lower-case hex HMAC-SHA256 of the body, keyed with the secret's UTF-8 bytes. */
export const bodySignature = (secret: string, body: string): string =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;

/** Standard Webhooks `v1,<base64>`; a `whsec_` secret is base64, any other is used as its UTF-8 bytes. */
export const standardSignature = (
  secret: string,
  messageId: string,
  timestamp: number,
  body: string,
): string => {
  const key = isStandardSecret(secret) ? Buffer.from(standardSecretBase64(secret), 'base64') : secret;
  const text = standardSignedText(messageId, timestamp, body);
  return `v1,${createHmac('sha256', key).update(text).digest('base64')}`;
};

export interface DeliveryToSign {
  /** Active secrets, newest first; during a rotation there are two. */
  readonly secrets: readonly string[];
  readonly messageId: string;
  readonly timestamp: number;
  readonly body: string;
}

/** Headers that let a receiver verify a delivery; without a secret only the Standard Webhooks id and timestamp. */
export const signatureHeaders = (delivery: DeliveryToSign): Record<string, string> => {
  const { secrets, messageId, timestamp, body } = delivery;
  const headers: Record<string, string> = {
    'webhook-id': messageId,
    'webhook-timestamp': String(timestamp),
  };
  const [current, previous] = secrets;
  if (current === undefined) return headers;
  headers['x-webhook-signature'] = bodySignature(current, body);
  if (previous !== undefined) headers['x-webhook-signature-previous'] = bodySignature(previous, body);
  headers['webhook-signature'] = secrets
    .map((secret) => standardSignature(secret, messageId, timestamp, body))
    .join(' ');
  return headers;
};

/** A fresh signing secret, 32 random bytes in the form of Standard Webhooks. */
export const newSigningSecret = (): string => standardSecret(randomBytes(32).toString('base64'));
