import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../../domain/errors.js';
import type { Certificate } from './certificate.js';
import { parseCertificate, subjectText } from './certificate.js';
import { isSignedBy, verifyChain } from './chain.js';
import { isSelfIssued } from './chain-rules.js';
import type { EkMaterial } from './ek.js';
import { ekPurpose } from './ek-certificate.js';
import { hexDigest } from './hash.js';
import { pemBlocks } from './pem.js';

/** The TPM makers that an operator trusts: every PEM or DER certificate of a directory. */
export interface TrustBundle {
  /** Self-signed certificates; the others only help to find a path. */
  readonly roots: readonly Certificate[];
  readonly intermediates: readonly Certificate[];
  /** Files that could not be used, with the reason. */
  readonly problems: readonly string[];
}

const reason = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const certificatesIn = (bytes: Buffer, name: string): Certificate[] => {
  const isDer = bytes[0] === 0x30;
  const blocks = isDer ? [bytes] : pemBlocks(bytes.toString('latin1'), 'CERTIFICATE', name);
  return blocks.map(parseCertificate);
};

/** Reads the directory once; a file that is no certificate is reported, not fatal. */
export const loadTrustBundle = async (dir: string): Promise<TrustBundle> => {
  const roots: Certificate[] = [];
  const intermediates: Certificate[] = [];
  const problems: string[] = [];
  const entries = await readdir(dir, { withFileTypes: true });
  for (const entry of entries.filter((item) => item.isFile()).sort((a, b) => a.name.localeCompare(b.name))) {
    try {
      for (const certificate of certificatesIn(await readFile(join(dir, entry.name)), entry.name)) {
        const selfSigned = isSelfIssued(certificate) && (await isSignedBy(certificate, certificate));
        (selfSigned ? roots : intermediates).push(certificate);
      }
    } catch (error) {
      problems.push(`${entry.name}: ${reason(error)}`);
    }
  }
  return { roots, intermediates, problems };
};

export interface TrustedRoot {
  readonly subject: string;
  /** SHA-256 of the DER, lower-case hex. */
  readonly sha256: string;
}

const maxSentCertificates = 8;

/**
 * Checks that a trusted maker certified the EK; names the root that matched. `ekChain` is what the node sent as
 * `ek_chain`: intermediates in PEM, which add no trust. Addresses inside certificates are never fetched.
 */
export const verifyEkChain = async (
  ek: EkMaterial,
  ekChain: string | undefined,
  bundle: TrustBundle,
  at: Date,
): Promise<TrustedRoot> => {
  if (ek.certificate === undefined) {
    throw new AppError('invalid', 'an EK certificate of a trusted TPM maker is required', {
      code: 'ek_untrusted',
    });
  }
  const sent =
    ekChain === undefined ? [] : pemBlocks(ekChain, 'CERTIFICATE', 'ek_chain').map(parseCertificate);
  if (sent.length > maxSentCertificates) throw new AppError('invalid', 'ek_chain is too long');
  const intermediates = [...bundle.intermediates, ...sent];
  const path = await verifyChain({
    leaf: ek.certificate,
    intermediates,
    roots: bundle.roots,
    at,
    purpose: ekPurpose,
  });
  const root = path.at(-1) ?? ek.certificate;
  return { subject: subjectText(root), sha256: hexDigest('sha256', root.der) };
};
