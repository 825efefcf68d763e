import 'reflect-metadata';
import { generateKeyPair, KeyObject, randomBytes, randomInt, webcrypto } from 'node:crypto';
import { promisify } from 'node:util';
import * as x509 from '@peculiar/x509';

/** A certificate and its key, both base64 of PEM as in a machine config. */
export interface CertificateAndKey {
  readonly crt: string;
  readonly key: string;
}

/** Everything secret in the machine configs of one cluster. */
export interface ClusterSecrets {
  readonly clusterId: string;
  readonly clusterSecret: string;
  /** `xxxxxx.xxxxxxxxxxxxxxxx`: lets a machine join. */
  readonly machineToken: string;
  readonly bootstrapToken: string;
  readonly secretboxKey: string;
  readonly machineCa: CertificateAndKey;
  readonly clusterCa: CertificateAndKey;
  readonly aggregatorCa: CertificateAndKey;
  readonly etcdCa: CertificateAndKey;
  /** base64 of PEM: signs service account tokens. */
  readonly serviceAccountKey: string;
}

const VALID_YEARS = 10;
const TOKEN_ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const randomKey = (): string => randomBytes(32).toString('base64');

const letters = (count: number): string =>
  Array.from({ length: count }, () => TOKEN_ALPHABET.charAt(randomInt(TOKEN_ALPHABET.length))).join('');

const joinToken = (): string => `${letters(6)}.${letters(16)}`;

type Algorithms = typeof ed25519 | typeof ecdsa;

/** The OS API uses Ed25519, the cluster's own CAs ECDSA P-256. */
const ed25519 = { name: 'Ed25519' } as const;
const ecdsa = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

/** PEM as the node OS reads it: SEC 1 for ECDSA, PKCS #8 under a label of its own for Ed25519. */
const keyPem = (key: KeyObject): string => {
  if (key.asymmetricKeyType === 'ec') return key.export({ type: 'sec1', format: 'pem' }).toString();
  const pkcs8 = key.export({ type: 'pkcs8', format: 'pem' }).toString();
  return pkcs8.replaceAll(' PRIVATE KEY-----', ' ED25519 PRIVATE KEY-----');
};

const authority = async (subject: string, algorithm: Algorithms): Promise<CertificateAndKey> => {
  const keys = (await webcrypto.subtle.generateKey(algorithm, true, [
    'sign',
    'verify',
  ])) as webcrypto.CryptoKeyPair;
  const notBefore = new Date();
  const notAfter = new Date(notBefore);
  notAfter.setUTCFullYear(notAfter.getUTCFullYear() + VALID_YEARS);
  const { KeyUsageFlags, BasicConstraintsExtension, KeyUsagesExtension } = x509;
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: `00${randomBytes(16).toString('hex')}`,
    name: subject,
    notBefore,
    notAfter,
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      new BasicConstraintsExtension(true, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.digitalSignature, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return {
    crt: base64(`${certificate.toString('pem')}\n`),
    key: base64(keyPem(KeyObject.from(keys.privateKey))),
  };
};

/** What a worker gets: it verifies by the certificate and must never hold the key. */
export const withoutKey = ({ crt }: CertificateAndKey): CertificateAndKey => ({ crt, key: '' });

/** Secrets of a new cluster. */
export const generateClusterSecrets = async (): Promise<ClusterSecrets> => {
  const serviceAccount = await promisify(generateKeyPair)('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  });
  return {
    clusterId: randomKey(),
    clusterSecret: randomKey(),
    machineToken: joinToken(),
    bootstrapToken: joinToken(),
    secretboxKey: randomKey(),
    machineCa: await authority('O=talos', ed25519),
    clusterCa: await authority('O=kubernetes', ecdsa),
    aggregatorCa: await authority('CN=front-proxy', ecdsa),
    etcdCa: await authority('O=etcd', ecdsa),
    serviceAccountKey: base64(serviceAccount.privateKey),
  };
};
