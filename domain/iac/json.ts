import { AppError } from '../errors.js';

/**
 * JSON in pieces. States may have hundreds of megabytes, and nothing may hold the event loop that long: every
 * function here is a generator that yields where its caller may take a breath, and returns its result.
 */
export type Sliced<T> = Generator<undefined, T, undefined>;

/** Runs to the end without a breath: for small input. */
export const atOnce = <T>(work: Sliced<T>): T => {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
};

/** Bytes [start, end) of one JSON value. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

const SMALL = 65_536;
const BREATH_EVERY = 262_144;
const MAX_DEPTH = 10_000;
const [QUOTE, COMMA, COLON, BACKSLASH] = [0x22, 0x2c, 0x3a, 0x5c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const malformed = (at: number, why = 'unexpected text'): AppError =>
  new AppError('malformed', `not valid JSON: ${why} at byte ${at}`);

/** The value of a span, parsed by the engine itself. Throws `malformed`. */
export const parseSpan = (bytes: Uint8Array, { start, end }: Span): Json => {
  try {
    return JSON.parse(utf8.decode(bytes.subarray(start, end))) as Json;
  } catch (cause) {
    throw new AppError('malformed', 'not valid JSON', { cause });
  }
};

/** Same value as `JSON.parse`, made from parts of at most 64 KB where the text allows. Throws `malformed`. */
export function* parseJson(bytes: Uint8Array, span?: Span, depth = 0): Sliced<Json> {
  const { start, end } = span ?? wholeText(bytes);
  if (end - start <= SMALL || depth > 64) {
    yield;
    return parseSpan(bytes, { start, end });
  }
  if (bytes[start] === OPEN_LIST) {
    const items: Json[] = [];
    for (const item of yield* listItems(bytes, { start, end })) {
      items.push(yield* parseJson(bytes, item, depth + 1));
    }
    return items;
  }
  if (bytes[start] === OPEN_OBJECT) {
    const entries: [string, Json][] = [];
    for (const [key, value] of yield* objectMembers(bytes, { start, end })) {
      entries.push([key, yield* parseJson(bytes, value, depth + 1)]);
    }
    return Object.fromEntries(entries);
  }
  return parseSpan(bytes, { start, end });
}

const wholeText = (bytes: Uint8Array): Span => {
  const start = skipSpace(bytes, 0);
  let end = bytes.length;
  while (end > start && isSpace(bytes[end - 1])) end--;
  return { start, end };
};

/** Members of the object at `span`; of a key that comes twice the last counts, as everywhere. */
export function* objectMembers(bytes: Uint8Array, span?: Span): Sliced<Map<string, Span>> {
  const { start, end } = span ?? wholeText(bytes);
  if (bytes[start] !== OPEN_OBJECT) throw malformed(start, 'an object is expected');
  const members = new Map<string, Span>();
  let at = skipSpace(bytes, start + 1);
  if (bytes[at] === CLOSE_OBJECT) return mustEnd(members, at + 1, end);
  for (;;) {
    if (bytes[at] !== QUOTE) throw malformed(at, 'a member name is expected');
    const keyEnd = stringEnd(bytes, at);
    const key = parseSpan(bytes, { start: at, end: keyEnd }) as string;
    at = skipSpace(bytes, keyEnd);
    if (bytes[at] !== COLON) throw malformed(at);
    at = skipSpace(bytes, at + 1);
    const value = { start: at, end: yield* valueEnd(bytes, at) };
    members.set(key, value);
    at = skipSpace(bytes, value.end);
    if (bytes[at] === CLOSE_OBJECT) return mustEnd(members, at + 1, end);
    if (bytes[at] !== COMMA) throw malformed(at);
    at = skipSpace(bytes, at + 1);
  }
}

/** Elements of the array at `span`. */
export function* listItems(bytes: Uint8Array, { start, end }: Span): Sliced<Span[]> {
  if (bytes[start] !== OPEN_LIST) throw malformed(start, 'an array is expected');
  const items: Span[] = [];
  let at = skipSpace(bytes, start + 1);
  if (bytes[at] === CLOSE_LIST) return mustEnd(items, at + 1, end);
  for (;;) {
    const item = { start: at, end: yield* valueEnd(bytes, at) };
    items.push(item);
    at = skipSpace(bytes, item.end);
    if (bytes[at] === CLOSE_LIST) return mustEnd(items, at + 1, end);
    if (bytes[at] !== COMMA) throw malformed(at);
    at = skipSpace(bytes, at + 1);
  }
}

const mustEnd = <T>(result: T, at: number, end: number): T => {
  if (at !== end) throw malformed(at, 'text after the end');
  return result;
};

const isSpace = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

const skipSpace = (bytes: Uint8Array, from: number): number => {
  let at = from;
  while (isSpace(bytes[at])) at++;
  return at;
};

/** Index after the closing quote. */
const stringEnd = (bytes: Uint8Array, open: number): number => {
  let at = open + 1;
  for (;;) {
    const byte = bytes[at];
    if (byte === QUOTE) return at + 1;
    if (byte === undefined) throw malformed(at, 'a string does not end');
    at += byte === BACKSLASH ? 2 : 1;
  }
};

/** Index after the value at `from`: brackets are counted and strings skipped; what is between is for the parser to judge. */
function* valueEnd(bytes: Uint8Array, from: number): Sliced<number> {
  const first = bytes[from];
  if (first === QUOTE) return stringEnd(bytes, from);
  if (first !== OPEN_LIST && first !== OPEN_OBJECT) return scalarEnd(bytes, from);
  let depth = 0;
  let breath = from + BREATH_EVERY;
  for (let at = from; ; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) at = stringEnd(bytes, at) - 1;
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      if (++depth > MAX_DEPTH) throw malformed(at, 'nested too deeply');
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) {
      if (--depth === 0) return at + 1;
    } else if (byte === undefined) throw malformed(at, 'a value does not end');
    if (at > breath) {
      breath = at + BREATH_EVERY;
      yield;
    }
  }
}

const scalarEnd = (bytes: Uint8Array, from: number): number => {
  let at = from;
  for (; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === COMMA || byte === CLOSE_LIST || byte === CLOSE_OBJECT || isSpace(byte)) break;
  }
  if (at === from) throw malformed(at, 'a value is expected');
  return at;
};
