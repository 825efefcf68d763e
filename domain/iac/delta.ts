import { z } from 'zod';
import { AppError } from '../errors.js';
import type { Sliced } from './json.js';

/** A delta checkpoint has offsets in bytes of UTF-8 into the last saved text; line and column mean nothing. */
const offset = z.looseObject({ offset: z.int().min(0) });
export const textEdits = z
  .array(z.object({ Span: z.object({ start: offset, end: offset }), NewText: z.string().default('') }))
  .max(1_000_000);
export type TextEdit = z.infer<typeof textEdits>[number];

const COPY_AT_ONCE = 8_388_608;
const encoder = new TextEncoder();

/**
 * The text after all edits, each replacing [start, end) of the old text by `NewText`; edits may come in any order.
 * Throws `malformed` when they overlap or leave the text, `too_large` beyond `limitBytes`.
 */
export function* applyEdits(
  text: Uint8Array,
  edits: readonly TextEdit[],
  limitBytes: number,
): Sliced<Uint8Array> {
  const sorted = edits
    .map(({ Span, NewText }) => ({
      start: Span.start.offset,
      end: Span.end.offset,
      text: encoder.encode(NewText),
    }))
    .sort((a, b) => a.start - b.start || a.end - b.end);
  yield;
  checkEdits(sorted, text.length);
  const size = sorted.reduce((sum, edit) => sum + edit.text.length - (edit.end - edit.start), text.length);
  if (size > limitBytes) throw new AppError('too_large', `the state would pass ${limitBytes} bytes`);
  const result = new Uint8Array(size);
  let [from, to] = [0, 0];
  for (const edit of sorted) {
    to = yield* copy(text.subarray(from, edit.start), result, to);
    to = yield* copy(edit.text, result, to);
    from = edit.end;
  }
  yield* copy(text.subarray(from), result, to);
  return result;
}

const checkEdits = (edits: readonly { start: number; end: number }[], length: number): void => {
  let last = 0;
  for (const { start, end } of edits) {
    if (start < last || end < start || end > length) {
      throw new AppError(
        'malformed',
        `edit [${start}, ${end}) overlaps another or leaves the ${length} bytes of the text`,
      );
    }
    last = end;
  }
};

function* copy(source: Uint8Array, target: Uint8Array, at: number): Sliced<number> {
  for (let done = 0; done < source.length; done += COPY_AT_ONCE) {
    target.set(source.subarray(done, done + COPY_AT_ONCE), at + done);
    if (source.length > COPY_AT_ONCE) yield;
  }
  return at + source.length;
}
