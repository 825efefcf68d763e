import { AppError } from '../errors.js';

const PREFIX = 'v1:';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Nonce (12 bytes), ciphertext and GCM tag (16 bytes), joined as the specification frames them. */
export interface SealedValue {
  readonly nonce: Uint8Array;
  readonly ciphertext: Uint8Array;
  readonly tag: Uint8Array;
}

/** Strict base64 with padding. Throws `malformed`. */
export const fromBase64 = (text: string, what: string): Uint8Array => {
  if (!BASE64.test(text)) throw new AppError('malformed', `${what} must be base64`);
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
};

const toBase64 = (bytes: Uint8Array): string => {
  let binary = '';
  for (let at = 0; at < bytes.length; at += 32_768) {
    binary += String.fromCharCode(...bytes.subarray(at, at + 32_768));
  }
  return btoa(binary);
};

/** `v1:` and base64 of nonce, ciphertext and tag. */
export const frame = ({ nonce, ciphertext, tag }: SealedValue): string => {
  const joined = new Uint8Array(NONCE_BYTES + ciphertext.length + TAG_BYTES);
  joined.set(nonce, 0);
  joined.set(ciphertext, NONCE_BYTES);
  joined.set(tag, NONCE_BYTES + ciphertext.length);
  return PREFIX + toBase64(joined);
};

/** What goes over the wire: the CLI holds a ciphertext as bytes, hence base64 of the `v1:` text. */
export const wrapForWire = (framed: string): string => btoa(framed);

/** Takes the wrapped form of the CLI and the bare `v1:` form of the specification. Throws `malformed`. */
export const unframe = (text: string): SealedValue => {
  const framed = text.startsWith(PREFIX) ? text : unwrap(text);
  const joined = fromBase64(framed.slice(PREFIX.length), 'the part after v1:');
  if (joined.length < NONCE_BYTES + TAG_BYTES) throw new AppError('malformed', 'the ciphertext is too short');
  return {
    nonce: joined.subarray(0, NONCE_BYTES),
    ciphertext: joined.subarray(NONCE_BYTES, joined.length - TAG_BYTES),
    tag: joined.subarray(joined.length - TAG_BYTES),
  };
};

const unwrap = (text: string): string => {
  if (!BASE64.test(text)) throw new AppError('malformed', 'the ciphertext must be base64 or begin with v1:');
  const framed = atob(text);
  if (!framed.startsWith(PREFIX)) {
    throw new AppError('malformed', 'the ciphertext is not of this service: it does not begin with v1:');
  }
  return framed;
};
