import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  complaints,
  everyField,
  fineOrRefused,
  isPlain,
  newMachine,
  refusal,
  sender,
  setting,
} from '../../support/bad-input.js';
import { softwareEk } from '../../support/ek.js';
import { naughtyStrings } from '../../support/naughty.js';
import { rawHttp } from '../../support/raw-http.js';
import { brokerWorld } from '../../support/world.js';
import type { BrokerWorld } from '../../support/world.js';

/** Refused with a reason or done, never an error of ours; and the audit chain is whole afterwards. */

let world: BrokerWorld;
let port: number;
let machineId: string;
let send: ReturnType<typeof sender>;
beforeAll(async () => {
  world = await brokerWorld({ settings: { SVC_NONCE_STORE: 'postgres' } });
  port = Number(new URL(world.urls[0]!).port);
  machineId = await newMachine(world);
  send = sender(world, machineId);
});
afterAll(async () => {
  expect((await world.admin.get('/api/v1/audit/verify')).body).toMatchObject({ valid: true });
  await world.close();
});

describe('naughty strings', () => {
  it(`are at least 515`, () => {
    expect(naughtyStrings.length).toBeGreaterThanOrEqual(515);
  });

  it.each(everyField)(
    'in $path $field',
    async ({ path, method, field, base }) => {
      const reused = base(); // one machine for all, where a string makes a machine at all
      expect(
        await complaints(naughtyStrings, async (value) =>
          fineOrRefused(await send(path, { ...reused, ...setting(field, value) }, method)),
        ),
      ).toEqual([]);
    },
    120_000,
  );

  it('in the names of a machine come back byte for byte, or are refused', async () => {
    let kept = 0;
    const found = await complaints(naughtyStrings, async (value) => {
      const names = { hw_uuid: value, hw_serial: value, hw_product: value };
      const answer = await world.node.post('/api/v1/self-register', { ...softwareEk(), ...names });
      if (answer.status !== 200) return isPlain(value, 256) ? `refused: ${answer.text}` : refusal(answer);
      kept += 1;
      const { body, text } = await world.admin.get(`/api/v1/machines/${String(answer.body.machine_id)}`);
      return body.hw_uuid === value && body.hw_serial === value && body.hw_product === value
        ? undefined
        : text;
    });
    expect(found).toEqual([]);
    expect(kept).toBeGreaterThan(500);
  }, 120_000);

  it('as the reason of an act stand in the audit log, or are refused', async () => {
    const found = await complaints(naughtyStrings, async (reason) => {
      const id = await newMachine(world);
      const answer = await world.admin.post(`/api/v1/machines/${id}/reject`, { reason });
      if (answer.status !== 200) return isPlain(reason, 2000) ? `refused: ${answer.text}` : refusal(answer);
      const { body } = await world.admin.get(`/api/v1/audit?machine_id=${id}`);
      return body[0].detail === `reason=${JSON.stringify(reason)}` ? undefined : JSON.stringify(body);
    });
    expect(found).toEqual([]);
  }, 120_000);

  it.each([
    'machines?status=', 'machines?role=', 'machines?page=', 'machines?per_page=', 'audit?page=', 'audit?per_page=',
    'audit?machine_id=', 'audit?action=', 'audit?operator_cn=', 'audit?since=', 'audit?until=', 'config?mac=', 'audit?x=',
  ])('in the query %s', async (start) => {
    const texts = naughtyStrings.filter((text) => text.isWellFormed() && text.length < 4_000);
    expect(await complaints(texts, async (text) => fineOrRefused(await world.admin.get(`/api/v1/${start}${encodeURIComponent(text)}`)))).toEqual([]);
  }); // prettier-ignore

  it.each([
    '0000-01-01T00:00:00Z', '9999-12-31T23:59:59Z', '2026-02-30T00:00:00Z', '2026-01-01T24:00:00Z', '2026-01-01T23:59:60Z', '-infinity', '2026-01-01T00:00:00+99:99', '2026-01-01T00:00:00.000000000001Z',
  ])('as the moment %s', async (moment) => {
    for (const name of ['since', 'until'])
      expect(fineOrRefused(await world.admin.get(`/api/v1/audit?${name}=${encodeURIComponent(moment)}`))).toBeUndefined();
  }); // prettier-ignore

  it.each(['machines/*', 'machines/*/approvals', 'config/*', '*', 'machines/*/x'])(
    'in the path %s',
    async (path) => {
      const texts = naughtyStrings.filter((text) => text.isWellFormed() && text.length < 4_000);
      expect(
        await complaints(texts, async (text) => {
          const answer = await world.admin.get(`/api/v1/${path.replace('*', encodeURIComponent(text))}`);
          return answer.status === 200 && text === '' ? undefined : fineOrRefused(answer);
        }),
      ).toEqual([]);
    },
  );

  it.each([
    'X-Request-Id',
    'Accept',
    'X-Forwarded-For',
    'X-Forwarded-Proto',
    'X-Client-Cert',
    'Authorization',
    'Content-Type',
    'If-None-Match',
    'X-EK-Fingerprint',
  ])('in the header %s', async (name) => {
    const sendable = naughtyStrings
      .map((text) => Buffer.from(text).toString('latin1'))
      .filter((text) => /^[\t\x20-\x7e\x80-\xff]{0,4000}$/.test(text));
    expect(sendable.length).toBeGreaterThan(400);
    expect(
      await complaints(sendable, async (value) => {
        const head = `GET /api/v1/machines/${machineId} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n`;
        const { status, text } = await rawHttp(port, [
          Buffer.from(`${head}${name}: ${value}\r\n\r\n`, 'latin1'),
        ]);
        return status >= 400 && status < 500 ? undefined : text;
      }),
    ).toEqual([]);
  });
});
