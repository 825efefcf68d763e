import type { PublicArea } from '../../domain/broker/tpm/public-area.js';
import { AppError } from '../../domain/errors.js';
import { parseCertificate, subjectText } from './certificate.js';
import { basicConstraints, extendedKeyUsage, keyUsage } from './certificate-extensions.js';
import type { EkMaterial, EkSource } from './ek.js';
import { parseEkMaterial } from './ek.js';
import { tpmName } from './tpm-name.js';
import type { TrustBundle } from './trust-bundle.js';
import { verifyEkChain } from './trust-bundle.js';

export interface Explanation {
  readonly accepted: boolean;
  readonly lines: readonly string[];
}

const reason = (error: unknown): string => {
  if (error instanceof AppError) return error.message;
  throw error;
};

/** Says for one file what the broker would make of it as EK material, and why it is refused. */
export const explainEk = async (
  bytes: Buffer,
  source: EkSource,
  bundle: TrustBundle | undefined,
  at: Date,
): Promise<Explanation> => {
  try {
    const ek = parseEkMaterial(bytes.toString('base64'), source, { now: at });
    const maker =
      bundle === undefined ? { ok: true, line: 'maker: not checked' } : await makerLine(ek, bundle, at);
    return { accepted: maker.ok, lines: [...materialLines(ek), maker.line] };
  } catch (error) {
    return { accepted: false, lines: [`refused: ${reason(error)}`, ...anatomy(bytes)] };
  }
};

const makerLine = async (ek: EkMaterial, bundle: TrustBundle, at: Date) => {
  try {
    const root = await verifyEkChain(ek, undefined, bundle, at);
    return { ok: true, line: `maker: chains to ${root.subject} (sha256 ${root.sha256})` };
  } catch (error) {
    return { ok: false, line: `refused: ${reason(error)}` };
  }
};

const keyText = ({ key }: PublicArea): string =>
  key.kind === 'rsa' ? `RSA ${key.bits}` : `ECC ${key.curve}`;

const materialLines = (ek: EkMaterial): string[] => [
  `key: ${keyText(ek.area)}`,
  `ek_fingerprint: ${ek.fingerprintSha384}`,
  `sha256 form: ${ek.fingerprintSha256}`,
  `sha384 of the key: ${ek.spkiSha384}`,
  `EK Name (standard template unless sent): ${tpmName(ek.area).toString('hex')}`,
  ...(ek.certificate === undefined ? [] : [`subject: ${subjectText(ek.certificate)}`]),
];

/** What can be told of a certificate that was refused, if it is one at all. */
const anatomy = (bytes: Buffer): string[] => {
  try {
    const certificate = parseCertificate(bytes);
    return [
      `subject: ${subjectText(certificate)}`,
      `valid: ${certificate.notBefore.toISOString()} to ${certificate.notAfter.toISOString()}`,
      `extended key usage: ${extendedKeyUsage(certificate)?.join(', ') ?? 'none'}`,
      `key usage: ${[...(keyUsage(certificate) ?? [])].join(', ') || 'none'}`,
      `CA: ${String(basicConstraints(certificate)?.ca ?? false)}`,
    ];
  } catch (error) {
    return [`as DER certificate: ${reason(error)}`];
  }
};
