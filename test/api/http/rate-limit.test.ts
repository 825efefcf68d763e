import { afterEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { requireHttps } from '../../../api/http/high-assurance.js';
import { createRateLimiter, rateLimit } from '../../../api/http/rate-limit.js';
import { httpApp } from '../../support/http-app.js';
import type { HttpApp } from '../../support/http-app.js';

const open: HttpApp[] = [];
afterEach(async () => {
  for (const app of open.splice(0)) await app.close();
});
const start = async (...args: Parameters<typeof httpApp>): Promise<HttpApp> => {
  const app = await httpApp(...args);
  open.push(app);
  return app;
};
const ok = (ctx: { body: unknown }): void => {
  ctx.body = { ok: true };
};
const from = (address: string) => ({ 'x-forwarded-for': address });

describe('the rate limiter', () => {
  it('allows a minute at once, then an even stream', () => {
    let now = 0;
    const limiter = createRateLimiter({ perMinute: 6, elapsed: () => now });
    const take = () => limiter.take('a');
    expect(Array.from({ length: 6 }, () => take().remaining)).toEqual([5, 4, 3, 2, 1, 0]);
    expect(take()).toEqual({ allowed: false, remaining: 0, retrySeconds: 10, resetSeconds: 60 });
    expect(limiter.take('b').allowed).toBe(true);
    now += 10_000;
    expect(take()).toMatchObject({ allowed: true, remaining: 0 });
    expect(take().allowed).toBe(false);
    now += 60_000;
    expect(Array.from({ length: 7 }, () => take().allowed)).toEqual([
      true,
      true,
      true,
      true,
      true,
      true,
      false,
    ]);
  });

  it('never allows more than the limit and what flowed back since, over any course of time', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50 }),
        fc.array(fc.tuple(fc.nat(20_000), fc.integer({ min: 1, max: 60 })), { maxLength: 40 }),
        (perMinute, course) => {
          let now = 0;
          let allowed = 0;
          const limiter = createRateLimiter({ perMinute, elapsed: () => now });
          for (const [pause, attempts] of course) {
            now += pause;
            for (let n = 0; n < attempts; n++) if (limiter.take('a').allowed) allowed += 1;
            expect(allowed).toBeLessThanOrEqual(perMinute + Math.floor((now * perMinute) / 60_000) + 1);
          }
        },
      ),
    );
  });

  it('bounds its memory: with too many keys the oldest begin anew, the latest do not', () => {
    const limiter = createRateLimiter({ perMinute: 1, elapsed: () => 0, maxKeys: 10 });
    limiter.take('first');
    for (let n = 0; n < 25; n++) limiter.take(`key ${n}`);
    expect(limiter.take('first').allowed).toBe(true);
    expect(limiter.take('key 24').allowed).toBe(false);
  });
});

describe('the rate limit of public endpoints', () => {
  it('counts per source, and says when to come back', async () => {
    const app = await start([rateLimit({ perMinute: 3, elapsed: () => 0 }), ok]);
    for (let n = 0; n < 3; n++) expect((await app.get('/', from('203.0.113.1'))).status).toBe(200);
    const refused = await app.get('/', from('203.0.113.1'));
    expect(refused).toMatchObject({
      status: 429,
      body: { detail: 'too many requests from this address', code: 'rate_limited' },
      headers: {
        'retry-after': '20',
        'ratelimit-limit': '3',
        'ratelimit-remaining': '0',
        'ratelimit-reset': '60',
      },
    });
    expect((await app.get('/', from('203.0.113.2'))).status).toBe(200);
  });

  it('is not for a trusted proxy itself, and off at 0', async () => {
    const app = await start([rateLimit({ perMinute: 1, elapsed: () => 0 }), ok]);
    for (let n = 0; n < 5; n++) expect((await app.get('/')).status).toBe(200);
    const off = await start([rateLimit({ perMinute: 0 }), ok]);
    for (let n = 0; n < 5; n++) expect((await off.get('/', from('203.0.113.1'))).status).toBe(200);
  });

  it('cannot be escaped by hops that the client invents', async () => {
    const app = await start([rateLimit({ perMinute: 1, elapsed: () => 0 }), ok]);
    expect((await app.get('/', from('198.51.100.1, 203.0.113.9'))).status).toBe(200);
    for (const invented of ['198.51.100.2', '127.0.0.1', '10.0.0.1, 198.51.100.3', 'unknown', ''])
      expect((await app.get('/', from(`${invented}, 203.0.113.9`))).status).toBe(429);
    expect((await app.get('/', from('203.0.113.9, 127.0.0.1'))).status).toBe(429);
    const direct = await start([rateLimit({ perMinute: 1, elapsed: () => 0 }), ok], ['192.0.2.0/24']);
    expect((await direct.get('/', from('198.51.100.1'))).status).toBe(200);
    expect((await direct.get('/', from('198.51.100.2'))).status).toBe(429);
  });

  it('counts an IPv6 host by its /64, and an IPv4-mapped address as IPv4', async () => {
    const app = await start([rateLimit({ perMinute: 1, elapsed: () => 0 }), ok]);
    const status = async (address: string) => (await app.get('/', from(address))).status;
    expect(await status('2001:db8:1:2::1')).toBe(200);
    expect(await status('2001:db8:1:2:ffff::7')).toBe(429);
    expect(await status('2001:db8:1:3::1')).toBe(200);
    expect(await status('203.0.113.5')).toBe(200);
    expect(await status('::ffff:203.0.113.5')).toBe(429);
  });
});

describe('high assurance', () => {
  const https = { 'x-forwarded-proto': 'https' };

  it('lets pass what a trusted proxy received over TLS, and tells browsers so', async () => {
    const app = await start([requireHttps, ok]);
    expect(await app.get('/', https)).toMatchObject({
      status: 200,
      headers: { 'strict-transport-security': 'max-age=31536000; includeSubDomains' },
    });
    expect((await app.get('/healthz')).status).toBe(200);
    expect((await app.get('/readyz')).status).toBe(200);
  });

  it.each([
    {},
    { 'x-forwarded-proto': 'http' },
    { 'x-forwarded-proto': 'https, http' },
    { 'x-forwarded-proto': 'HTTPS:' },
  ])('refuses %j', async (headers) => {
    const app = await start([requireHttps, ok]);
    expect(await app.get('/', headers as Record<string, string>)).toMatchObject({
      status: 403,
      body: { detail: 'https is required', code: 'https_required' },
    });
  });

  it('weakness 13: does not believe the header from anybody else', async () => {
    const app = await start([requireHttps, ok], ['192.0.2.0/24']);
    expect((await app.get('/', https)).status).toBe(403);
    expect((await app.get('/', { ...https, 'x-forwarded-for': '192.0.2.1' })).status).toBe(403);
  });
});
