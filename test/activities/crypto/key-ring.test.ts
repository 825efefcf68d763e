import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { createKeyRing } from '../../../activities/crypto/key-ring.js';

const hexKey = (): string => randomBytes(32).toString('hex');
const scope = { purpose: 'svc/test/v1', salt: Buffer.alloc(48, 7), context: ['machine', 'name'] };

describe('master key selection', () => {
  it('prefers the hex key, then the passphrase as its SHA-256, then a random key', () => {
    const key = hexKey();
    const both = createKeyRing({ masterKey: key, passphrase: 'words', previousKeys: [] });
    const hexOnly = createKeyRing({ masterKey: key, previousKeys: [] });
    const words = createKeyRing({ passphrase: 'words', previousKeys: [] });
    const wordsAsHex = createKeyRing({
      masterKey: createHash('sha256').update('words').digest('hex'),
      previousKeys: [],
    });
    expect(both.currentKeyId).toBe(hexOnly.currentKeyId);
    expect(words.currentKeyId).toBe(wordsAsHex.currentKeyId);
    expect(words.currentKeyId).not.toBe(hexOnly.currentKeyId);
    const random = createKeyRing({ previousKeys: [] });
    expect(random.currentKeyId).not.toBe(createKeyRing({ previousKeys: [] }).currentKeyId);
    expect([both.ephemeral, words.ephemeral, random.ephemeral]).toEqual([false, false, true]);
  });

  it('refuses a key that is not 64 hex characters', () => {
    expect(() => createKeyRing({ masterKey: 'abcd', previousKeys: [] })).toThrow('64 hex');
    expect(() => createKeyRing({ previousKeys: ['zz'.repeat(32)] })).toThrow('64 hex');
  });
});

describe('seal and open', () => {
  it('opens under a previous key and seals under the current one', () => {
    const [old, fresh] = [hexKey(), hexKey()];
    const before = createKeyRing({ masterKey: old, previousKeys: [] });
    const after = createKeyRing({ masterKey: fresh, previousKeys: [old] });
    const sealed = before.seal(scope, 'row-1', Buffer.from('value'));
    expect(after.open(scope, 'row-1', sealed).toString()).toBe('value');
    expect(after.seal(scope, 'row-1', Buffer.from('value')).keyId).toBe(after.currentKeyId);
    expect(after.keyIds).toEqual([after.currentKeyId, before.currentKeyId]);
    expect(() => createKeyRing({ masterKey: fresh, previousKeys: [] }).open(scope, 'row-1', sealed)).toThrow(
      'not configured',
    );
  });

  it('opens nowhere else than where it was sealed, and not after a change', () => {
    const ring = createKeyRing({ masterKey: hexKey(), previousKeys: [] });
    const sealed = ring.seal(scope, 'row-1', Buffer.from('value'));
    const flipped = Buffer.from(sealed.ciphertext);
    flipped[0] = (flipped[0] ?? 0) ^ 1;
    const attempts = [
      () => ring.open(scope, 'row-2', sealed),
      () => ring.open({ ...scope, context: ['machine', 'other'] }, 'row-1', sealed),
      () => ring.open({ ...scope, salt: Buffer.alloc(48, 8) }, 'row-1', sealed),
      () => ring.open({ ...scope, purpose: 'svc/other/v1' }, 'row-1', sealed),
      () => ring.open(scope, 'row-1', { ...sealed, ciphertext: flipped }),
      () => ring.open(scope, 'row-1', { ...sealed, tag: sealed.tag.subarray(0, 12) }),
    ];
    for (const attempt of attempts) expect(attempt).toThrow('cannot be opened');
  });

  it('never repeats a nonce or a ciphertext, and seals the empty value', () => {
    const ring = createKeyRing({ masterKey: hexKey(), previousKeys: [] });
    const sealed = Array.from({ length: 1000 }, () => ring.seal(scope, 'row', Buffer.from('same')));
    expect(new Set(sealed.map((s) => s.nonce.toString('hex'))).size).toBe(1000);
    expect(new Set(sealed.map((s) => s.ciphertext.toString('hex'))).size).toBe(1000);
    expect(ring.open(scope, 'row', ring.seal(scope, 'row', Buffer.alloc(0)))).toHaveLength(0);
  });
});
