import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { frame, fromBase64, unframe, wrapForWire } from '../../../domain/iac/ciphertext.js';

const filled = (length: number, value: number) => new Uint8Array(length).fill(value);
const fixed = fc.tuple(
  fc.uint8Array({ minLength: 12, maxLength: 12 }),
  fc.uint8Array({ maxLength: 100 }),
  fc.uint8Array({ minLength: 16, maxLength: 16 }),
);

describe('frame', () => {
  it('is v1: and base64 of nonce, ciphertext and tag', () => {
    const framed = frame({ nonce: filled(12, 1), ciphertext: filled(3, 2), tag: filled(16, 3) });
    expect(framed).toBe(
      `v1:${Buffer.from([...filled(12, 1), 2, 2, 2, ...filled(16, 3)]).toString('base64')}`,
    );
  });

  it('comes back from the wire form and from the bare form', () => {
    fc.assert(
      fc.property(fixed, ([nonce, ciphertext, tag]) => {
        const framed = frame({ nonce, ciphertext, tag });
        for (const text of [framed, wrapForWire(framed)]) {
          const back = unframe(text);
          expect([...back.nonce]).toEqual([...nonce]);
          expect([...back.ciphertext]).toEqual([...ciphertext]);
          expect([...back.tag]).toEqual([...tag]);
        }
        expect(wrapForWire(framed)).toBe(Buffer.from(framed).toString('base64'));
      }),
    );
  });

  it('frames values of a megabyte', () => {
    const big = frame({ nonce: filled(12, 0), ciphertext: filled(1_000_000, 7), tag: filled(16, 0) });
    expect(unframe(big).ciphertext).toHaveLength(1_000_000);
  });
});

describe('unframe', () => {
  const short = Buffer.from('v1:AAAA').toString('base64');
  it.each([
    '',
    'v1:',
    'v1:###',
    'v2:AAAA',
    'plain',
    short,
    'v1:AAAA',
    Buffer.from('v2:x').toString('base64'),
  ])('refuses %j', (text) => {
    expect(() => unframe(text)).toThrow(/base64|short|v1:/);
  });
});

describe('fromBase64', () => {
  it.each(['A', 'AA', 'AA=', 'A===', '=AAA', 'AA-_', 'AAA\n', ' AAA'])('refuses %j', (text) => {
    expect(() => fromBase64(text, 'it')).toThrow('it must be base64');
  });
});
