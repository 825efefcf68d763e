import { createPublicKey } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { AttestationKey } from '../../../activities/crypto/ak.js';
import { akPem, parseAttestationKey } from '../../../activities/crypto/ak.js';
import { loadStoredEk } from '../../../activities/crypto/ek.js';
import { verifyNonceSignature } from '../../../activities/crypto/nonce-signature.js';
import { judgePcrs } from '../../../activities/crypto/pcr-policy.js';
import { verifyQuote } from '../../../activities/crypto/quote.js';
import { publicKeyOf } from '../../../activities/crypto/tpm-key.js';
import { qualifiedNameUnderEk, tpmName } from '../../../activities/crypto/tpm-name.js';
import { verifyWrappingKey } from '../../../activities/crypto/wrapping-key.js';
import type { PcrPolicy, PcrValues } from '../../../domain/broker/pcr-policy.js';
import type { SigningScheme, TpmHash } from '../../../domain/broker/tpm/algorithms.js';
import { parseAttest } from '../../../domain/broker/tpm/attest.js';
import { parsePublicArea } from '../../../domain/broker/tpm/public-area.js';
import type { QuoteCase } from '../../support/tpm-vectors.js';
import { fromBase64, tpmVectors } from '../../support/tpm-vectors.js';

const akOf = (name: string) => parseAttestationKey(fromBase64(tpmVectors.aks[name]!.ak_public_tpm2b_b64));

/** The AK of a case; some cases name another key to verify with. */
const caseAk = (vector: QuoteCase): AttestationKey => {
  const named = Object.keys(tpmVectors.aks).find(
    (name) => tpmVectors.aks[name]!.spki_pem === vector.verify_with_spki_pem,
  );
  return named === undefined || named === vector.ak ? akOf(vector.ak) : signerOf(named);
};

/** Another key of the same TPM as if it were the AK, so that the signature is what decides. */
const signerOf = (name: string): AttestationKey => {
  const area = parsePublicArea(fromBase64(tpmVectors.aks[name]!.ak_public_tpm2b_b64));
  const scheme = { alg: area.scheme?.alg as SigningScheme, hash: area.scheme?.hash ?? 'sha256' };
  return { area, scheme, name: tpmName(area), publicKey: publicKeyOf(area.key) };
};

const policyOf = (vector: QuoteCase): PcrPolicy[] =>
  Object.entries(vector.required_pcrs ?? {}).map(([bank, pcrs]) => ({
    bank: bank as TpmHash,
    mode: 'enforce',
    pcrs: Object.fromEntries(
      pcrs.map((pcr) => [String(pcr), [tpmVectors.pcr_values[vector.pcr_values][bank]![String(pcr)]!]]),
    ),
  }));

const judge = async (vector: QuoteCase): Promise<void> => {
  const ak = caseAk(vector);
  const ek = loadStoredEk(tpmVectors.eks[vector.ak.startsWith('rsa') ? 'rsa' : 'ecc'].cert_der_b64, 'cert');
  const quote = await verifyQuote({
    ak,
    quote: fromBase64(vector.pcr_quote_b64),
    signature: fromBase64(vector.pcr_signature_b64),
    nonce: fromBase64(vector.nonce_b64),
    signers: [qualifiedNameUnderEk(ak.area, ek.area)],
  });
  const values = tpmVectors.pcr_values[vector.pcr_values] as PcrValues;
  for (const policy of policyOf(vector)) {
    const verdict = judgePcrs(quote, ak.scheme.hash, policy, values);
    if (!verdict.kept) throw new Error(verdict.why);
  }
};

const reasons: Record<string, RegExp> = {
  nonce: /nonce/,
  signature: /signature/,
  'bad magic': /magic|size field/,
  'short read': /too early/,
  trailing: /trailing/,
  neither: /size field/,
  type: /statement/,
  'pcr selection': /does not cover/,
  'pcr digest': /do not hash/,
  'key attributes / qualifiedSigner': /restricted/,
};

