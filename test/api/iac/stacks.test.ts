import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createKeyRing } from '../../../activities/crypto/key-ring.js';
import { createSecretCommands } from '../../../activities/iac/secrets.js';
import { createEntries, iacClient, stashUrn, stateOf } from '../../support/iac-client.js';
import { errorCollector, IAC_ORG, iacWorld } from '../../support/iac.js';
import type { IacWorld } from '../../support/iac.js';

const DAY = 86_400_000;

describe('stacks', () => {
  let world: IacWorld;
  let client: ReturnType<typeof iacClient>;
  let time = Date.parse('2026-01-01T12:00:00Z');
  const { log, errors } = errorCollector();
  beforeAll(async () => {
    world = await iacWorld({ log, clock: { now: () => new Date(time) } });
    client = iacClient(world.url);
  });
  afterAll(() => world.close());
  afterEach(() => expect(errors).toEqual([]));

  it('answer who one is and what the backend can do', async () => {
    const { body } = await client.send('GET', '/api/user');
    expect(body).toMatchObject({ githubLogin: IAC_ORG, organizations: [{ githubLogin: IAC_ORG }] });
    const offered = await client.send<{ capabilities: { capability: string }[] }>('GET', '/api/capabilities');
    expect(offered.body.capabilities.map(({ capability }) => capability)).toEqual([
      'delta-checkpoint-uploads-v2',
      'batch-encrypt',
      'deployment-schema-version',
    ]);
    expect((await client.send('GET', '/api/user/organizations/default')).body['GitHubLogin']).toBe(IAC_ORG);
    expect((await client.send('GET', '/api/user/nonsense')).body).toEqual({
      code: 404,
      message: 'Not Found',
    });
  });

  it('are made once, of many at once', async () => {
    const made = await Promise.all(Array.from({ length: 8 }, () => client.stack('same').create()));
    expect(made.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(7).fill(409)]);
    expect(made.find(({ status }) => status === 409)?.body).toEqual({
      code: 409,
      message: `stack '${IAC_ORG}/shop/same' already exists`,
    });
    expect((await client.send('HEAD', `/api/stacks/${IAC_ORG}/shop`)).status).toBe(200);
    expect((await client.send('HEAD', `/api/stacks/${IAC_ORG}/nothing`)).status).toBe(404);
  });

  it('may begin with a state, byte for byte', async () => {
    const stack = client.stack('seeded');
    const state = '{"version":3, "deployment":{"resources":[{"urn":"urn:x","type":"t","n":1.0}]}}';
    expect((await stack.create(JSON.parse('{}') as object)).status).toBe(200);
    const raw = `{"stackName":"seeded2","state":${state}}`;
    expect((await client.send('POST', `/api/stacks/${IAC_ORG}/shop`, raw)).status).toBe(200);
    expect((await client.stack('seeded2').call('GET', '/export')).text).toBe(state);
    const bad = '{"stackName":"seeded3","state":{"version":9}}';
    expect((await client.send('POST', `/api/stacks/${IAC_ORG}/shop`, bad)).status).toBe(400);
    expect((await client.stack('seeded3').call('GET')).status).toBe(404);
  });

  it('are listed in pages of 100, by organization, project and tag', async () => {
    const names = Array.from({ length: 205 }, (_, n) => `s${String(n).padStart(3, '0')}`);
    for (const name of names) await client.stack(name, 'many').create({ tags: { n: name.slice(3) } });
    const seen: string[] = [];
    for (let token: string | undefined = ''; token !== undefined;) {
      type Page = { stacks: { stackName: string }[]; continuationToken?: string };
      const { body }: { body: Page } = await client.send<Page>(
        'GET',
        `/api/user/stacks?project=many&continuationToken=${token}`,
      );
      expect(body.stacks.length).toBeLessThanOrEqual(100);
      seen.push(...body.stacks.map(({ stackName }) => stackName));
      token = body.continuationToken;
    }
    expect(seen).toEqual(names);
    type Page = { stacks: unknown[] };
    const tagged = await client.send<Page>('GET', '/api/user/stacks?project=many&tagName=n&tagValue=7');
    expect(tagged.body.stacks).toHaveLength(20);
    expect((await client.send<Page>('GET', '/api/user/stacks?organization=none')).body.stacks).toEqual([]);
  });

  it('have tags that are replaced as a whole, within bounds', async () => {
    const stack = client.stack('tagged');
    await stack.create({ tags: { a: '1' } });
    expect((await stack.call('PATCH', '/tags', { b: '2' })).status).toBe(204);
    expect((await stack.call('GET')).body['tags']).toEqual({ b: '2' });
    expect((await stack.call('PATCH', '/tags', { ['x'.repeat(41)]: '' })).status).toBe(400);
    expect((await client.stack('bad name').create()).status).toBe(400);
    expect((await client.stack('x'.repeat(101)).create()).status).toBe(400);
  });

  it('with resources are removed by force alone, come back within seven days, and are purged after', async () => {
    const stack = client.stack('doomed');
    await stack.create();
    await stack.call('POST', '/import', stateOf('a'));
    const refused = await stack.call('DELETE', '?force=false');
    expect(refused.body).toEqual({ code: 400, message: 'Bad Request: Stack still contains resources.' });
    expect((await stack.call('DELETE', '?force=true')).status).toBe(204);
    expect((await stack.call('GET')).status).toBe(404);
    const row = await world.database
      .db('extension_iac_state_stacks')
      .first<{ id: string }>('id')
      .where({ name: 'doomed' });
    time += 6 * DAY;
    await world.useCases.stacks.purge({ stackId: row.id });
    expect((await stack.call('POST', '/restore')).status).toBe(204);
    expect((await stack.exported()).deployment.resources).toHaveLength(1);
    expect((await stack.call('POST', '/restore')).status).toBe(404);
    time += 30 * DAY;
    await world.useCases.stacks.purge({ stackId: row.id });
    expect((await stack.call('GET')).status).toBe(200);
    await stack.call('DELETE', '?force=true');
    time += 7 * DAY;
    await world.useCases.stacks.purge({ stackId: row.id });
    expect((await stack.call('POST', '/restore')).status).toBe(404);
    expect(await world.database.db('extension_iac_state_states').where({ stack_id: row.id })).toEqual([]);
  });

  describe('when renamed', () => {
    it('carry every version, the history and decryption with them', async () => {
      const stack = client.stack('before', 'ren');
      await stack.create({ tags: { 'pulumi:project': 'ren' } });
      const state = JSON.stringify(stateOf('a')).replaceAll('pulumi:dev::shop', 'pulumi:before::ren');
      await stack.call('POST', '/import', state);
      const { body: sealed } = await stack.call('POST', '/encrypt', { plaintext: btoa('x') });
      expect((await stack.call('POST', '/rename', { newName: 'after', newProject: 'moved' })).status).toBe(
        204,
      );
      expect((await stack.call('GET')).status).toBe(404);
      expect((await stack.call('POST', '/decrypt', sealed)).body).toEqual({ plaintext: btoa('x') });
      const renamed = client.stack('after', 'moved');
      const urn = stashUrn('a', 'after', 'moved');
      expect((await renamed.exported()).deployment.resources?.[0]?.urn).toBe(urn);
      const old = await renamed.call<{ deployment: { resources: { urn: string }[] } }>('GET', '/export/1');
      expect(old.body.deployment.resources[0]?.urn).toBe(urn);
      expect((await renamed.call('GET')).body).toMatchObject({
        version: 2,
        tags: { 'pulumi:project': 'moved' },
      });
      const { body } = await renamed.call<{ updates: { kind: string }[] }>('GET', '/updates');
      expect(body.updates.map(({ kind }) => kind)).toEqual(['rename', 'import']);
      await client.stack('before', 'ren').create();
      expect((await stack.call('POST', '/decrypt', sealed)).status).toBe(400);
    });

    it('do not take a name that is in use, nor move under a running update', async () => {
      const [one, two] = [client.stack('one', 'ren'), client.stack('two', 'ren')];
      await one.create();
      await two.create();
      expect((await one.call('POST', '/rename', { newName: 'two', newProject: '' })).status).toBe(409);
      const running = await one.start();
      expect((await one.call('POST', '/rename', { newName: 'three' })).status).toBe(409);
      expect((await one.call('POST', '/import', stateOf())).status).toBe(409);
      expect((await one.call('DELETE', '?force=true')).status).toBe(409);
      await running.complete();
    });
  });

  it('import any state of schema 1 to 4 byte for byte, as an update of its own', async () => {
    const stack = client.stack('imported');
    await stack.create();
    expect((await stack.call('GET', '/export')).body).toMatchObject({
      version: 3,
      deployment: { resources: [] },
    });
    const text = ' {"deployment":{"later":[1.0,"\\u003c"],"resources":[]},"version":4,"features":["taint"]} ';
    const { body } = await stack.call<{ updateId: string }>('POST', '/import', text, { gzip: true });
    expect((await stack.call('GET', `/update/${body.updateId}`)).body).toEqual({
      status: 'succeeded',
      events: [],
    });
    expect((await stack.call('GET', '/export')).text).toBe(text);
    const identity = await stack.call('GET', '/export', undefined, {
      headers: { 'Accept-Encoding': 'identity' },
    });
    expect(identity.headers.get('content-encoding')).toBeNull();
    expect(identity.text).toBe(text);
  });

  describe('secrets', () => {
    it('come back as they went in, one by one or in batches, whatever the bytes', async () => {
      const stack = client.stack('secret');
      await stack.create();
      const bytes = fc.uint8Array({ maxLength: 300 }).map((value) => Buffer.from(value).toString('base64'));
      await fc.assert(
        fc.asyncProperty(fc.array(bytes, { minLength: 1, maxLength: 8 }), async (plaintexts) => {
          const { body } = await stack.call<{ ciphertexts: string[] }>('POST', '/batch-encrypt', {
            plaintexts,
          });
          const opened = await stack.call<{ plaintexts: Record<string, string> }>('POST', '/batch-decrypt', {
            ciphertexts: [...body.ciphertexts, ...body.ciphertexts],
          });
          expect(body.ciphertexts.map((one) => opened.body.plaintexts[one])).toEqual(plaintexts);
          expect(new Set(body.ciphertexts).size).toBe(plaintexts.length);
          const bare = atob(body.ciphertexts[0] ?? '');
          expect(bare).toMatch(/^v1:[A-Za-z0-9+/]+=*$/);
          expect((await stack.call('POST', '/decrypt', { ciphertext: bare })).body).toEqual({
            plaintext: plaintexts[0],
          });
        }),
        { numRuns: 30 },
      );
    });

    it('of one stack do not open in another, nor when a byte is changed', async () => {
      const [mine, other] = [client.stack('mine'), client.stack('other')];
      await mine.create();
      await other.create();
      const { body } = await mine.call<{ ciphertext: string }>('POST', '/encrypt', {
        plaintext: btoa('secret'),
      });
      await other.call('POST', '/encrypt', { plaintext: '' });
      expect((await other.call('POST', '/decrypt', body)).body).toMatchObject({ code: 400 });
      const raw = Buffer.from(atob(body.ciphertext).slice(3), 'base64');
      for (const at of [0, 12, raw.length - 1]) {
        const changed = Buffer.from(raw);
        changed[at] = (changed[at] ?? 0) ^ 1;
        const ciphertext = `v1:${changed.toString('base64')}`;
        expect((await mine.call('POST', '/decrypt', { ciphertext })).status).toBe(400);
      }
    });

    it('are made under one key by gateways that race for the first', async () => {
      const stack = client.stack('raced');
      await stack.create();
      const sealed = await Promise.all(
        Array.from({ length: 12 }, () =>
          stack.call<{ ciphertext: string }>('POST', '/encrypt', { plaintext: btoa('x') }),
        ),
      );
      for (const { body } of sealed)
        expect((await stack.call('POST', '/decrypt', body)).body).toEqual({ plaintext: btoa('x') });
      const keys = await world.database
        .db('extension_iac_state_keys as k')
        .join('extension_iac_state_stacks as s', 's.id', 'k.stack_id')
        .where('s.name', 'raced');
      expect(keys).toHaveLength(1);
    });

    it('stay readable when the key is rotated, and new ones use the new key', async () => {
      const stack = client.stack('rotated');
      await stack.create();
      const old = await stack.call('POST', '/encrypt', { plaintext: btoa('old') });
      expect((await stack.call('POST', '/rotate-key')).body).toEqual({ keyVersion: 2 });
      const fresh = await stack.call('POST', '/encrypt', { plaintext: btoa('new') });
      await world.database.db.raw(`delete from extension_iac_state_keys k using extension_iac_state_stacks s
        where s.id = k.stack_id and s.name = 'rotated' and k.version = 2`);
      expect((await stack.call('POST', '/decrypt', old.body)).status).toBe(200);
      expect((await stack.call('POST', '/decrypt', fresh.body)).status).toBe(400);
    });

    it('have keys that only the service key opens, each in its own place', async () => {
      const stack = client.stack('sealed');
      await stack.create();
      await stack.call('POST', '/encrypt', { plaintext: '' });
      const name = { org: IAC_ORG, project: 'shop', stack: 'sealed' };
      const foreign = createSecretCommands({
        db: world.database.db,
        keyRing: createKeyRing({ masterKey: '24'.repeat(32), previousKeys: [] }),
      });
      await expect(foreign.encrypt(name, [Buffer.from('x')])).rejects.toThrow('is not configured here');
      const moved = createSecretCommands({ db: world.database.db, keyRing: world.deps.keyRing });
      await world.database.db
        .raw(`update extension_iac_state_keys k set nonce = o.nonce, tag = o.tag, ciphertext = o.ciphertext
        from extension_iac_state_keys o, extension_iac_state_stacks s, extension_iac_state_stacks t
        where s.id = k.stack_id and s.name = 'sealed' and t.id = o.stack_id and t.name = 'raced'`);
      await expect(moved.encrypt(name, [Buffer.from('x')])).rejects.toThrow('cannot be opened');
    });

    it('are refused in a text that is none', async () => {
      const stack = client.stack('secret');
      expect((await stack.call('POST', '/encrypt', { plaintext: 'a' })).status).toBe(400);
      expect((await stack.call('POST', '/encrypt', {})).status).toBe(422);
      const many = Array<string>(1001).fill('');
      expect((await stack.call('POST', '/batch-encrypt', { plaintexts: many })).status).toBe(422);
      expect((await client.stack('never-made').call('POST', '/encrypt', { plaintext: '' })).status).toBe(404);
    });
  });

  it('fold a journal under the name they have', async () => {
    const stack = client.stack('dev');
    await stack.create();
    const update = await stack.start();
    await update.send('PATCH', '/journalentries', { entries: createEntries('a', 1) });
    await update.complete();
    expect((await stack.exported()).deployment.resources?.[0]?.urn).toBe(stashUrn('a'));
  });
});
