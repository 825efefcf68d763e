import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import type { Finding } from '../../../api/cli/sre/doctor/finding.js';
import { testDatabase } from '../../support/postgres.js';
import type { TestDatabase } from '../../support/postgres.js';
import { sre } from '../../support/sre.js';
import { temporalServer } from '../../support/temporal.js';

const makeAuthority = (dir: string, days: string): void => {
  const args =
    `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-384 -nodes -subj /CN=ca -days ${days}`.split(' ');
  const files = ['-keyout', join(dir, 'enrollment-ca.key'), '-out', join(dir, 'enrollment-ca.crt')];
  execFileSync('openssl', [...args, ...files], { stdio: 'ignore' });
  chmodSync(join(dir, 'enrollment-ca.key'), 0o600);
};

describe('sre doctor', () => {
  let server: TestWorkflowEnvironment;
  let database: TestDatabase;
  let empty: TestDatabase;
  let authority: string;
  let healthy: Record<string, string>;

  beforeAll(async () => {
    [server, database, empty] = await Promise.all([
      temporalServer(),
      testDatabase(),
      testDatabase({ empty: true }),
    ]);
    authority = mkdtempSync(join(tmpdir(), 'keystead-ca-'));
    makeAuthority(authority, '3650');
    healthy = {
      DATABASE_URL: database.url,
      TEMPORAL_ADDRESS: server.address,
      SVC_ADMIN_TOKEN: 'admin-token-for-doctor',
      SVC_SHARED_SECRET_MASTER_KEY: 'ab'.repeat(32),
      SVC_ENROLLMENT_CA_DIR: authority,
    };
  });
  afterAll(async () => {
    await server.teardown();
    await Promise.all([database.drop(), empty.drop()]);
    rmSync(authority, { recursive: true });
  });

  const diagnose = async (env: Record<string, string>, now = Date.now) => {
    const { code, out } = await sre(env, ['doctor', '-o', 'json'], { now });
    const findings = JSON.parse(out) as Finding[];
    return { code, out, of: (check: string) => findings.find((finding) => finding.check === check) };
  };

  it('finds a system that works, and its pollers', async () => {
    const worker = await Worker.create({
      connection: server.nativeConnection,
      taskQueue: 'broker',
      activities: { nothing: () => Promise.resolve() },
    });
    const { of, code } = await worker.runUntil(() => diagnose(healthy));
    for (const check of ['database', 'migrations', 'outbox', 'temporal', 'namespace', 'search attributes'])
      expect(of(check)).toMatchObject({ level: 'ok' });
    for (const check of ['queue broker', 'temporal clock', 'service key', 'CA key', 'CA certificate'])
      expect(of(check)).toMatchObject({ level: 'ok' });
    expect(of('queue vending')).toMatchObject({ level: 'warn', todo: expect.stringContaining('worker') });
    expect(code).toBe(0);
  });

  it('never prints a secret', async () => {
    const { out } = await diagnose(healthy);
    expect(out).not.toContain('admin-token-for-doctor');
    expect(out).not.toContain('abab');
    expect(out).not.toContain(new URL(database.url).password + '@');
  });

  it('says what is wrong, all at once, and what to do', async () => {
    chmodSync(join(authority, 'enrollment-ca.key'), 0o644);
    const { of, code } = await diagnose({
      ...healthy,
      DATABASE_URL: empty.url,
      TEMPORAL_NAMESPACE: 'nowhere',
      SVC_PORT: '80x',
      SVC_ADMIN_TOKNE: 'typo',
      SVC_SHARED_SECRET_MASTER_KEY: '',
    });
    chmodSync(join(authority, 'enrollment-ca.key'), 0o600);
    expect(code).toBe(1);
    expect(of('settings: Broker')).toMatchObject({
      level: 'fail',
      detail: expect.stringContaining('SVC_PORT'),
    });
    expect(of('settings: names')).toMatchObject({ detail: 'unknown: SVC_ADMIN_TOKNE' });
    expect(of('migrations')).toMatchObject({ level: 'fail' });
    expect(of('namespace')).toMatchObject({
      level: 'fail',
      todo: expect.stringContaining('namespace create'),
    });
    expect(of('service key')).toMatchObject({ level: 'warn', detail: expect.stringContaining('ephemeral') });
    expect(of('CA key')).toMatchObject({ level: 'fail', todo: expect.stringContaining('chmod 600') });
  });

  it('notices a clock that is off, an expired CA, and half a CA', async () => {
    const inElevenYears = () => Date.now() + 11 * 365 * 86_400_000;
    const { of } = await diagnose(healthy, inElevenYears);
    expect(of('database')).toMatchObject({ level: 'warn', todo: expect.stringContaining('NTP') });
    expect(of('CA certificate')).toMatchObject({ level: 'fail' });
    const half = mkdtempSync(join(tmpdir(), 'keystead-ca-'));
    writeFileSync(join(half, 'enrollment-ca.key'), 'x');
    expect((await diagnose({ ...healthy, SVC_ENROLLMENT_CA_DIR: half })).of('enrollment CA')).toMatchObject({
      level: 'fail',
      detail: expect.stringContaining('enrollment-ca.crt is missing'),
    });
    rmSync(half, { recursive: true });
  });

  it('goes on when database and Temporal are away, and --strict counts warnings', async () => {
    const { of, code } = await diagnose({
      DATABASE_URL: 'postgresql://u:hunter2@127.0.0.1:1/x',
      TEMPORAL_ADDRESS: '127.0.0.1:1',
    });
    expect(code).toBe(1);
    expect(of('database')).toMatchObject({ level: 'fail' });
    expect(of('temporal')).toMatchObject({
      level: 'fail',
      todo: expect.stringContaining('TEMPORAL_ADDRESS'),
    });
    expect(of('operator sign-in')).toMatchObject({ level: 'warn' });
    expect((await sre(healthy, ['doctor'])).code).toBe(0);
    expect((await sre(healthy, ['doctor', '--strict'])).code).toBe(1);
  });
});
