import { createHash } from 'node:crypto';

/** Name-based UUID, version 5 (RFC 9562 section 5.5): the same name in the same namespace is always the same id. */
export const uuidV5 = (namespace: string, name: string): string => {
  const hash = createHash('sha1')
    .update(Buffer.from(namespace.replaceAll('-', ''), 'hex'))
    .update(name, 'utf8');
  const bytes = hash.digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
};
