import { randomUUID } from 'node:crypto';
import type { EkKind, SoftTpm } from './swtpm.js';
import { ekHandles } from './swtpm.js';

/** What a node's agent does with its TPM, by tpm2-tools: the other side of every proof that the broker checks. */
export interface TpmNode {
  readonly akPublic: Buffer;
  /** TPM2_ActivateCredential: the secret of a credential made for this EK and this AK. */
  activate(credentialBlob: Uint8Array, encryptedSecret: Uint8Array): Promise<Buffer>;
  /** TPM2B_ATTEST and TPMT_SIGNATURE over the given PCRs, e.g. `sha256:0,7,11`. */
  quote(nonce: Uint8Array, pcrs: string): Promise<{ quote: Buffer; signature: Buffer }>;
  /** TPMT_SIGNATURE by the restricted AK over bytes that do not look like a TPM structure. */
  sign(nonce: Uint8Array): Promise<Buffer>;
  /** TPM2_Import, Load and Unseal; `pcrs` satisfies a PCR policy. */
  unsealImported(object: ImportBlobs, pcrs?: string): Promise<Buffer>;
}
export interface ImportBlobs {
  readonly importPublic: Uint8Array;
  readonly importDuplicate: Uint8Array;
  readonly importSeed: Uint8Array;
}

export const akTypes = {
  rsassa: { ek: 'rsa', template: 'rsa2048:rsassa-sha256:null', nameAlg: 'sha256', hash: 'sha256' },
  rsapss: { ek: 'rsa', template: 'rsa2048:rsapss-sha256:null', nameAlg: 'sha256', hash: 'sha256' },
  'ecdsa-p256': { ek: 'rsa', template: 'ecc256:ecdsa-sha256:null', nameAlg: 'sha256', hash: 'sha256' },
  'ecdsa-p384': { ek: 'ecc', template: 'ecc384:ecdsa-sha384:null', nameAlg: 'sha384', hash: 'sha384' },
  'rsassa-sha384': { ek: 'ecc', template: 'rsa2048:rsassa-sha384:null', nameAlg: 'sha384', hash: 'sha384' },
} as const;
export type AkType = keyof typeof akTypes;

const akAttributes = 'fixedtpm|fixedparent|sensitivedataorigin|userwithauth|restricted|sign';

const sized = (bytes: Uint8Array): Buffer => {
  const size = Buffer.alloc(2);
  size.writeUInt16BE(bytes.length);
  return Buffer.concat([size, bytes]);
};

/** A low-range EK wants a fresh policy session for every use; the high-range one has empty user auth. */
const withEkAuth = async <T>(
  tpm: SoftTpm,
  ek: EkKind,
  use: (auth: readonly string[]) => Promise<T>,
): Promise<T> => {
  if (ek === 'ecc') return use([]);
  const session = `session-${randomUUID()}`;
  await tpm.tool('startauthsession', '--policy-session', '-S', session);
  try {
    await tpm.tool('policysecret', '-S', session, '-c', 'e');
    return await use([`session:${session}`]);
  } finally {
    await tpm.tool('flushcontext', session);
  }
};

const authFlag = (flag: string, auth: readonly string[]): string[] => auth.flatMap((value) => [flag, value]);

/** Creates an attestation key under the EK that its type wants. */
export const createTpmNode = async (tpm: SoftTpm, type: AkType): Promise<TpmNode> => {
  const { ek, template, nameAlg, hash } = akTypes[type];
  const handle = ekHandles[ek];
  const [pub, priv, ctx] = [`${type}.pub`, `${type}.priv`, `${type}.ctx`];
  await withEkAuth(tpm, ek, (auth) =>
    tpm.tool(
      'create',
      ...['-C', handle, ...authFlag('-P', auth), '-G', template, '-g', nameAlg, '-a', akAttributes],
      ...['-u', pub, '-r', priv],
    ),
  );
  const load = () =>
    withEkAuth(tpm, ek, (auth) =>
      tpm.tool('load', '-C', handle, ...authFlag('-P', auth), '-u', pub, '-r', priv, '-c', ctx),
    );

  return {
    akPublic: await tpm.read(pub),
    activate: async (credentialBlob, encryptedSecret) => {
      await load();
      const magic = Buffer.from('badcc0de00000001', 'hex');
      await tpm.write('credential.in', Buffer.concat([magic, credentialBlob, encryptedSecret]));
      await withEkAuth(tpm, ek, (auth) =>
        tpm.tool(
          'activatecredential',
          ...['-c', ctx, '-C', handle, ...authFlag('-P', auth)],
          ...['-i', 'credential.in', '-o', 'credential.out'],
        ),
      );
      return tpm.read('credential.out');
    },
    quote: async (nonce, pcrs) => {
      await load();
      const qualification = Buffer.from(nonce).toString('hex');
      const scheme = type === 'rsapss' ? ['--scheme', 'rsapss'] : [];
      await tpm.tool(
        'quote',
        ...['-c', ctx, '-l', pcrs, '-q', qualification, '-g', hash, ...scheme],
        ...['-m', 'quote.out', '-s', 'quote.sig'],
      );
      return { quote: sized(await tpm.read('quote.out')), signature: await tpm.read('quote.sig') };
    },
    sign: async (nonce) => {
      await load();
      await tpm.write('nonce.in', nonce);
      await tpm.tool('hash', '-C', 'e', '-g', hash, '-t', 'ticket', '-o', 'digest', 'nonce.in');
      const scheme = type === 'rsapss' ? ['-s', 'rsapss'] : [];
      await tpm.tool(
        'sign',
        '-c',
        ctx,
        '-g',
        hash,
        ...scheme,
        '-d',
        '-t',
        'ticket',
        '-o',
        'nonce.sig',
        'digest',
      );
      return tpm.read('nonce.sig');
    },
    unsealImported: async (object, pcrs) => {
      await tpm.write('imp.pub', object.importPublic);
      await tpm.write('imp.dup', object.importDuplicate);
      await tpm.write('imp.seed', object.importSeed);
      await withEkAuth(tpm, ek, (auth) =>
        tpm.tool(
          'import',
          ...['-C', handle, ...authFlag('-P', auth), '-u', 'imp.pub', '-i', 'imp.dup'],
          ...['-s', 'imp.seed', '-r', 'imp.priv'],
        ),
      );
      await withEkAuth(tpm, ek, (auth) =>
        tpm.tool(
          'load',
          '-C',
          handle,
          ...authFlag('-P', auth),
          '-u',
          'imp.pub',
          '-r',
          'imp.priv',
          '-c',
          'imp.ctx',
        ),
      );
      const policy = pcrs === undefined ? [] : ['-p', `pcr:${pcrs}`];
      await tpm.tool('unseal', '-c', 'imp.ctx', ...policy, '-o', 'imp.out');
      return tpm.read('imp.out');
    },
  };
};
