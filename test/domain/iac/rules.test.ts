import { describe, expect, it } from '@jest/globals';
import { describeEvent, resourceChanges } from '../../../domain/iac/events.js';
import { checkTags, stackName } from '../../../domain/iac/names.js';
import type { Update } from '../../../domain/iac/update.js';
import { checkWritable, completion, conflictWith, hasLapsed, leaseEnd } from '../../../domain/iac/update.js';
import { atOnce } from '../../../domain/iac/json.js';
import { checkDeploymentText, readDeployment } from '../../../domain/iac/deployment.js';

const now = new Date('2026-01-01T12:00:00.500Z');
const update = (more: Partial<Update> = {}): Update => ({
  id: 'u',
  stackId: 's',
  kind: 'destroy',
  dryRun: false,
  status: 'running',
  version: 1,
  author: 'ann',
  cliVersion: 'v3.259.0',
  message: '',
  environment: {},
  config: {},
  journalVersion: 1,
  checkpointSequence: 0,
  checkpointHash: null,
  leaseExpiresAt: '2026-01-01T12:05:00Z',
  createdAt: '2026-01-01T11:59:00Z',
  startedAt: '2026-01-01T12:00:00Z',
  endedAt: null,
  resourceChanges: null,
  resourceCount: null,
  ...more,
});

describe('names', () => {
  it.each(['', '.', '..', 'a/b', 'ä', 'x'.repeat(101), 'a b', 'a\0'])('refuses %j', (name) => {
    expect(() => stackName('acme', 'shop', name)).toThrow('stack name must be');
  });
  it('takes 100 characters of the set', () => {
    expect(stackName('acme', 'shop', `${'x'.repeat(96)}-_.9`).stack).toHaveLength(100);
  });
});

describe('tags', () => {
  it('take 40 and 256 characters', () => {
    expect(() =>
      checkTags({ [`${'x'.repeat(36)}:-_.`]: 'v'.repeat(256), 'pulumi:project': '' }),
    ).not.toThrow();
  });
  it.each([
    { '': 'v' },
    { ['x'.repeat(41)]: 'v' },
    { 'a b': 'v' },
    { a: 'v'.repeat(257) },
    { a: '\0' },
    { a: '\ud800' },
  ])('refuse %j', (tags) => {
    expect(() => checkTags(tags)).toThrow(/tag/);
  });
  it('are 100 at most', () => {
    const many = Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`t${i}`, '']));
    expect(() => checkTags(many)).toThrow('100 tags');
  });
});

describe('leases', () => {
  it('last five minutes at most and a second at least', () => {
    expect(leaseEnd(now).toISOString()).toBe('2026-01-01T12:05:00.500Z');
    expect(leaseEnd(now, 9_999).toISOString()).toBe('2026-01-01T12:05:00.500Z');
    expect(leaseEnd(now, 0).toISOString()).toBe('2026-01-01T12:00:01.500Z');
  });
  it('lapse at their end, not after it', () => {
    expect(hasLapsed(update({ leaseExpiresAt: now.toISOString() }), now)).toBe(true);
    expect(hasLapsed(update({ leaseExpiresAt: '2026-01-01T12:00:00.501Z' }), now)).toBe(false);
  });
  it('tell who holds the stack, since when and until when', () => {
    expect(conflictWith(update())).toMatchObject({
      kind: 'conflict',
      message: expect.stringContaining(
        'Another update is currently in progress: destroy by ann, started 2026-01-01T12:00:00Z, its lease ends 2026-01-01T12:05:00Z',
      ) as unknown,
    });
  });
});

describe('writes', () => {
  it('are for running updates within their lease that are no dry runs', () => {
    expect(() => checkWritable(update(), now)).not.toThrow();
    expect(() => checkWritable(update({ dryRun: true }), now)).toThrow('dry run');
    expect(() => checkWritable(update({ leaseExpiresAt: now.toISOString() }), now)).toThrow('lease');
    for (const status of ['not started', 'succeeded', 'failed', 'cancelled'] as const) {
      expect(() => checkWritable(update({ status }), now)).toThrow(`it is ${status}`);
    }
  });
  it('end once, and the same end again is no error', () => {
    expect(completion(update(), 'failed')).toBe('end');
    expect(completion(update({ status: 'failed' }), 'failed')).toBe('done');
    expect(() => completion(update({ status: 'cancelled' }), 'succeeded')).toThrow('cancelled');
  });
});

describe('events', () => {
  it('tell the resource changes by the last summary', () => {
    const summary = (create: number) => ({ sequence: create, summaryEvent: { resourceChanges: { create } } });
    expect(resourceChanges([summary(1), summary(2), { sequence: 3 }])).toEqual({ create: 2 });
    expect(resourceChanges([{ sequence: 3, summaryEvent: {} }])).toBeUndefined();
  });
  it('are told apart by kind and URN', () => {
    const event = { sequence: 1, resourcePreEvent: { metadata: { urn: 'urn:x' } } };
    expect(describeEvent(event)).toEqual({ type: 'resourcePreEvent', urn: 'urn:x' });
    expect(describeEvent({ sequence: 1 })).toEqual({ type: '', urn: undefined });
  });
});

describe('readDeployment', () => {
  const read = (value: unknown) => atOnce(readDeployment(value as never));
  it('keeps what it does not know', () => {
    const deployment = { resources: [{ urn: 'u', type: 't', later: 1 }], later: { x: null } };
    expect(read({ version: 4, features: ['taint'], deployment }).deployment).toEqual(deployment);
  });
  it.each([
    [null, 'an object'],
    [{ deployment: {} }, '`version`'],
    [{ version: 5, deployment: {} }, 'newer than 4'],
    [{ version: 4, features: ['time-travel'], deployment: {} }, 'time-travel'],
    [{ version: 3, deployment: [] }, '`deployment`'],
    [{ version: 3, deployment: { resources: {} } }, '`resources`'],
    [{ version: 3, deployment: { resources: [{ urn: 'u' }] } }, 'resources[0]'],
    [{ version: 3, deployment: { pending_operations: [{ type: 'x' }] } }, 'pending_operations[0]'],
  ])('refuses %j, as does the check of its text', (value, why) => {
    expect(() => read(value)).toThrow(why);
    const text = new TextEncoder().encode(JSON.stringify(value));
    expect(() => atOnce(checkDeploymentText(text))).toThrow(/not a state|not valid JSON/);
  });
});

describe('checkDeploymentText', () => {
  const check = (text: string) => atOnce(checkDeploymentText(new TextEncoder().encode(text)));
  it('counts the resources', () => {
    const resources = Array.from({ length: 2000 }, (_, n) => ({
      urn: `urn:${n}`,
      type: 't',
      pad: 'x'.repeat(60),
    }));
    expect(check(JSON.stringify({ version: 3, deployment: { manifest: {}, resources } }, undefined, 1))).toBe(
      2000,
    );
    expect(check('{"version":3}')).toBe(0);
    expect(check('{"version":3,"features":null,"deployment":null}')).toBe(0);
    expect(check('{"version":3,"deployment":{"resources":null}}')).toBe(0);
  });
  it.each([
    '{"version":3,"x":tru}',
    '{"version":3,"deployment":{"x":01}}',
    '{"version":3,"deployment":{"resources":[1,]}}',
  ])('refuses %s anywhere in the text', (text) => {
    expect(() => check(text)).toThrow('not valid JSON');
  });
});
