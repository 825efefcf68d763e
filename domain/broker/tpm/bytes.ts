import { AppError } from '../../errors.js';

/** Big-endian readers and writers for TPM structures; every length is checked before it is used. */

const malformed = (what: string, why: string): AppError =>
  new AppError('invalid', `${what} is malformed: ${why}`, { code: 'tpm_malformed' });

/** Reads one structure front to back. Every method throws `invalid` instead of reading past the end. */
export class TpmReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #what: string;
  #offset = 0;

  constructor(bytes: Uint8Array, what: string) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#what = what;
  }

  u8(): number {
    return this.#view.getUint8(this.#take(1));
  }

  u16(): number {
    return this.#view.getUint16(this.#take(2));
  }

  u32(): number {
    return this.#view.getUint32(this.#take(4));
  }

  u64(): bigint {
    return this.#view.getBigUint64(this.#take(8));
  }

  bytes(length: number): Uint8Array {
    const start = this.#take(length);
    return this.#bytes.subarray(start, start + length);
  }

  /** A TPM2B: two bytes of length, then that many bytes, at most `max`. */
  sized(max: number): Uint8Array {
    const length = this.u16();
    if (length > max) throw this.error(`a field of ${length} bytes, at most ${max} are possible`);
    return this.bytes(length);
  }

  /** Refuses trailing bytes. */
  end(): void {
    const left = this.#bytes.length - this.#offset;
    if (left !== 0) throw this.error(`${left} trailing bytes`);
  }

  error(why: string): AppError {
    return malformed(this.#what, why);
  }

  #take(length: number): number {
    const start = this.#offset;
    if (length > this.#bytes.length - start) throw this.error('it ends too early');
    this.#offset = start + length;
    return start;
  }
}

export const concat = (...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> => {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
};

export const u16 = (value: number): Uint8Array => Uint8Array.of(value >>> 8, value & 0xff);

export const u32 = (value: number): Uint8Array =>
  Uint8Array.of(value >>> 24, (value >>> 16) & 0xff, (value >>> 8) & 0xff, value & 0xff);

/** A TPM2B around `bytes`. */
export const sized = (bytes: Uint8Array): Uint8Array<ArrayBuffer> => {
  if (bytes.length > 0xffff) throw new RangeError('a TPM2B holds at most 65535 bytes');
  return concat(u16(bytes.length), bytes);
};

/** Left-pads an unsigned big-endian integer to `size` bytes; undefined when it does not fit. */
export const padLeft = (bytes: Uint8Array, size: number): Uint8Array | undefined => {
  let start = 0;
  while (bytes.length - start > size && bytes[start] === 0) start += 1;
  const significant = bytes.subarray(start);
  if (significant.length > size) return undefined;
  const padded = new Uint8Array(size);
  padded.set(significant, size - significant.length);
  return padded;
};

/** Plain comparison for public values; secrets are compared in activities/crypto. */
export const sameBytes = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((byte, index) => byte === b[index]);

/** The content of a TPM2B whose size field must cover exactly the rest; undefined when it does not. */
export const unwrapSized = (bytes: Uint8Array): Uint8Array | undefined => {
  const [high, low] = bytes;
  if (high === undefined || low === undefined || high * 256 + low !== bytes.length - 2) return undefined;
  return bytes.subarray(2);
};
