import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { atOnce, listItems, objectMembers, parseJson } from '../../../domain/iac/json.js';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const spaced = (value: unknown): string => JSON.stringify(value, undefined, 2);

describe('parseJson', () => {
  it('gives what JSON.parse gives, in whatever form', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.boolean(), (value, pretty) => {
        const text = pretty ? spaced(value) : JSON.stringify(value);
        expect(atOnce(parseJson(bytes(text)))).toEqual(JSON.parse(text));
      }),
    );
  });

  it('takes large texts apart and gives the same', () => {
    const value = {
      list: Array.from({ length: 3000 }, (_, i) => ({ i, text: `"[{\\ü€😀`.repeat(10) })),
      nested: { deep: [[{ a: 'x'.repeat(100_000) }]] },
      __proto__: 1,
    };
    const text = spaced(value);
    expect(text.length).toBeGreaterThan(300_000);
    expect(atOnce(parseJson(bytes(text)))).toEqual(JSON.parse(text));
  });

  it('keeps a member called __proto__ a plain member', () => {
    const text = `{"__proto__": {"polluted": true}, "pad": "${'x'.repeat(70_000)}"}`;
    const parsed = atOnce(parseJson(bytes(text))) as Record<string, unknown>;
    expect(Object.keys(parsed)).toContain('__proto__');
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it('refuses what JSON.parse refuses, small or large, and never hangs', () => {
    const pad = `"${'x'.repeat(70_000)}"`;
    fc.assert(
      fc.property(
        fc.json(),
        fc.nat(),
        fc.constantFrom('{', '}', '[', ']', '"', ',', ':', '\\', 'x', '1'),
        fc.boolean(),
        (json, at, char, large) => {
          const whole = large ? `[${pad},${json}]` : json;
          const place = large ? whole.length - 1 - (at % (json.length + 1)) : at % (whole.length + 1);
          const text = whole.slice(0, place) + char + whole.slice(place + 1);
          let expected: unknown;
          try {
            expected = JSON.parse(text);
          } catch {
            expect(() => atOnce(parseJson(bytes(text)))).toThrow('not valid JSON');
            return;
          }
          expect(atOnce(parseJson(bytes(text)))).toEqual(expected);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('refuses bytes that are no UTF-8', () => {
    expect(() => atOnce(parseJson(new Uint8Array([0x22, 0xff, 0x22])))).toThrow('not valid JSON');
  });

  it('takes a breath at least once in every 64 KB parsed', () => {
    const text = bytes(JSON.stringify(Array.from({ length: 10_000 }, (_, i) => ({ i, s: 'x'.repeat(100) }))));
    const work = parseJson(text);
    let breaths = 0;
    while (work.next().done !== true) breaths++;
    expect(breaths).toBeGreaterThan(text.length / 65_536);
  });
});

describe('objectMembers and listItems', () => {
  const texts = (source: Uint8Array, spans: Iterable<{ start: number; end: number }>) =>
    [...spans].map(({ start, end }) => new TextDecoder().decode(source.subarray(start, end)));

  it('give the bytes of each part as they were sent', () => {
    const source = bytes('  { "a" : 1.0 , "b\\u003c" : "\\u003c" , "list" : [ 1e3 , {"x":[]} , "]" ] }  ');
    const members = atOnce(objectMembers(source));
    expect([...members.keys()]).toEqual(['a', 'b<', 'list']);
    expect(texts(source, members.values())).toEqual(['1.0', '"\\u003c"', '[ 1e3 , {"x":[]} , "]" ]']);
    expect(texts(source, atOnce(listItems(source, members.get('list')!)))).toEqual([
      '1e3',
      '{"x":[]}',
      '"]"',
    ]);
  });

  it('take the last of two equal members, as every reader does', () => {
    const source = bytes('{"a":1,"a":2}');
    expect(texts(source, atOnce(objectMembers(source)).values())).toEqual(['2']);
  });

  it.each([
    '',
    '{',
    '{"a"',
    '{"a":',
    '{"a":1',
    '{"a":1,',
    '{"a":1}x',
    '[',
    '[1,]',
    '{,}',
    '{1:2}',
    '"x"',
    '{"a":"\\',
  ])('refuse %j', (text) => {
    const parse = text.startsWith('[')
      ? () => atOnce(listItems(bytes(text), { start: 0, end: text.length }))
      : () => atOnce(objectMembers(bytes(text)));
    expect(parse).toThrow('not valid JSON');
  });

  it('refuse nesting without end', () => {
    const deep = '['.repeat(200_000);
    expect(() => atOnce(listItems(bytes(deep), { start: 0, end: deep.length }))).toThrow('nested too deeply');
  });
});
