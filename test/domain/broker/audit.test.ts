import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { appendAudit, readChain } from '../../../db/broker/audit.js';
import type { AuditEntry } from '../../../domain/broker/audit.js';
import {
  GENESIS_HASH,
  auditTimestamp,
  canonicalAuditRow,
  createChainCheck,
} from '../../../domain/broker/audit.js';
import { testDatabase } from '../../support/postgres.js';
import type { TestDatabase } from '../../support/postgres.js';

const sha256Hex = (text: string): string => createHash('sha256').update(text, 'utf8').digest('hex');

const check = (rows: readonly AuditEntry[]) => {
  const chain = createChainCheck(sha256Hex);
  for (const row of rows) chain.add(row);
  return chain.verdict();
};

describe('the canonical form', () => {
  it('is sorted JSON without spaces, ASCII only, nulls kept, time without offset', () => {
    const text = canonicalAuditRow({
      timestamp: '2026-01-31T12:00:00.000500+00:00',
      operatorCn: 'Zoë 😀',
      action: 'lock',
      machineId: null,
      prevState: 'attested',
      newState: 'locked',
      detail: 'a "b"\n\u007f',
      prevHash: GENESIS_HASH,
    });
    expect(text).toBe(
      `{"action":"lock","detail":"a \\"b\\"\\n\\u007f","machine_id":null,"new_state":"locked",` +
        `"operator_cn":"Zo\\u00eb \\ud83d\\ude00","prev_hash":"${GENESIS_HASH}","prev_state":"attested",` +
        `"timestamp":"2026-01-31T12:00:00.000500"}`,
    );
  });

  it('leaves out a fraction of zero and fills a short one', () => {
    expect(auditTimestamp('2026-01-31T12:00:00+00:00')).toBe('2026-01-31T12:00:00');
    expect(auditTimestamp('2026-01-31T12:00:00.000000+00:00')).toBe('2026-01-31T12:00:00');
    expect(auditTimestamp('2026-01-31T12:00:00.5Z')).toBe('2026-01-31T12:00:00.500000');
  });
});

describe('the chain in the database', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await testDatabase();
  });
  afterAll(() => database.drop());

  const act = (detail: string | null, operatorCn = 'ann') => ({
    action: 'lock' as const,
    operatorCn,
    machineId: null,
    prevState: null,
    newState: null,
    detail,
    context: { requestId: null, sourceAddress: null, method: 'system' },
  });
  const rows = async (): Promise<AuditEntry[]> => {
    const all: AuditEntry[] = [];
    for await (const batch of readChain(database.db)) all.push(...batch);
    return all;
  };

  it('hashes any text as the specification says, in SQL as in TypeScript', async () => {
    const text = fc
      .string({ unit: 'binary', maxLength: 40 })
      .filter((s) => s.isWellFormed() && !s.includes('\u0000'));
    await fc.assert(
      fc.asyncProperty(fc.option(text, { nil: null }), text, async (detail, operator) => {
        await appendAudit(database.db, act(detail, operator));
      }),
      { numRuns: 300 },
    );
    expect(check(await rows())).toMatchObject({ valid: true, entries: 300, error: null });
  });

  it('has no fork and no gap when 32 append at once', async () => {
    const before = (await rows()).length;
    await Promise.all(Array.from({ length: 200 }, (_, n) => appendAudit(database.db, act(`parallel ${n}`))));
    const all = await rows();
    expect(check(all)).toMatchObject({ valid: true, entries: before + 200 });
    expect(check(all).rootHash).toBe(all.at(-1)?.entryHash);
  });

  it('cannot be changed, even by its owner', async () => {
    await expect(database.db('audit_log').where({ id: 2 }).update({ detail: 'x' })).rejects.toThrow(
      'append-only',
    );
    await expect(database.db('audit_log').where({ id: 2 }).delete()).rejects.toThrow('append-only');
    await expect(database.db.raw('truncate audit_log cascade')).rejects.toThrow('append-only');
  });

  it('shows every change, gap, fork and swap of rows that somebody made all the same', async () => {
    const all = await rows();
    const changed = (index: number, change: Partial<AuditEntry>) =>
      all.map((row, at) => (at === index ? { ...row, ...change } : row));
    const field = fc.constantFrom(
      'timestamp',
      'operatorCn',
      'action',
      'machineId',
      'prevState',
      'newState',
      'detail',
      'prevHash',
      'entryHash',
    );
    fc.assert(
      fc.property(fc.nat({ max: all.length - 1 }), field, (index, name) => {
        const verdict = check(
          changed(index, { [name]: name === 'timestamp' ? '2001-01-01T00:00:00+00:00' : 'forged' }),
        );
        expect(verdict.valid).toBe(false);
        expect(verdict.rootHash).toBeNull();
        expect(verdict.firstInvalidId).toBeLessThanOrEqual(index + 2);
      }),
    );
    expect(check(all.filter((_, at) => at !== 10))).toMatchObject({ valid: false, firstInvalidId: 12 });
    expect(check([])).toEqual({ valid: true, entries: 0, rootHash: null, firstInvalidId: null, error: null });
  });
});
