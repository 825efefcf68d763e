import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { applyEdits } from '../../../domain/iac/delta.js';
import type { TextEdit } from '../../../domain/iac/delta.js';
import { atOnce } from '../../../domain/iac/json.js';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const edit = (start: number, end: number, NewText: string): TextEdit => ({
  Span: { start: { offset: start }, end: { offset: end } },
  NewText,
});
const apply = (text: string, edits: readonly TextEdit[], limit = 1_000_000): string =>
  new TextDecoder().decode(atOnce(applyEdits(bytes(text), edits, limit)));

describe('applyEdits', () => {
  it('counts offsets in bytes, not in characters', () => {
    expect(apply('ä€😀x', [edit(9, 10, 'y')])).toBe('ä€😀y');
    expect(apply('ä€😀x', [edit(2, 5, 'E')])).toBe('äE😀x');
  });

  it('applies edits in any order, insertions included', () => {
    expect(apply('abcdef', [edit(4, 5, 'E'), edit(0, 0, '>'), edit(1, 3, ''), edit(6, 6, '<')])).toBe(
      '>adEf<',
    );
    expect(apply('', [edit(0, 0, 'new')])).toBe('new');
    expect(apply('same', [])).toBe('same');
  });

  it('rebuilds any text from any other by cuts at random places', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string({ unit: 'grapheme' }), fc.option(fc.string()))), (parts) => {
        let offset = 0;
        const edits: TextEdit[] = [];
        for (const [old, replacement] of parts) {
          const end = offset + bytes(old).length;
          if (replacement !== null) edits.push(edit(offset, end, replacement));
          offset = end;
        }
        const wanted = parts.map(([old, replacement]) => replacement ?? old).join('');
        expect(apply(parts.map(([old]) => old).join(''), edits)).toBe(wanted);
      }),
    );
  });

  it.each([
    ['beyond the end', [edit(3, 5, '')]],
    ['backwards', [edit(2, 1, '')]],
    ['overlapping', [edit(0, 2, 'x'), edit(1, 3, 'y')]],
  ])('refuses edits that go %s', (_what, edits) => {
    expect(() => apply('abcd', edits)).toThrow('overlaps another or leaves');
  });

  it('refuses a result beyond the limit before it is made', () => {
    expect(() => apply('abcd', [edit(0, 0, 'x'.repeat(10))], 13)).toThrow('pass 13 bytes');
    expect(apply('abcd', [edit(0, 0, 'x'.repeat(9))], 13)).toHaveLength(13);
  });
});
