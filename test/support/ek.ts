import { createHash, generateKeyPairSync } from 'node:crypto';
import { promisify } from 'node:util';
import { generateKeyPair } from 'node:crypto';

/** What a node presents in register, self-register and attest. */
export interface NodeIdentity {
  readonly ek_fingerprint: string;
  readonly ek_cert_pem: string;
  readonly ek_source: 'pub';
}

const identityOf = (spki: Buffer): NodeIdentity => ({
  ek_fingerprint: createHash('sha384').update(spki).digest('hex'),
  ek_cert_pem: spki.toString('base64'),
  ek_source: 'pub',
});

/** A software key as EK (`ek_source=pub`): cheap (P-384), for tests that are not about TPMs. */
export const softwareEk = (): NodeIdentity => {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-384' });
  return identityOf(publicKey.export({ type: 'spki', format: 'der' }));
};

/** The same with RSA-2048 and its private key, to open `ek-aes256gcm-v1` envelopes. */
export const softwareRsaEk = async () => {
  const { publicKey, privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: 2048 });
  return { identity: identityOf(publicKey.export({ type: 'spki', format: 'der' })), privateKey };
};
