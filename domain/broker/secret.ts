import { AppError } from '../errors.js';

export const SECRET_NAME_MAX = 128;
export const SECRET_DESCRIPTION_MAX = 512;
/** Bytes of a value in UTF-8. */
export const SECRET_VALUE_MAX_BYTES = 65_536;
/** Ten years: a life longer than that is no limit. */
export const SECRET_TTL_MAX_SECONDS = 315_360_000;

export const utf8Length = (text: string): number => {
  let bytes = 0;
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  }
  return bytes;
};

export const expiryOf = (ttlSeconds: number | null | undefined, now: Date): string | null =>
  ttlSeconds === null || ttlSeconds === undefined
    ? null
    : new Date(now.getTime() + ttlSeconds * 1000).toISOString();

/** Entity tag of a secret: its version (RFC 9110 8.8.3). */
export const secretTag = (version: number): string => `"${version}"`;

/** Version that `If-Match` demands; undefined when any will do. Throws `malformed` on anything but one strong tag. */
export const demandedVersion = (ifMatch: string | undefined): number | undefined => {
  if (ifMatch === undefined || ifMatch === '*') return undefined;
  const [, version] = /^"(\d{1,9})"$/.exec(ifMatch.trim()) ?? [];
  if (version === undefined) throw new AppError('malformed', 'If-Match must be one strong entity tag');
  return Number(version);
};
