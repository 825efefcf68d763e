import { createHmac } from 'node:crypto';
import type { ProvisioningResult } from '../../domain/vending/run.js';
import type { Outbound } from './http.js';
import { expectSuccess } from './json-call.js';

const PAYLOAD_VERSION = 1;

/** Tells somebody how a run ended. The id of the run is the idempotency key of every attempt. */
export type TellOutcome = (runId: string, at: Date, result: ProvisioningResult) => Promise<void>;

interface WebhookOptions {
  readonly url: string;
  readonly secret: string | undefined;
  readonly timeoutMs: number;
}

/** Webhook of an operator: signed (Standard Webhooks 1.0) when there is a secret, which is sent as such too. */
export const createWebhookNotice =
  (outbound: Outbound, { url, secret, timeoutMs }: WebhookOptions): TellOutcome =>
  async (runId, at, result) => {
    const body = payload(runId, result);
    const headers = {
      ...noticeHeaders(runId),
      ...(secret === undefined ? {} : { 'x-webhook-secret': secret, ...signature(secret, runId, at, body) }),
    };
    expectSuccess('webhook', await outbound.request(url, { method: 'POST', headers, body, timeoutMs }));
  };

interface ApiOptions {
  readonly url: string;
  readonly token: string | undefined;
  readonly timeoutMs: number;
}

export const createApiNotice =
  (outbound: Outbound, { url, token, timeoutMs }: ApiOptions): TellOutcome =>
  async (runId, _at, result) => {
    const headers = {
      ...noticeHeaders(runId),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    };
    const body = payload(runId, result);
    expectSuccess(
      'notification API',
      await outbound.request(url, { method: 'POST', headers, body, timeoutMs }),
    );
  };

const noticeHeaders = (runId: string) => ({ 'content-type': 'application/json', 'idempotency-key': runId });

const payload = (runId: string, result: ProvisioningResult): string =>
  JSON.stringify({ version: PAYLOAD_VERSION, run_id: runId, ...result });

/** `v1,` and the base64 of HMAC-SHA-256 over `id.timestamp.body`. */
const signature = (secret: string, id: string, at: Date, body: string): Record<string, string> => {
  const timestamp = String(Math.floor(at.getTime() / 1000));
  const mac = createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${mac}` };
};
