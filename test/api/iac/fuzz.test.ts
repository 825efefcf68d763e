import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createEntries, iacClient, stateOf } from '../../support/iac-client.js';
import type { ExportBody, RunningUpdate } from '../../support/iac-client.js';
import { errorCollector, iacWorld } from '../../support/iac.js';
import type { IacWorld } from '../../support/iac.js';

/** 20,000 bodies over four kinds, sent in lots. */
const BODIES_PER_KIND = 5_000;
const AT_ONCE = 20;

const tokens = [
  '{',
  '}',
  '[',
  ']',
  '"',
  ',',
  ':',
  '\\',
  'null',
  '-1',
  '1e999',
  '""',
  '\u0000',
  '\uffff',
  '[[[[',
  '{"urn":1}',
];

interface Mutation {
  readonly at: number;
  readonly cut: number;
  readonly put: string;
}
const mutations = fc.array(
  fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    cut: fc.nat(12),
    put: fc.oneof(fc.constantFrom(...tokens), fc.string({ maxLength: 6 })),
  }),
  { minLength: 1, maxLength: 3 },
);
const mutate = (text: string, changes: readonly Mutation[]): string =>
  changes.reduce((now, { at, cut, put }) => {
    const place = Math.floor(at * now.length);
    return now.slice(0, place) + put + now.slice(place + cut);
  }, text);

describe('mutated bodies', () => {
  let world: IacWorld;
  let stack: ReturnType<ReturnType<typeof iacClient>['stack']>;
  const { log, errors } = errorCollector();
  beforeAll(async () => {
    world = await iacWorld({ log });
    stack = iacClient(world.url).stack('dev');
    await stack.create();
    await stack.call('POST', '/import', stateOf('a', 'b'));
  });
  afterAll(() => world.close());

  /** The state must read back whole after every lot: as JSON, with all the resources of some body that was taken. */
  const checkState = async (): Promise<void> => {
    const { status, text } = await stack.call('GET', '/export');
    expect(status).toBe(200);
    const { version, deployment } = JSON.parse(text) as ExportBody;
    expect(version).toBeGreaterThanOrEqual(1);
    for (const resource of deployment.resources ?? []) expect(typeof resource.urn).toBe('string');
  };

  const fuzz = async (
    send: (text: string) => Promise<{ readonly status: number; readonly text: string }>,
    base: string,
    afterLot: () => Promise<void>,
  ): Promise<void> => {
    const bodies = fc.sample(mutations, { numRuns: BODIES_PER_KIND, seed: 20_260_101 });
    const statuses = new Map<number, number>();
    for (let at = 0; at < bodies.length; at += AT_ONCE) {
      const lot = bodies.slice(at, at + AT_ONCE).map((changes) => mutate(base, changes));
      const answers = await Promise.all(lot.map(send));
      for (const [index, answer] of answers.entries()) {
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
        if (answer.status >= 500)
          throw new Error(`${answer.status} for ${lot[index]}: ${JSON.stringify(errors)}`);
        if (answer.status >= 400) expect(JSON.parse(answer.text)).toMatchObject({ code: answer.status });
      }
      if (at % 500 === 0) await afterLot();
    }
    await afterLot();
    expect(errors).toEqual([]);
    expect([...statuses.keys()].filter((status) => status >= 400).length).toBeGreaterThan(0);
  };

  const withUpdate = async (
    journalVersion: number,
    work: (update: RunningUpdate) => Promise<void>,
  ): Promise<void> => {
    const update = await stack.start('update', {}, journalVersion);
    await work(update);
    expect((await update.complete('failed')).status).toBe(204);
    await checkState();
  };

  it(
    'never make a checkpoint fail otherwise than with 4xx, nor leave half a state',
    () =>
      withUpdate(0, (update) =>
        fuzz(
          (text) => update.send('PATCH', '/checkpoint', text),
          JSON.stringify({ isInvalid: false, ...stateOf('a', 'b', 'c') }),
          checkState,
        ),
      ),
    300_000,
  );

  it(
    'never make a journal fail, nor the fold at its end',
    () =>
      withUpdate(1, (update) =>
        fuzz(
          (text) => update.send('PATCH', '/journalentries', text),
          JSON.stringify({ entries: [...createEntries('x', 1), ...createEntries('y', 3)] }),
          checkState,
        ),
      ),
    300_000,
  );

  it(
    'never make a delta fail otherwise than with 4xx, nor change the state to another than it hashed',
    () =>
      withUpdate(0, async (update) => {
        const text = JSON.stringify(stateOf('a', 'b'));
        const verbatim = `{"version":1,"untypedDeployment":${text},"sequenceNumber":1}`;
        expect((await update.send('PATCH', '/checkpointverbatim', verbatim)).status).toBe(204);
        const next = text.replace('id-a', 'id-z');
        const offset = text.indexOf('id-a');
        const delta = {
          version: 1,
          checkpointHash: createHash('sha256').update(next).digest('hex'),
          sequenceNumber: 2,
          deploymentDelta: [
            { Span: { uri: '', start: { offset }, end: { offset: offset + 4 } }, NewText: 'id-z' },
          ],
        };
        await fuzz(
          (body) => update.send('PATCH', '/checkpointdelta', body),
          JSON.stringify(delta),
          async () => expect([text, next]).toContain((await stack.call('GET', '/export')).text),
        );
      }),
    300_000,
  );

  it(
    'never make a batch of events fail otherwise than with 4xx',
    () =>
      withUpdate(1, (update) =>
        fuzz(
          (text) => update.send('POST', '/events/batch', text),
          JSON.stringify({
            events: [
              { sequence: 0, timestamp: 1, stdoutEvent: { message: 'm' } },
              { sequence: 1, timestamp: 2, summaryEvent: { resourceChanges: { create: 1 } } },
            ],
          }),
          checkState,
        ),
      ),
    300_000,
  );
});
