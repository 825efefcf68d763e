import type { IncomingMessage } from 'node:http';
import { AppError } from '../../domain/errors.js';
import type { Json } from '../../domain/iac/json.js';
import { listItems, objectMembers, parseJson } from '../../domain/iac/json.js';
import { collect, decompress } from './gzip.js';
import { inSlices } from './slices.js';

/** Bodies are read as bytes and taken apart in slices: large ones never hold the event loop, and parts keep their bytes. */
export const createBodies = (limit: number) => {
  /** The body, decompressed when it says so. Throws `too_large`, `malformed` (bad gzip) or `unsupported_media`. */
  const read = async (request: IncomingMessage): Promise<Buffer> => {
    const length = Number(request.headers['content-length'] ?? 0);
    const coding = request.headers['content-encoding'] ?? 'identity';
    if (length > limit) throw new AppError('too_large', `the body may have ${limit} bytes at most`);
    if (coding === 'identity') return collect(request, limit, length);
    if (coding === 'gzip' || coding === 'x-gzip') return decompress(request, limit, 8 * length);
    throw new AppError(
      'unsupported_media',
      `Content-Encoding '${coding.slice(0, 40)}' is not supported: use gzip`,
    );
  };

  const json = (bytes: Uint8Array): Promise<Json> => inSlices(parseJson(bytes));

  /** Members of a JSON object, each as the bytes that were sent. */
  const members = async (bytes: Uint8Array): Promise<ReadonlyMap<string, Uint8Array>> => {
    const spans = await inSlices(objectMembers(bytes));
    return new Map([...spans].map(([name, { start, end }]) => [name, bytes.subarray(start, end)]));
  };

  /** Elements of a JSON array, each as the bytes that were sent. Throws `too_large` beyond `max` of them. */
  const items = async (bytes: Uint8Array, max: number): Promise<readonly Uint8Array[]> => {
    const spans = await inSlices(listItems(bytes, { start: 0, end: bytes.length }));
    if (spans.length > max) throw new AppError('too_large', `send ${max} items at most in one request`);
    return spans.map(({ start, end }) => bytes.subarray(start, end));
  };

  return { read, json, members, items };
};
