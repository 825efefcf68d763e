import { describe, expect, it } from '@jest/globals';
import { attestAction, isBarred, refusedTransition, transitions } from '../../../domain/broker/lifecycle.js';
import type { Trigger } from '../../../domain/broker/lifecycle.js';
import { machineStatuses, normaliseMac } from '../../../domain/broker/machine.js';

describe('the lifecycle', () => {
  it('has exactly the transitions of the specification', () => {
    const table = Object.entries(transitions).flatMap(([trigger, { from, to }]) =>
      from.map((f) => `${f} -${trigger}-> ${to}`),
    );
    expect(table.sort()).toEqual(
      [
        'attested -lock-> locked',
        'attested -revoke-> revoked',
        'locked -revoke-> revoked',
        'locked -unlock-> attested',
        'pending_approval -approve-> registered',
        'pending_approval -reject-> rejected',
        'pending_approval -revoke-> revoked',
        'registered -approve-> registered',
        'registered -attest-> attested',
        'registered -reject-> rejected',
        'registered -revoke-> revoked',
      ].sort(),
    );
  });

  it('has no way out of revoked and rejected, and no way around approval', () => {
    const leaving = (status: string) =>
      Object.values(transitions).filter(({ from }) => (from as readonly string[]).includes(status));
    expect(leaving('revoked')).toEqual([]);
    expect(leaving('rejected')).toEqual([]);
    const toAttested = Object.entries(transitions)
      .filter(([, { to }]) => to === 'attested')
      .flatMap(([, { from }]) => from);
    expect(toAttested).not.toContain('pending_approval');
  });

  it.each(machineStatuses.map((status) => [status]))('tells a %s machine what to do', (status) => {
    const actions = [false, true].flatMap((tokenOutstanding) =>
      [false, true].map((wipePending) => attestAction(status, { tokenOutstanding, wipePending })),
    );
    const expected: Record<string, string[]> = {
      attested: ['none', 'none', 'apply-config', 'apply-config'],
      locked: ['lock', 'lock', 'lock', 'lock'],
      revoked: ['none', 'wipe', 'none', 'wipe'],
    };
    expect(actions).toEqual(expected[status] ?? ['none', 'none', 'none', 'none']);
    expect(isBarred(status)).toBe(['locked', 'revoked', 'rejected'].includes(status));
  });

  it('names the status in a refusal', () => {
    for (const trigger of Object.keys(transitions) as Trigger[]) {
      expect(refusedTransition(trigger, 'revoked')).toMatchObject({ kind: 'conflict' });
      expect(refusedTransition(trigger, 'revoked').message).toContain('revoked');
    }
  });

  it.each([
    ['AA-BB-CC-00-11-22', 'aa:bb:cc:00:11:22'],
    ['aabb.cc00.1122', 'aa:bb:cc:00:11:22'],
    [' aa:bb:cc:00:11:22 ', 'aa:bb:cc:00:11:22'],
    ['unknown', 'unknown'],
  ])('reads the MAC %s as %s', (text, mac) => {
    expect(normaliseMac(text)).toBe(mac);
  });
});
