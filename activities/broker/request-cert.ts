import type { KeyObject } from 'node:crypto';
import { findAk } from '../../db/broker/attestation-keys.js';
import type { MachineRecord } from '../../db/broker/machines.js';
import { AppError } from '../../domain/errors.js';
import { decodeBase64 } from '../crypto/base64.js';
import { readCsr } from '../crypto/csr.js';
import { wrapByOaep } from '../crypto/envelope.js';
import { constantTimeEqual } from '../crypto/hash.js';
import { verifyNonceSignature } from '../crypto/nonce-signature.js';
import { onlyPemBlock } from '../crypto/pem.js';
import { readSpki } from '../crypto/spki.js';
import { tpmKeyOf } from '../crypto/tpm-key.js';
import { verifyWrappingKey } from '../crypto/wrapping-key.js';
import { requireMachine } from './acts.js';
import { loadAk } from './ak-cache.js';
import type { EkReader } from './ek-reader.js';
import { requireEkTarget } from './ek-target.js';
import type { IssueDeps } from './issue-certificate.js';
import {
  isEnrollable,
  issueForMachine,
  newEnrollmentKey,
  privateKeyPem,
  refusedStatus,
} from './issue-certificate.js';

export interface CertificateRequest {
  /** Normalised, 64 or 96 hex. */
  readonly ekFingerprint: string;
  readonly ekCertPem: string | null;
  readonly ekSource: 'cert' | 'pub';
  readonly wrappingKeyPem: string | null;
  readonly csrPem: string | null;
  /** Base64 evidence that the AK certified the wrapping key. */
  readonly wrappingKeyPublic: string | null;
  readonly certifyAttest: string | null;
  readonly certifySignature: string | null;
  readonly nonceId: string | null;
  readonly nonceSignature: string | null;
}

export interface IssuedEnrollment {
  readonly machine: MachineRecord;
  readonly certificatePem: string;
  readonly caPem: string;
  /** The private key in the clear, or wrapped (base64); neither when the node sent a request of its own. */
  readonly keyPem: string | null;
  readonly wrappedKey: Buffer | null;
  readonly validDays: number;
}

export interface RequestCertDeps extends IssueDeps {
  readonly readEk: EkReader;
  readonly redeemNonce: (nonceId: string) => Promise<Buffer>;
  /** No key in the clear, and the request signed by the AK. */
  readonly highAssurance: boolean;
}

const forbidden = (why: string, code: string): AppError => new AppError('forbidden', why, { code });

/** Issues an enrollment certificate to a machine that is registered or attested. */
export const createRequestCert =
  (deps: RequestCertDeps) =>
  async (machineId: string, request: CertificateRequest): Promise<IssuedEnrollment> => {
    if (request.csrPem !== null && request.wrappingKeyPem !== null) {
      throw new AppError('invalid', 'send csr_pem or wrapping_key_pem, not both');
    }
    const machine = await requireMachine(deps.db, machineId);
    await requireSameEk(deps, machine, request);
    await requireProof(deps, machine, request);
    if (!isEnrollable(machine.status)) throw refusedStatus(machine.status);
    const delivery = await planDelivery(deps, machine, request);
    const issued = await issueForMachine(deps, machine, delivery.publicKey, 'request-cert');
    return {
      machine,
      certificatePem: issued.pem,
      caPem: deps.authority.pem,
      keyPem: delivery.keyPem,
      wrappedKey: delivery.wrappedKey,
      validDays: deps.certDays,
    };
  };