describe('quote vectors', () => {
  it('are all there', () => expect(tpmVectors.cases).toHaveLength(61));

  it.each(tpmVectors.cases.filter(({ expect: verdict }) => verdict === 'accept'))('$name', async (vector) => {
    await judge(vector);
    const parsed = parseAttest(fromBase64(vector.pcr_quote_b64));
    if (parsed.kind !== 'quote') throw new Error('not a quote');
    const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
    expect({
      signer: hex(parsed.qualifiedSigner),
      extra: hex(parsed.extraData),
      clock: String(parsed.clockInfo.clock),
      resets: parsed.clockInfo.resetCount,
      restarts: parsed.clockInfo.restartCount,
      safe: parsed.clockInfo.safe,
      firmware: parsed.firmwareVersion.toString(16).padStart(16, '0'),
      selections: parsed.selections,
      digest: hex(parsed.pcrDigest),
    }).toEqual({
      signer: vector.parse!.qualifiedSigner_hex,
      extra: vector.parse!.extraData_hex,
      clock: vector.parse!.clock,
      resets: vector.parse!.resetCount,
      restarts: vector.parse!.restartCount,
      safe: vector.parse!.safe,
      firmware: vector.parse!.firmwareVersion_hex,
      selections: vector.parse!.pcrSelections,
      digest: vector.parse!.pcrDigest_hex,
    });
  });

  it.each(tpmVectors.cases.filter(({ expect: verdict }) => verdict === 'reject'))(
    'refuses $name: $reason',
    async (vector) => {
      const expected = reasons[vector.reason ?? ''];
      expect(expected).toBeDefined();
      await expect(judge(vector)).rejects.toThrow(expected);
    },
  );
});

describe('attestation keys', () => {
  it.each(Object.entries(tpmVectors.aks).filter(([, ak]) => ak.accept_as_ak))('%s', (name, vector) => {
    const ak = akOf(name);
    expect(ak.name.toString('hex')).toBe(vector.name_hex);
    expect(akPem(ak).trim()).toBe(vector.spki_pem.trim());
    const ek = loadStoredEk(tpmVectors.eks[name.startsWith('rsa') ? 'rsa' : 'ecc'].cert_der_b64, 'cert');
    expect(qualifiedNameUnderEk(ak.area, ek.area).toString('hex')).toBe(vector.qualified_name_hex);
  });

  it('a quote by an unrestricted key has a valid signature and the wrong signer', async () => {
    const vector = tpmVectors.cases.find(({ ak }) => ak === 'rsa/neg_unrestricted_signer')!;
    const input = {
      ak: signerOf(vector.ak),
      quote: fromBase64(vector.pcr_quote_b64),
      signature: fromBase64(vector.pcr_signature_b64),
      nonce: fromBase64(vector.nonce_b64),
    };
    await expect(verifyQuote(input)).resolves.toMatchObject({ kind: 'quote' });
    const ek = loadStoredEk(tpmVectors.eks.rsa.cert_der_b64, 'cert');
    const signers = [qualifiedNameUnderEk(input.ak.area, ek.area)];
    await expect(verifyQuote({ ...input, signers })).rejects.toMatchObject({ code: 'quote_signer' });
  });

  it('an unrestricted signing key is refused: it would sign forged quotes', () => {
    expect(() => akOf('rsa/neg_unrestricted_signer')).toThrow('restricted signing key');
  });

  it.each([
    ['fixedTPM', 0x2],
    ['fixedParent', 0x10],
    ['sensitiveDataOrigin', 0x20],
    ['restricted', 0x10000],
    ['decrypt', 0x20000],
    ['sign', 0x40000],
  ])('a flipped %s is refused', (_name, bit) => {
    const bytes = fromBase64(tpmVectors.aks['rsa/ak_ecdsa_p256']!.ak_public_tpm2b_b64);
    bytes.writeUInt32BE((bytes.readUInt32BE(6) ^ bit) >>> 0, 6);
    expect(parsePublicArea(bytes).attributes & bit).toBe((0x50072 ^ bit) & bit);
    expect(() => parseAttestationKey(bytes)).toThrow(/attestation key is not acceptable/);
  });

  it('the EK itself and a wrapping key are refused', () => {
    expect(() => parseAttestationKey(fromBase64(tpmVectors.eks.rsa.ek_public_tpm2b_b64))).toThrow(
      'restricted',
    );
    expect(() => parseAttestationKey(fromBase64(tpmVectors.wrapping_key.public_tpm2b_b64))).toThrow(
      'restricted',
    );
  });
});

