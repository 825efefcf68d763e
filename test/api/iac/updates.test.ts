import { createHash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createEntries, iacClient, stashResource, stashUrn, stateOf } from '../../support/iac-client.js';
import type { ExportBody } from '../../support/iac-client.js';
import { errorCollector, iacWorld } from '../../support/iac.js';
import type { IacWorld } from '../../support/iac.js';

const MINUTE = 60_000;

describe('updates', () => {
  let world: IacWorld;
  let client: ReturnType<typeof iacClient>;
  let dev: ReturnType<ReturnType<typeof iacClient>['stack']>;
  let time = Date.parse('2026-01-01T12:00:00Z');
  let count = 0;
  const { log, errors } = errorCollector();
  beforeAll(async () => {
    world = await iacWorld({
      log,
      clock: { now: () => new Date(time) },
      deps: { keepVersions: 5, maxStateBytes: 2_000_000 },
    });
    client = iacClient(world.url);
  });
  afterAll(() => world.close());
  beforeEach(async () => {
    dev = client.stack('dev', `p${count++}`);
    await dev.create();
  });
  afterEach(() => expect(errors).toEqual([]));

  const names = ({ deployment }: ExportBody) =>
    (deployment.resources ?? []).map(({ urn }) => urn.split('::').at(-1));

  describe('lock', () => {
    it('lets one change run at a time, and says who holds it and until when', async () => {
      const running = await dev.start('update', { metadata: { environment: { 'git.author': 'ann' } } });
      const refused = await dev.announce('destroy');
      expect(refused.status).toBe(409);
      expect(refused.body).toEqual({
        code: 409,
        message: expect.stringMatching(
          /update by ann, started 2026-01-01T.*lease ends 2026-01-01T/,
        ) as unknown,
      });
      await running.complete();
      expect((await dev.announce('destroy')).status).toBe(200);
    });

    it('goes to exactly one of many that were announced before and start at once', async () => {
      const announced = await Promise.all(Array.from({ length: 10 }, () => dev.announce()));
      const started = await Promise.all(
        announced.map(({ body }) => dev.call('POST', `/update/${body.updateID}`, { journalVersion: 1 })),
      );
      expect(started.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(9).fill(409)]);
    });

    it('is neither taken nor respected by a dry run, which leaves no trace', async () => {
      const running = await dev.start();
      const dry = await dev.start('update', { options: { dryRun: true } });
      const preview = await dev.start('preview');
      for (const update of [dry, preview]) {
        expect(update.version).toBe(1);
        expect(update.journalVersion).toBeUndefined();
        expect(
          (await update.send('PATCH', '/journalentries', { entries: createEntries('a', 1) })).status,
        ).toBe(400);
        expect((await update.send('PATCH', '/checkpoint', { version: 3, deployment: {} })).status).toBe(400);
        expect((await update.complete()).status).toBe(204);
      }
      await running.complete();
      const { body } = await dev.call<{ updates: unknown[] }>('GET', '/updates?page=1&pageSize=10');
      expect(body.updates).toHaveLength(1);
      expect(names(await dev.exported())).toEqual([]);
      const previews = await dev.call<{ updates: { updateID: string }[] }>('GET', '/updates/latest/previews');
      expect(previews.body.updates.map(({ updateID }) => updateID).sort()).toEqual(
        [dry.id, preview.id].sort(),
      );
    });

    it('cannot be started twice, nor through another stack', async () => {
      const running = await dev.start();
      expect((await dev.call('POST', `/update/${running.id}`, {})).status).toBe(409);
      const other = client.stack('other', 'elsewhere');
      await other.create();
      expect((await other.call('POST', `/update/${running.id}`, {})).status).toBe(404);
      expect((await other.call('POST', `/update/${running.id}/cancel`)).status).toBe(404);
    });
  });

  describe('tokens', () => {
    it('of an update are good for that update alone', async () => {
      const first = await dev.start();
      const other = client.stack('x', 'tokens');
      await other.create();
      const second = await other.start();
      const crossed = await first.send(
        'POST',
        '/complete',
        { status: 'failed' },
        { auth: `update-token ${second.token}` },
      );
      expect(crossed.status).toBe(401);
      const moved = await other.call(
        'POST',
        `/update/${first.id}/complete`,
        { status: 'failed' },
        {
          auth: `update-token ${first.token}`,
        },
      );
      expect(moved.status).toBe(401);
      await second.complete();
    });

    it('of one kind do not open paths of the other', async () => {
      const update = await dev.start();
      const operatorPaths = await dev.call('GET', '/export', undefined, {
        auth: `update-token ${update.token}`,
      });
      expect(operatorPaths.status).toBe(401);
      expect((await dev.call('POST', `/update/${update.id}/complete`, { status: 'failed' })).status).toBe(
        401,
      );
    });

    it.each([
      '',
      'token',
      'token wrong',
      'Bearer test-iac-token',
      'token test-iac-toke',
      'update-token test-iac-token',
    ])('are demanded: %j is refused', async (auth) => {
      const answer = await client.send('GET', '/api/user', undefined, { auth });
      expect(answer.status).toBe(401);
      expect(answer.body).toEqual({ code: 401, message: expect.any(String) as unknown });
    });

    it('are stored as hashes', async () => {
      const update = await dev.start();
      const rows = await world.database.db.raw<{ rows: unknown[] }>(
        'select * from extension_iac_state_updates',
      );
      expect(JSON.stringify(rows.rows)).not.toContain(update.token);
    });
  });

  describe('journal', () => {
    it('is folded whatever the result', async () => {
      for (const [at, status] of ['succeeded', 'failed'].entries()) {
        const update = await dev.start();
        expect(update.journalVersion).toBe(1);
        const entries = createEntries(`r${at}`, 1);
        expect((await update.send('PATCH', '/journalentries', { entries }, { gzip: true })).status).toBe(204);
        expect((await update.complete(status)).status).toBe(204);
      }
      expect(names(await dev.exported())).toEqual(['r1', 'r0']);
    });

    it('takes entries out of order and repeated, once each', async () => {
      const update = await dev.start();
      const entries = [...createEntries('a', 1), ...createEntries('b', 3)];
      await update.send('PATCH', '/journalentries', { entries: entries.slice(2).reverse() });
      await update.send('PATCH', '/journalentries', { entries: [...entries, ...entries] });
      await update.send('PATCH', '/journalentries', { entries });
      expect((await update.complete()).status).toBe(204);
      expect((await update.complete()).status).toBe(204);
      expect(names(await dev.exported())).toEqual(['a', 'b']);
      const left = await world.database.db('extension_iac_state_journal').where({ update_id: update.id });
      expect(left).toEqual([]);
    });

    it('keeps strings and numbers of the state', async () => {
      const odd = { text: 'ü\u0000\u2028"<', big: 1e21, small: 1e-7, nested: { '10': 1, '9': [null, true] } };
      const update = await dev.start();
      const [begin, success] = createEntries('a', 1);
      await update.send('PATCH', '/journalentries', {
        entries: [begin, { ...success, state: stashResource('a', { outputs: odd }) }],
      });
      await update.complete();
      expect((await dev.exported()).deployment.resources?.[0]).toMatchObject({ outputs: odd });
    });

    it('is closed to an update that was cancelled, and nothing acknowledged is lost', async () => {
      const update = await dev.start();
      const append = async (n: number) =>
        (await update.send('PATCH', '/journalentries', { entries: createEntries(`r${n}`, 2 * n + 1) }))
          .status;
      const [cancelled, ...appended] = await Promise.all([
        dev.call('POST', `/update/${update.id}/cancel`).then(({ status }) => status),
        ...Array.from({ length: 20 }, (_, n) => append(n)),
      ]);
      expect(cancelled).toBe(200);
      const acknowledged = appended.flatMap((status, n) => (status === 204 ? [`r${n}`] : []));
      expect(new Set(appended.filter((status) => status !== 204))).toEqual(
        new Set(acknowledged.length === 20 ? [] : [403]),
      );
      expect(names(await dev.exported()).sort()).toEqual(acknowledged.sort());
      expect((await update.send('POST', '/renew_lease', { duration: 300 })).body).toMatchObject({
        code: 403,
      });
      expect((await update.complete()).status).toBe(403);
    });
  });

  describe('lease', () => {
    it('lasts five minutes, and as long again from each renewal', async () => {
      const update = await dev.start();
      time += 4 * MINUTE;
      const renewed = await update.send('POST', '/renew_lease', { token: '', duration: 300 });
      expect(renewed.body).toEqual({ token: update.token, tokenExpiration: time / 1000 + 300 });
      time += 4 * MINUTE;
      expect((await dev.announce()).status).toBe(409);
      expect((await update.complete()).status).toBe(204);
    });

    it('once lapsed refuses writes and renewals, and the next update finds what was done', async () => {
      const lost = await dev.start();
      await lost.send('PATCH', '/journalentries', { entries: createEntries('a', 1) });
      time += 5 * MINUTE;
      expect((await lost.send('PATCH', '/journalentries', { entries: createEntries('b', 3) })).status).toBe(
        403,
      );
      expect((await lost.send('POST', '/renew_lease', { duration: 300 })).status).toBe(403);
      const next = await dev.start();
      expect(next.version).toBe(2);
      expect(names(await dev.exported())).toEqual(['a']);
      await next.complete();
      const { body } = await dev.call<{ updates: { result: string }[] }>('GET', '/updates');
      expect(body.updates.map(({ result }) => result)).toEqual(['succeeded', 'failed']);
    });
  });

  describe('checkpoints', () => {
    const verbatim = (sequenceNumber: number, text: string) =>
      `{"version":1,"untypedDeployment":${text},"sequenceNumber":${sequenceNumber}}`;
    const oddText =
      '{"version":3,"deployment":{"manifest":{}, "resources":[{"urn":"urn:pulumi:dev::p::t::ü","type":"t","inputs":{"b":"\\u003c","10":1,"9":1.0,"n":123456789012345678901}}]}}';
    const sha = (text: string) => createHash('sha256').update(text).digest('hex');
    const editOf = (text: string, find: string, NewText: string) => {
      const offset = Buffer.byteLength(text.slice(0, text.indexOf(find)));
      const point = (at: number) => ({ line: 0, column: 0, offset: at });
      return {
        Span: { uri: '', start: point(offset), end: point(offset + Buffer.byteLength(find)) },
        NewText,
      };
    };

    it('replace the state at once, plain or compressed', async () => {
      const update = await dev.start('update', {}, 0);
      expect(update.journalVersion).toBeUndefined();
      for (const gzip of [false, true]) {
        const body = { isInvalid: false, ...stateOf('a', gzip ? 'z' : 'b') };
        expect((await update.send('PATCH', '/checkpoint', body, { gzip })).status).toBe(204);
        expect(names(await dev.exported())).toEqual(['a', gzip ? 'z' : 'b']);
      }
      await update.complete();
      expect((await dev.call('GET', '/export')).body).toEqual(stateOf('a', 'z'));
    });

    it('in verbatim form keep every byte', async () => {
      const update = await dev.start('update', {}, 0);
      expect((await update.send('PATCH', '/checkpointverbatim', verbatim(1, oddText))).status).toBe(204);
      expect((await dev.call('GET', '/export')).text).toBe(oddText);
      await update.complete();
      expect((await dev.call('GET', '/export/1')).text).toBe(oddText);
    });

    it('as deltas change bytes, check the hash, and take a repeat once', async () => {
      const update = await dev.start('update', {}, 0);
      const delta = (sequenceNumber: number, text: string, edits: unknown) =>
        update.send('PATCH', '/checkpointdelta', {
          version: 1,
          checkpointHash: sha(text),
          sequenceNumber,
          deploymentDelta: edits,
        });
      expect((await delta(1, oddText, [])).status).toBe(409);
      await update.send('PATCH', '/checkpointverbatim', verbatim(1, oddText));
      const next = oddText.replace('1.0', '"ä"').replace('"manifest":{}, ', '');
      const edits = [editOf(oddText, '1.0', '"ä"'), editOf(oddText, '"manifest":{}, ', '')];
      expect((await delta(2, next, edits)).status).toBe(204);
      expect((await delta(2, next, edits)).status).toBe(204);
      expect((await dev.call('GET', '/export')).text).toBe(next);
      expect((await delta(3, oddText, edits)).status).toBe(400);
      expect((await delta(4, next, [])).status).toBe(409);
      const broken = `${next}}`;
      expect((await delta(3, broken, [{ ...editOf(next, '{', '{'), NewText: '{' }])).status).toBe(400);
      expect((await update.send('PATCH', '/checkpointverbatim', verbatim(3, oddText))).status).toBe(204);
      expect((await update.send('PATCH', '/checkpointverbatim', verbatim(2, next))).status).toBe(409);
      expect((await dev.call('GET', '/export')).text).toBe(oddText);
    });

    it.each([
      ['no JSON', '{"version":3,"deployment":{"resources":[}}'],
      ['a newer schema', '{"version":5,"deployment":{}}'],
      ['an unknown feature', '{"version":4,"features":["x"],"deployment":{}}'],
      ['a resource without URN', '{"version":3,"deployment":{"resources":[{"type":"t"}]}}'],
      ['no deployment', '{"version":3}'],
    ])('of %s are refused, and the state stays', async (_what, text) => {
      const update = await dev.start('update', {}, 0);
      await update.send('PATCH', '/checkpoint', stateOf('a'));
      expect((await update.send('PATCH', '/checkpoint', text)).status).toBe(400);
      expect(names(await dev.exported())).toEqual(['a']);
    });

    it('beyond the limit are refused, also when they are small on the wire', async () => {
      const update = await dev.start('update', {}, 0);
      const bomb = JSON.stringify(stateOf('x'.repeat(2_000_001)));
      for (const gzip of [false, true]) {
        const answer = await update.send('PATCH', '/checkpoint', bomb, { gzip });
        expect([answer.status, answer.body['code']]).toEqual([413, 413]);
      }
      const cut = await update.send('PATCH', '/checkpoint', Buffer.from('1f8b08', 'hex'), {
        headers: { 'Content-Encoding': 'gzip' },
      });
      expect(cut.status).toBe(400);
    });
  });

  describe('events', () => {
    it('arrive in any order and any number of times, and are read in pages', async () => {
      const update = await dev.start();
      const event = (sequence: number) => ({
        sequence,
        timestamp: 1,
        stdoutEvent: { message: `m${sequence}` },
      });
      const batch = (...sequences: number[]) =>
        update.send('POST', '/events/batch', { events: sequences.map(event) }, { gzip: true });
      await Promise.all([batch(2, 3), batch(0, 1), batch(1, 2)]);
      const summary = { sequence: 4, summaryEvent: { resourceChanges: { create: 2 } } };
      expect((await update.send('POST', '/events/batch', { events: [summary] })).status).toBe(204);
      type Page = { events: { sequence: number }[]; continuationToken: string | null };
      const running = await dev.call<Page>('GET', `/update/${update.id}/events`);
      expect(running.body.events.map(({ sequence }) => sequence)).toEqual([0, 1, 2, 3, 4]);
      expect(running.body.continuationToken).toBe('4');
      await update.complete();
      const rest = await dev.call<Page>(
        'GET',
        `/update/${update.id}/events?continuationToken=2&type=summaryEvent`,
      );
      expect(rest.body).toEqual({ events: [summary], continuationToken: null });
      const latest = await dev.call<{ info: { resourceChanges: unknown } }>('GET', '/updates/latest');
      expect(latest.body.info.resourceChanges).toEqual({ create: 2 });
    });
  });

  describe('history', () => {
    it('has pages that count from 1, author and CLI version, and states by version within bounds', async () => {
      for (let n = 1; n <= 7; n++) {
        const update = await dev.start('update', {
          metadata: { message: `m${n}`, environment: { 'git.author': 'ann' } },
        });
        await update.send('PATCH', '/journalentries', { entries: createEntries(`r${n}`, 1) });
        await update.complete();
      }
      type Page = {
        updates: { version: number; message: string; requestedBy: { name: string }; cliVersion: string }[];
      };
      const { body } = await dev.call<Page>('GET', '/updates?pageSize=3&page=2');
      expect(body.updates.map(({ version }) => version)).toEqual([4, 3, 2]);
      expect(body.updates[0]).toMatchObject({
        message: 'm4',
        requestedBy: { name: 'ann' },
        cliVersion: 'v3.259.0',
      });
      expect((await dev.call('GET', '/updates?page=0')).status).toBe(422);
      const kept = await Promise.all(
        [2, 3, 7].map(async (n) => (await dev.call<ExportBody>('GET', `/export/${n}`)).body),
      );
      expect(kept[0]).toEqual({ code: 404, message: expect.any(String) as unknown });
      expect(kept.slice(1).map((state) => names(state).length)).toEqual([3, 7]);
      const states = await world.database
        .db('extension_iac_state_states as s')
        .join('extension_iac_state_stacks as k', 'k.id', 's.stack_id')
        .where('k.project', `p${count - 1}`);
      expect(states).toHaveLength(5);
      const byNumber = await dev.call<{ info: { version: number } }>('GET', '/updates/3');
      expect(byNumber.body.info.version).toBe(3);
      expect((await dev.call('GET', '/updates/99')).status).toBe(404);
    });

    it('keeps configuration and counts that PostgreSQL would not take as jsonb', async () => {
      const config = { 'shop:text': { string: 'NUL \0, half \ud800', secret: false } };
      const update = await dev.start('update', { config });
      const summary = { sequence: 1, summaryEvent: { resourceChanges: { 'odd\0': 1 } } };
      expect((await update.send('POST', '/events/batch', { events: [summary] })).status).toBe(204);
      await update.complete();
      const { body } = await dev.call<{ info: object }>('GET', '/updates/latest');
      expect(body.info).toMatchObject({ config, resourceChanges: { 'odd\0': 1 } });
      expect((await dev.call('PUT', '/config', { environment: 'e', later: '\0' })).status).toBe(200);
      expect((await dev.call('GET')).body['config']).toEqual({ environment: 'e', later: '\0' });
    });

    it('serves the plural spelling of every step too', async () => {
      const { body } = await dev.announce();
      const started = await dev.call<{ token: string }>('POST', `/updates/${body.updateID}`, {
        journalVersion: 1,
      });
      const send = (method: string, rest: string, content: unknown) =>
        dev.call(method, `/updates/${body.updateID}${rest}`, content, {
          auth: `update-token ${started.body.token}`,
        });
      expect((await send('POST', '/renew_lease', { duration: 300 })).status).toBe(200);
      expect((await send('PATCH', '/journalentries', { entries: createEntries('a', 1) })).status).toBe(204);
      expect((await send('PATCH', '/checkpoint', stateOf('q'))).status).toBe(204);
      expect((await send('POST', '/events/batch', { events: [] })).status).toBe(204);
      expect((await dev.call('GET', `/updates/${body.updateID}`)).body).toMatchObject({ status: 'running' });
      expect((await send('POST', '/complete', { status: 'succeeded' })).status).toBe(204);
      expect((await dev.call('GET', `/updates/${body.updateID}`)).body).toEqual({
        status: 'succeeded',
        events: [],
      });
      expect(stashUrn('a')).toContain('::a');
    });
  });
});
