import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { AppError } from '../../domain/errors.js';

/** States compress 4 to 20 times at level 1; higher levels cost twice the time for 3 % less. */
const LEVEL = 1;
const CHUNK = 262_144;
const PIECE = 1_048_576;

export interface Compressed {
  /** They concatenate to one gzip stream; 1 MiB each at most, so that no single row is large. */
  readonly pieces: readonly Buffer[];
  /** Bytes before compression. */
  readonly byteSize: number;
}

/** Compresses text that comes in parts; zlib works off the event loop. */
export const compress = async (parts: Iterable<string | Uint8Array>): Promise<Compressed> => {
  const gzip = createGzip({ level: LEVEL, chunkSize: CHUNK });
  const chunks: Buffer[] = [];
  gzip.on('data', (chunk: Buffer) => chunks.push(chunk));
  const ended = once(gzip, 'end');
  let byteSize = 0;
  for await (const part of inChunks(parts)) {
    byteSize += part.length;
    if (!gzip.write(part)) await once(gzip, 'drain');
  }
  gzip.end();
  await ended;
  return { pieces: gather(chunks), byteSize };
};

/** Parts joined and cut to chunks of about 256 KiB, with a turn for others after each. */
async function* inChunks(parts: Iterable<string | Uint8Array>): AsyncGenerator<Buffer> {
  let waiting: string[] = [];
  let length = 0;
  for (const part of parts) {
    if (typeof part === 'string') {
      waiting.push(part);
      length += part.length;
      if (length < CHUNK) continue;
      yield Buffer.from(waiting.join(''));
      [waiting, length] = [[], 0];
    } else {
      const bytes = Buffer.from(part.buffer, part.byteOffset, part.byteLength);
      for (let at = 0; at < bytes.length; at += CHUNK) yield bytes.subarray(at, at + CHUNK);
    }
    await nextTurn();
  }
  if (waiting.length > 0) yield Buffer.from(waiting.join(''));
}

const gather = (chunks: readonly Buffer[]): readonly Buffer[] => {
  const pieces: Buffer[] = [];
  let group: Buffer[] = [];
  let size = 0;
  for (const chunk of chunks) {
    if (size + chunk.length > PIECE && group.length > 0) {
      pieces.push(Buffer.concat(group));
      [group, size] = [[], 0];
    }
    group.push(chunk);
    size += chunk.length;
  }
  return [...pieces, Buffer.concat(group)];
};

/**
 * All bytes of a stream in one buffer, which is made once when `expected` is right.
 * Throws `too_large` beyond `limit`.
 */
export const collect = async (
  source: AsyncIterable<Uint8Array>,
  limit: number,
  expected = 65_536,
): Promise<Buffer> => {
  let buffer = Buffer.allocUnsafe(Math.min(Math.max(expected, 1024), limit));
  let length = 0;
  for await (const chunk of source) {
    if (length + chunk.length > limit) {
      throw new AppError('too_large', `the body may have ${limit} bytes at most after decompression`);
    }
    if (length + chunk.length > buffer.length) {
      const larger = Buffer.allocUnsafe(Math.min(limit, Math.max(2 * buffer.length, length + chunk.length)));
      buffer.copy(larger, 0, 0, length);
      buffer = larger;
    }
    buffer.set(chunk, length);
    length += chunk.length;
  }
  return buffer.subarray(0, length);
};

/** What a gzip stream holds. Throws `malformed` when it is none, `too_large` beyond `limit`. */
export const decompress = async (source: Readable, limit: number, expected?: number): Promise<Buffer> => {
  const gunzip = createGunzip({ chunkSize: CHUNK });
  source.once('error', (error) => gunzip.destroy(error));
  source.pipe(gunzip);
  try {
    return await collect(gunzip as AsyncIterable<Buffer>, limit, expected);
  } catch (cause) {
    source.unpipe(gunzip);
    if (cause instanceof AppError) throw cause;
    throw new AppError('malformed', 'the body is not valid gzip', { cause });
  }
};
