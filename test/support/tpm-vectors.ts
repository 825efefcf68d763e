import { readFileSync } from 'node:fs';

/** Vectors made once with a software TPM; binary values are base64, verdicts are beside them. */
export interface QuoteCase {
  readonly name: string;
  readonly ak: string;
  readonly nonce_b64: string;
  readonly pcr_quote_b64: string;
  readonly pcr_signature_b64: string;
  readonly verify_with_spki_pem?: string;
  readonly required_pcrs: Record<string, number[]> | null;
  readonly pcr_values: 'boot1' | 'boot2';
  readonly expect: 'accept' | 'reject';
  readonly reason?: string;
  readonly parse?: {
    readonly qualifiedSigner_hex: string;
    readonly extraData_hex: string;
    readonly clock: string;
    readonly resetCount: number;
    readonly restartCount: number;
    readonly safe: boolean;
    readonly firmwareVersion_hex: string;
    readonly pcrSelections: { readonly bank: string; readonly pcrs: number[] }[];
    readonly pcrDigest_hex: string;
    readonly sig_alg: string;
    readonly sig_hash: string;
  };
}
export interface AkVector {
  readonly ak_public_tpm2b_b64: string;
  readonly spki_pem: string;
  readonly name_hex: string;
  readonly qualified_name_hex?: string;
  readonly accept_as_ak: boolean;
}
export interface EkVector {
  readonly cert_der_b64: string;
  readonly sha384_der: string;
  readonly sha256_der: string;
  readonly spki_der_b64: string;
  readonly sha384_spki: string;
  readonly ek_public_tpm2b_b64: string;
  readonly name_hex: string;
  readonly qualified_name_hex: string;
}
interface StatementVector {
  readonly attest_b64: string;
  readonly signature_b64: string;
  readonly extraData_hex: string;
}
export interface TpmVectors {
  readonly pcr_values: Record<'boot1' | 'boot2', Record<string, Record<string, string>>>;
  readonly eks: { readonly rsa: EkVector; readonly ecc: EkVector };
  readonly aks: Record<string, AkVector>;
  readonly cases: QuoteCase[];
  readonly nonce_signatures: {
    readonly ak: string;
    readonly hash: string;
    readonly nonce_b64: string;
    readonly nonce_signature_tpmt_b64: string;
    readonly nonce_signature_plain_b64: string;
  }[];
  readonly wrapping_key: {
    readonly signed_by: string;
    readonly public_tpm2b_b64: string;
    readonly spki_pem: string;
    readonly name_hex: string;
    readonly certify: StatementVector;
    readonly certify_creation: StatementVector;
  };
  readonly platform_cert_der_b64: string;
  readonly ca: { readonly root_pem: string; readonly issuer_pem: string };
}

const read = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../data/tpm/${name}.json`, import.meta.url), 'utf8'));

export const tpmVectors = read('vectors') as TpmVectors;
export const kdfKat = read('kdf-kat') as Record<string, string> & {
  readonly rsa_case: Record<string, string>;
};
export interface EnvelopeKat {
  readonly ak_name_hex: string;
  readonly aes_key_hex: string;
  readonly credential: Record<string, string>;
  readonly import: Record<string, string>;
  readonly credential_blob_tpm2b_b64: string;
  readonly import_public_tpm2b_b64: string;
  readonly import_duplicate_tpm2b_b64: string;
}
export const envelopeKats = read('envelope-kat') as { readonly rsa: EnvelopeKat; readonly ecc: EnvelopeKat };

export const fromBase64 = (text: string): Buffer => Buffer.from(text, 'base64');
