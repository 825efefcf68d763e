import fc from 'fast-check';
import { expect, it } from '@jest/globals';
import { parseAttestationKey } from '../../../activities/crypto/ak.js';
import { parseCertificate } from '../../../activities/crypto/certificate.js';
import { parseEkMaterial } from '../../../activities/crypto/ek.js';
import { verifyNonceSignature } from '../../../activities/crypto/nonce-signature.js';
import { onlyPemBlock } from '../../../activities/crypto/pem.js';
import { verifyQuote } from '../../../activities/crypto/quote.js';
import { verifyEkChain } from '../../../activities/crypto/trust-bundle.js';
import { AppError } from '../../../domain/errors.js';
import { fromBase64, tpmVectors } from '../../support/tpm-vectors.js';

/** Random damage to everything that a stranger can send: nothing may be accepted, nothing may crash. */
const runs = 100_000;

type Damage = (bytes: Buffer) => Buffer;
const at = (bytes: Buffer, where: number) => where % Math.max(1, bytes.length);
const splice = (bytes: Buffer, from: number, to: number, ...middle: Buffer[]) =>
  Buffer.concat([bytes.subarray(0, from), ...middle, bytes.subarray(to)]);
const where = fc.nat(5000);
const damage: fc.Arbitrary<Damage> = fc.oneof(
  fc.tuple(where, fc.nat(7)).map(([i, bit]): Damage => (b) => {
    const copy = Buffer.from(b);
    if (copy.length > 0) copy[at(b, i)] = (copy[at(b, i)] ?? 0) ^ (1 << bit);
    return copy;
  }),
  fc.tuple(where, fc.uint8Array({ minLength: 1, maxLength: 8 })).map(
    ([i, more]): Damage =>
      (b) =>
        splice(b, at(b, i), at(b, i), Buffer.from(more)),
  ),
  fc.tuple(where, fc.integer({ min: 1, max: 64 })).map(
    ([i, count]): Damage =>
      (b) =>
        splice(b, at(b, i), Math.min(b.length, at(b, i) + count)),
  ),
  fc.tuple(where, where, fc.integer({ min: 1, max: 64 })).map(
    ([i, j, count]): Damage =>
      (b) =>
        splice(b, at(b, i), at(b, i), b.subarray(at(b, j), at(b, j) + count)),
  ),
  fc.tuple(where, fc.constantFrom(0, 0xff, 0x80, 0x7f, 1)).map(
    ([i, value]): Damage =>
      (b) =>
        splice(b, at(b, i), at(b, i) + 1, Buffer.from([value])),
  ),
  where.map(
    (i): Damage =>
      (b) =>
        b.subarray(0, at(b, i)),
  ),
);
const damages = fc.array(damage, { minLength: 1, maxLength: 3 });

interface Target {
  readonly name: string;
  readonly bytes: Buffer;
  /** Resolves to true when the damaged bytes were accepted. */
  readonly accepts: (damaged: Buffer) => Promise<boolean>;
}

const refusedCleanly = async (work: () => Promise<boolean>): Promise<boolean> => {
  try {
    return await work();
  } catch (error) {
    if (error instanceof AppError && error.kind === 'invalid') return false;
    throw error;
  }
};

const akNames = ['rsa/ak_rsassa_sha256', 'rsa/ak_rsapss_sha256', 'rsa/ak_ecdsa_p256'];
const quoteTargets = akNames.flatMap((name): Target[] => {
  const vector = tpmVectors.cases.find((item) => item.ak === name && item.expect === 'accept')!;
  const ak = parseAttestationKey(fromBase64(tpmVectors.aks[name]!.ak_public_tpm2b_b64));
  const [quote, signature] = [fromBase64(vector.pcr_quote_b64), fromBase64(vector.pcr_signature_b64)];
  const nonce = fromBase64(vector.nonce_b64);
  const nonceVector = tpmVectors.nonce_signatures.find((item) => item.ak === name)!;
  const attempt = (q: Buffer, s: Buffer) =>
    verifyQuote({ ak, quote: q, signature: s, nonce }).then(() => true);
  return [
    { name: `quote ${name}`, bytes: quote, accepts: (bytes) => attempt(bytes, signature) },
    { name: `signature ${name}`, bytes: signature, accepts: (bytes) => attempt(quote, bytes) },
    {
      name: `nonce signature ${name}`,
      bytes: fromBase64(nonceVector.nonce_signature_plain_b64),
      accepts: (bytes) => verifyNonceSignature(ak, fromBase64(nonceVector.nonce_b64), bytes),
    },
  ];
});

const pem = (text: string) => parseCertificate(onlyPemBlock(text, 'CERTIFICATE', 'test'));
const bundle = {
  roots: [pem(tpmVectors.ca.root_pem)],
  intermediates: [pem(tpmVectors.ca.issuer_pem)],
  problems: [],
};
const certificateTargets = (['rsa', 'ecc'] as const).map((kind): Target => {
  const bytes = fromBase64(tpmVectors.eks[kind].cert_der_b64);
  const whole = tpmVectors.eks[kind].sha384_der;
  return {
    name: `certificate ${kind}`,
    bytes,
    accepts: async (damaged) => {
      const ek = parseEkMaterial(damaged.toString('base64'), 'cert', { now: new Date('2027-01-01') });
      await verifyEkChain(ek, undefined, bundle, new Date('2027-01-01'));
      return ek.fingerprintSha384 !== whole;
    },
  };
});
const targets = [...quoteTargets, ...certificateTargets];

it(`${runs} damaged quotes, signatures and certificates: none accepted, none crashes`, async () => {
  const seed = Number(process.env['FUZZ_SEED'] ?? Date.now() % 2 ** 31);
  const times: number[] = [];
  const property = fc.asyncProperty(fc.constantFrom(...targets), damages, async (target, steps) => {
    const damaged = steps.reduce((bytes, step) => step(bytes), target.bytes);
    if (damaged.equals(target.bytes)) return;
    const start = performance.now();
    const accepted = await refusedCleanly(() => target.accepts(damaged));
    times.push(performance.now() - start);
    if (accepted) throw new Error(`${target.name} accepted: ${damaged.toString('base64')}`);
  });
  await fc.assert(property, { seed, numRuns: runs });
  times.sort((a, b) => a - b);
  const p99 = times[Math.floor(times.length * 0.99)] ?? 0;
  process.stdout.write(`mutations: seed ${seed}, ${times.length} judged, p99 ${p99.toFixed(2)} ms\n`);
  expect(times.length).toBeGreaterThan(runs * 0.9);
}, 300_000);