const requireSameEk = async (
  deps: RequestCertDeps,
  machine: MachineRecord,
  { ekFingerprint, ekCertPem, ekSource }: CertificateRequest,
): Promise<void> => {
  const mismatch = () => forbidden('the EK is not that of this machine', 'ek_mismatch');
  const { fingerprintSha256 } = await requireEkTarget(deps.db, machine);
  const known = ekFingerprint.length === 64 ? fingerprintSha256 : machine.ekFingerprint;
  const isSame = constantTimeEqual(Buffer.from(ekFingerprint), Buffer.from(known));
  if (ekCertPem === null) {
    if (!isSame) throw mismatch();
    return;
  }
  const { fingerprints } = await deps.readEk({ ekFingerprint, ekCertPem, ekSource });
  if (!fingerprints.includes(machine.ekFingerprint)) throw mismatch();
};

/** The fingerprint is public; under high assurance the AK signs the request, and a signature that is sent is judged. */
const requireProof = async (
  deps: RequestCertDeps,
  { machineId }: MachineRecord,
  { nonceId, nonceSignature }: CertificateRequest,
): Promise<void> => {
  const nonce = nonceId === null ? null : await deps.redeemNonce(nonceId);
  if (nonce === null || nonceSignature === null) {
    if (deps.highAssurance || nonceSignature !== null) {
      throw forbidden(
        'the attestation key must sign a nonce (nonce_id, nonce_signature)',
        'nonce_signature_required',
      );
    }
    return;
  }
  const ak = await findAk(deps.db, machineId);
  const signature = decodeBase64(nonceSignature, 'nonce_signature', 2048);
  if (ak === undefined || !(await verifyNonceSignature(loadAk(ak), nonce, signature))) {
    throw forbidden('nonce_signature is not by the attestation key of this machine', 'nonce_signature');
  }
};

interface KeyDelivery {
  readonly publicKey: KeyObject;
  readonly keyPem: string | null;
  readonly wrappedKey: Buffer | null;
}

const planDelivery = async (
  deps: RequestCertDeps,
  machine: MachineRecord,
  request: CertificateRequest,
): Promise<KeyDelivery> => {
  if (request.csrPem !== null)
    return { publicKey: await readCsr(request.csrPem), keyPem: null, wrappedKey: null };
  const wrapping = request.wrappingKeyPem === null ? null : await readWrappingKey(deps, machine, request);
  if (wrapping === null && deps.highAssurance) {
    throw forbidden(
      'no private key leaves in the clear: send csr_pem or a certified wrapping key',
      'key_in_clear',
    );
  }
  const { privateKey, publicKey } = await newEnrollmentKey();
  if (wrapping === null) return { publicKey, keyPem: privateKeyPem(privateKey), wrappedKey: null };
  const pkcs8 = privateKey.export({ type: 'pkcs8', format: 'der' });
  return { publicKey, keyPem: null, wrappedKey: wrapByOaep(wrapping, pkcs8) };
};

const readWrappingKey = async (
  deps: RequestCertDeps,
  { machineId }: MachineRecord,
  request: CertificateRequest,
): Promise<KeyObject> => {
  const key = readSpki(onlyPemBlock(request.wrappingKeyPem ?? '', 'PUBLIC KEY', 'wrapping_key_pem'));
  if (tpmKeyOf(key, 'wrapping key').kind !== 'rsa')
    throw new AppError('invalid', 'wrapping_key_pem is not an RSA key');
  const { wrappingKeyPublic, certifyAttest, certifySignature } = request;
  if (wrappingKeyPublic === null && certifyAttest === null && certifySignature === null) {
    if (deps.highAssurance)
      throw forbidden('the attestation key must certify the wrapping key', 'not_certified');
    return key;
  }
  const ak = await findAk(deps.db, machineId);
  if (ak === undefined) throw new AppError('invalid', 'without an attestation key nothing is certified');
  await verifyWrappingKey(loadAk(ak), key, {
    wrappingKeyPublic: decodeBase64(wrappingKeyPublic ?? '', 'wrapping_key_public', 2048),
    certifyAttest: decodeBase64(certifyAttest ?? '', 'certify_attest', 2048),
    certifySignature: decodeBase64(certifySignature ?? '', 'certify_signature', 2048),
  });
  return key;
};
