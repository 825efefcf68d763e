/** What a certificate says, once its chain to the enrollment CA, its dates and its revocation have been checked. */
export interface VerifiedCertificate {
  readonly commonName: string;
  readonly organizationalUnits: readonly string[];
}

/** Judges a PEM certificate; undefined when it does not hold now. */
export type CertificateCheck = (pem: string) => Promise<VerifiedCertificate | undefined>;

const MAX_HEADER_CHARACTERS = 16_384;
const ONE_PEM = /^\s*-----BEGIN CERTIFICATE-----\s[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----\s*$/;

/** The one PEM certificate in an `X-Client-Cert` header (percent-encoded); undefined for anything else. */
export const certificateInHeader = (header: string): string | undefined => {
  if (header === '' || header.length > MAX_HEADER_CHARACTERS) return undefined;
  try {
    const pem = decodeURIComponent(header);
    return ONE_PEM.test(pem) ? pem : undefined;
  } catch {
    return undefined;
  }
};
