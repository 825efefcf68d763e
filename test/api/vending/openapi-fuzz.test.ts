import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Ajv } from 'ajv';
import fc from 'fast-check';
import { testCloud } from '../../support/local-cloud.js';
import type { TestCloud } from '../../support/local-cloud.js';
import { testDatabase } from '../../support/postgres.js';
import type { TestDatabase } from '../../support/postgres.js';
import { vendingGateway } from '../../support/vending.js';
import type { GatewayHandle } from '../../support/vending.js';

const CASES = Number(process.env['TEST_FUZZ_CASES'] ?? 60);
const seed = Number(process.env['TEST_SEED'] ?? randomInt(2 ** 31));

interface Operation {
  readonly parameters: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: { content: { 'application/json': { schema: Schema } } };
  readonly responses: Readonly<Record<string, { content?: { 'application/json': { schema: object } } }>>;
}
interface Schema {
  readonly properties?: Record<string, object>;
}

/** Values near what a field wants, and far from it. */
const value = fc.oneof(
  fc.constantFrom(
    '',
    'fuzz-1',
    'Keystead-Sandbox',
    '\u0000',
    '\ud800',
    '../..',
    "' or 1=1 --",
    'x'.repeat(300),
    '0',
    '33',
  ),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  fc.jsonValue({ maxDepth: 2 }),
);
const bodyFor = (schema: Schema | undefined) => {
  const names = Object.keys(
    schema?.properties ?? { id: {}, eventType: {}, subject: {}, data: {}, specversion: {} },
  );
  const object = fc.record(Object.fromEntries(names.map((name) => [name, value])), { requiredKeys: [] });
  return fc.oneof(
    { weight: 4, arbitrary: object },
    { weight: 1, arbitrary: fc.array(object, { maxLength: 3 }) },
    fc.jsonValue(),
  );
};

describe(`every operation of the served document (TEST_SEED=${seed})`, () => {
  let cloud: TestCloud;
  let database: TestDatabase;
  let gateway: GatewayHandle;
  beforeAll(async () => {
    [cloud, database] = await Promise.all([testCloud(), testDatabase()]);
    // A live run needs a worker and two minutes of patience: those calls are in test/e2e/vending.
    gateway = await vendingGateway(database, { ...cloud.settings, VENDING_EVENT_WAIT_SECONDS: '0' });
  }, 60_000);
  afterAll(async () => {
    await gateway.close();
    await database.drop();
    await cloud.stop();
  });

  it('answers without a 5xx of its own making, and as its schema says', async () => {
    const ajv = new Ajv({ strict: false });
    const { paths } = (await gateway.request('GET', '/openapi.json')).body as {
      paths: Record<string, Record<string, Operation>>;
    };
    for (const [path, methods] of Object.entries(paths)) {
      for (const [method, operation] of Object.entries(methods)) {
        const schema = operation.requestBody?.content['application/json'].schema;
        const text = fc
          .string({ unit: 'binary', maxLength: 20 })
          .filter((one) => one.isWellFormed() && !/^\.{0,2}$/.test(one));
        await fc.assert(
          fc.asyncProperty(bodyFor(schema), text, async (generated, parameter) => {
            const replay =
              path.endsWith('/replay') &&
              typeof generated === 'object' &&
              generated !== null &&
              !Array.isArray(generated);
            const body = replay ? { ...generated, dry_run: true } : generated;
            const query = operation.parameters
              .filter((one) => one.in === 'query')
              .map(({ name }) => `${name}=${encodeURIComponent(parameter)}`);
            const target = `${path.replace(/\{\w+\}/, encodeURIComponent(parameter))}${query.length > 0 ? `?${query.join('&')}` : ''}`;
            const answer = await gateway.request(
              method.toUpperCase(),
              target,
              schema === undefined ? undefined : JSON.stringify(body),
            );
            const described = operation.responses[String(answer.status)];
            expect([target, answer.status, answer.text, described === undefined]).toEqual([
              target,
              answer.status,
              answer.text,
              false,
            ]);
            if (answer.status >= 500)
              expect(answer).toMatchObject({
                status: 503,
                body: { detail: 'queue storage is not configured' },
              });
            const expected = described?.content?.['application/json'].schema;
            if (expected !== undefined)
              expect([ajv.validate(expected, answer.body), ajv.errors]).toEqual([true, null]);
          }),
          { numRuns: CASES, seed },
        );
      }
    }
  }, 300_000);
});
