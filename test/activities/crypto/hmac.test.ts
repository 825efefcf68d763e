import { createHmac, randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { Webhook as StandardReceiver } from 'standardwebhooks';
import { Webhook as SvixReceiver } from 'svix';
import { newSigningSecret, signatureHeaders } from '../../../activities/crypto/hmac.js';

const body = JSON.stringify({ event_type: 'webhook.test', data: { text: 'ünï\u2028' } });
const messageId = '0e9c1c1c-3f0d-4e38-b06c-0b3f8f1e7d11';
const timestamp = Math.floor(Date.now() / 1000);
const sign = (secrets: readonly string[]) => signatureHeaders({ secrets, messageId, timestamp, body });
const svixNames = (headers: Record<string, string>) =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.replace(/^webhook-/, 'svix-'), value]),
  );

describe('signatures', () => {
  it('verify with the receivers of Standard Webhooks and of Svix', () => {
    const secret = newSigningSecret();
    const headers = sign([secret]);
    expect(new StandardReceiver(secret).verify(body, headers)).toEqual(JSON.parse(body));
    expect(new SvixReceiver(secret).verify(body, svixNames(headers))).toEqual(JSON.parse(body));
    expect(() => new StandardReceiver(secret).verify(`${body} `, headers)).toThrow();
    expect(() => new StandardReceiver(newSigningSecret()).verify(body, headers)).toThrow();
    expect(() => new SvixReceiver(newSigningSecret()).verify(body, svixNames(headers))).toThrow();
  });

  it('use any other secret as its bytes', () => {
    const secret = 'a plain pass phrase';
    const receiver = new StandardReceiver(Buffer.from(secret).toString('base64'));
    expect(receiver.verify(body, sign([secret]))).toEqual(JSON.parse(body));
  });

  it('verify under the old and the new secret while both are active', () => {
    const [fresh, old] = [newSigningSecret(), newSigningSecret()];
    const headers = sign([fresh, old]);
    for (const secret of [fresh, old])
      expect(new StandardReceiver(secret).verify(body, headers)).toBeTruthy();
  });

  it('carry the plain HMAC of the specification over the raw body, whatever form the secret has', () => {
    for (const secret of ['s3cret', newSigningSecret(), randomBytes(20).toString('latin1')]) {
      const expected = `sha256=${createHmac('sha256', Buffer.from(secret, 'utf8')).update(body).digest('hex')}`;
      expect(sign([secret])['x-webhook-signature']).toBe(expected);
      expect(sign(['other', secret])['x-webhook-signature-previous']).toBe(expected);
    }
  });

  it('are absent without a secret', () => {
    expect(sign([])).toEqual({ 'webhook-id': messageId, 'webhook-timestamp': String(timestamp) });
  });
});
