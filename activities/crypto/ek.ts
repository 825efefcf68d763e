import type { KeyObject } from 'node:crypto';
import type { PublicArea, TpmKey } from '../../domain/broker/tpm/public-area.js';
import { looksLikePublicArea, parsePublicArea } from '../../domain/broker/tpm/public-area.js';
import { ekTemplate, requireEndorsementArea, sameKey } from '../../domain/broker/tpm/key-rules.js';
import { AppError } from '../../domain/errors.js';
import type { Certificate } from './certificate.js';
import { parseCertificate } from './certificate.js';
import { decodeBase64 } from './base64.js';
import { requireEkProfile, requireValidNow } from './ek-certificate.js';
import { cutPadding, unwrapEkMaterial } from './ek-encoding.js';
import { constantTimeEqual, hexDigest } from './hash.js';
import { readSpki } from './spki.js';
import { publicKeyOf, spkiOf, tpmKeyOf } from './tpm-key.js';

export type EkSource = 'cert' | 'pub';

/** An endorsement key as presented, in canonical form. */
export interface EkMaterial {
  readonly source: EkSource;
  /** Canonical DER: the certificate, or the SubjectPublicKeyInfo for `pub`. */
  readonly der: Buffer;
  /** Lower-case hex over `der`; the SHA-384 one is the identity of the machine. */
  readonly fingerprintSha384: string;
  readonly fingerprintSha256: string;
  /** The same hashes over the bytes as sent, which a naive client computes. */
  readonly sentSha384: string;
  readonly sentSha256: string;
  /** SubjectPublicKeyInfo in one form, and its hash: the same key behind another certificate is found by it. */
  readonly spkiDer: Buffer;
  readonly spkiSha384: string;
  readonly publicKey: KeyObject;
  readonly key: TpmKey;
  /** The EK's public area: as sent (`pub` with TPM2B_PUBLIC), else rebuilt from the standard template. */
  readonly area: PublicArea;
  readonly isAreaSent: boolean;
  readonly certificate?: Certificate;
}

interface ParseOptions {
  /** Against which a certificate's dates are judged; absent: the present moment. */
  readonly now?: Date;
}

/**
 * Parses EK material as `ek_cert_pem` carries it: base64 of PEM or DER, of an NV dump with padding or TCG header, and for
 * `pub` of a SubjectPublicKeyInfo or a TPM2B_PUBLIC. Throws `invalid` with the reason.
 */
export const parseEkMaterial = (base64: string, source: EkSource, options: ParseOptions = {}): EkMaterial => {
  if (source === 'pub') return parsePublic(base64);
  const { sent, inner } = unwrapEkMaterial(base64, 'CERTIFICATE');
  const certificate = parseCertificate(cutPadding(inner));
  const key = tpmKeyOf(certificate.publicKey, 'EK');
  requireEkProfile(certificate, key);
  requireValidNow(certificate, options.now ?? new Date());
  return { ...material(source, certificate.der, sent, key, ekTemplate(key)), certificate };
};

const parsePublic = (base64: string): EkMaterial => {
  const { sent, inner } = unwrapEkMaterial(base64, 'PUBLIC KEY');
  if (looksLikePublicArea(inner)) {
    const area = parsePublicArea(inner);
    const key = tpmKeyOf(publicKeyOf(area.key), 'EK');
    return { ...material('pub', undefined, sent, key, area), isAreaSent: true };
  }
  const key = tpmKeyOf(readSpki(cutPadding(inner)), 'EK');
  return material('pub', undefined, sent, key, ekTemplate(key));
};

/** Every import of an EC key checks its point, most of what parsing costs: the key is imported once here. */
const material = (
  source: EkSource,
  certificate: Buffer | undefined,
  sent: Buffer,
  key: TpmKey,
  area: PublicArea,
): EkMaterial => {
  const publicKey = publicKeyOf(key);
  const spkiDer = spkiOf(publicKey);
  const der = certificate ?? spkiDer;
  return {
    source,
    der,
    fingerprintSha384: hexDigest('sha384', der),
    fingerprintSha256: hexDigest('sha256', der),
    sentSha384: hexDigest('sha384', sent),
    sentSha256: hexDigest('sha256', sent),
    spkiDer,
    spkiSha384: hexDigest('sha384', spkiDer),
    publicKey,
    key,
    area,
    isAreaSent: false,
  };
};

/** Whether a normalised fingerprint (64 or 96 hex) is that of the material, canonical or as sent. */
export const matchesFingerprint = (ek: EkMaterial, claimed: string): boolean => {
  const accepted =
    claimed.length === 64 ? [ek.fingerprintSha256, ek.sentSha256] : [ek.fingerprintSha384, ek.sentSha384];
  return accepted
    .map((fingerprint) => constantTimeEqual(Buffer.from(claimed), Buffer.from(fingerprint)))
    .includes(true);
};

/** The form in which the record keeps the material (`ek_cert_pem`): base64 of the canonical DER. */
export const storedEk = (ek: EkMaterial): string => ek.der.toString('base64');

/** What is needed to seal something to an EK. */
export interface EkTarget {
  readonly publicKey: KeyObject;
  readonly key: TpmKey;
  readonly area: PublicArea;
}

/** Loads what `storedEk` wrote; dates and profile were judged at registration. `area` is the stored public area, if any. */
export const loadStoredEk = (stored: string, source: EkSource, area?: Uint8Array): EkTarget => {
  const der = decodeBase64(stored, 'stored EK material');
  const key = tpmKeyOf(source === 'cert' ? parseCertificate(der).publicKey : readSpki(der), 'EK');
  const parsed = area === undefined ? ekTemplate(key) : parsePublicArea(area);
  if (!sameKey(parsed.key, key)) throw new AppError('invalid', 'stored EK public area is of another key');
  return { publicKey: publicKeyOf(key), key, area: parsed };
};

/** The EK public area that a client sends beside its certificate (`ek_public`); throws `invalid` when it does not fit. */
export const acceptEkArea = (bytes: Uint8Array, key: TpmKey): PublicArea => {
  const area = parsePublicArea(bytes);
  requireEndorsementArea(area, key);
  return area;
};
