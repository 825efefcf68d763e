import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connectDatabase } from '../../db/connect.js';
import { migrate, pendingMigrations } from '../../db/migrate.js';
import { migrations } from '../../db/migrations/index.js';
import { testDatabase } from '../support/postgres.js';
import type { TestDatabase } from '../support/postgres.js';

describe('migrate', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await testDatabase({ empty: true });
  });
  afterAll(() => database.drop());

  it('applies every migration once, whoever comes first of eight processes', async () => {
    expect(await pendingMigrations(database.db)).toHaveLength(migrations.length);
    const pools = Array.from({ length: 8 }, () =>
      connectDatabase({ DATABASE_URL: database.url, DATABASE_POOL_MAX: 2 }, 'migrate-test'),
    );
    const applied = await Promise.all(pools.map(migrate));
    await Promise.all(pools.map((pool) => pool.destroy()));
    expect(applied.flat().sort()).toEqual(migrations.map((m) => m.name).sort());
    expect(await pendingMigrations(database.db)).toEqual([]);
    expect(await migrate(database.db)).toEqual([]);
  });

  it('gives migrations distinct names in ascending order', () => {
    const names = migrations.map((m) => m.name);
    expect([...new Set(names)].sort()).toEqual(names);
  });
});
