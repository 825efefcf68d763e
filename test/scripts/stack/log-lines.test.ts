import { describe, expect, it } from '@jest/globals';
import { readableLine } from '../../../scripts/stack/log-lines.js';

const noon = new Date(2026, 0, 1, 12, 0, 0).getTime();

describe('readableLine', () => {
  it('turns a log record into one line', () => {
    const record = JSON.stringify({
      level: 30,
      time: noon,
      msg: 'request',
      pid: 1,
      status: 200,
      path: '/a b',
    });
    expect(readableLine('broker', record)).toBe('12:00:00 broker   info  request status=200 path="/a b"');
  });

  it('shows the stack of an error below it', () => {
    const record = JSON.stringify({ level: 50, time: noon, msg: 'oops', err: { stack: 'Error: x\n at y' } });
    expect(readableLine('workers', record)).toBe('12:00:00 workers  error oops\n    Error: x\n     at y');
  });

  it.each(['plain text', '{not json'])('keeps %s as it is', (line) => {
    expect(readableLine('broker', line)).toMatch(new RegExp(`^\\d\\d:\\d\\d:\\d\\d broker   ${line}$`));
  });
});