describe('nonce signatures', () => {
  it.each(tpmVectors.nonce_signatures)('$ak, both encodings', async (vector) => {
    const ak = akOf(vector.ak);
    const nonce = fromBase64(vector.nonce_b64);
    for (const encoded of [vector.nonce_signature_tpmt_b64, vector.nonce_signature_plain_b64]) {
      const signature = fromBase64(encoded);
      await expect(verifyNonceSignature(ak, nonce, signature)).resolves.toBe(true);
      await expect(
        verifyNonceSignature(
          ak,
          nonce.map((byte) => byte ^ 1),
          signature,
        ),
      ).resolves.toBe(false);
      await expect(
        verifyNonceSignature(ak, nonce, Buffer.concat([signature, Buffer.alloc(1)])),
      ).resolves.toBe(false);
      await expect(verifyNonceSignature(ak, nonce, signature.subarray(1))).resolves.toBe(false);
    }
    const others = tpmVectors.nonce_signatures.filter(({ ak: name }) => name !== vector.ak);
    for (const other of others) {
      const signature = fromBase64(vector.nonce_signature_tpmt_b64);
      await expect(verifyNonceSignature(akOf(other.ak), nonce, signature)).resolves.toBe(false);
    }
  });
});

describe('certified wrapping keys', () => {
  const { wrapping_key: vector } = tpmVectors;
  const ak = akOf(vector.signed_by);
  const claimed = createPublicKey(vector.spki_pem);
  const evidence = (statement: { attest_b64: string; signature_b64: string }) => ({
    wrappingKeyPublic: fromBase64(vector.public_tpm2b_b64),
    certifyAttest: fromBase64(statement.attest_b64),
    certifySignature: fromBase64(statement.signature_b64),
  });

  it.each([vector.certify, vector.certify_creation])('is accepted by either statement', async (statement) => {
    await expect(verifyWrappingKey(ak, claimed, evidence(statement))).resolves.toBeUndefined();
  });

  it('refuses another key, another AK and a quote in place of the statement', async () => {
    const good = evidence(vector.certify);
    const otherKey = createPublicKey(tpmVectors.aks['rsa/ak_rsassa_sha256']!.spki_pem);
    await expect(verifyWrappingKey(ak, otherKey, good)).rejects.toThrow('another key');
    await expect(verifyWrappingKey(akOf('rsa/ak_rsassa_sha256'), claimed, good)).rejects.toThrow('signature');
    const quote = tpmVectors.cases.find(({ ak: name }) => name === vector.signed_by)!;
    const withQuote = {
      ...good,
      certifyAttest: fromBase64(quote.pcr_quote_b64),
      certifySignature: fromBase64(quote.pcr_signature_b64),
    };
    await expect(verifyWrappingKey(ak, claimed, withQuote)).rejects.toThrow('quote');
    const akAsKey = {
      ...good,
      wrappingKeyPublic: fromBase64(tpmVectors.aks[vector.signed_by]!.ak_public_tpm2b_b64),
    };
    await expect(verifyWrappingKey(ak, claimed, akAsKey)).rejects.toThrow('RSA');
  });
});
