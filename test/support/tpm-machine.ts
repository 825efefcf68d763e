import { createHash } from 'node:crypto';
import type { HttpClient, HttpAnswer } from './http.js';
import type { SoftTpm } from './swtpm.js';
import type { AkType, TpmNode } from './tpm-node.js';
import { akTypes, createTpmNode } from './tpm-node.js';

const b64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
const bytes = (text: string): Buffer => Buffer.from(text, 'base64');

export interface TpmIdentity {
  readonly ek_fingerprint: string;
  readonly ek_cert_pem: string;
}

/** A node whose identity and proofs come from a software TPM. */
export interface TpmMachine {
  readonly identity: TpmIdentity;
  readonly machineId: string;
  readonly tpm: TpmNode;
  readonly challenge: () => Promise<{ nonce_id: string; nonce: string }>;
  readonly activate: () => Promise<HttpAnswer>;
  /** Fields of attest: a nonce and the AK's signature over it. */
  readonly signedNonce: () => Promise<Record<string, string>>;
  /** Fields of attest: a nonce and a quote over it. */
  readonly quoted: (pcrs: string) => Promise<Record<string, string>>;
  readonly attest: (evidence?: Record<string, unknown>) => Promise<HttpAnswer>;
}

export const ekIdentity = async (tpm: SoftTpm, kind: 'rsa' | 'ecc'): Promise<TpmIdentity> => {
  const der = await tpm.ekCertificate(kind);
  return { ek_fingerprint: createHash('sha384').update(der).digest('hex'), ek_cert_pem: b64(der) };
};

/** Self-registers the EK that the AK type lives under, and creates that AK in the TPM. */
export const tpmMachine = async (node: HttpClient, tpm: SoftTpm, type: AkType): Promise<TpmMachine> => {
  const identity = await ekIdentity(tpm, akTypes[type].ek);
  const registered = await node.post('/api/v1/self-register', identity);
  const machineId = registered.body.machine_id as string;
  const agent = await createTpmNode(tpm, type);
  const challenge = async () =>
    (await node.get('/api/v1/attest/challenge')).body as { nonce_id: string; nonce: string };
  const path = `/api/v1/machines/${machineId}/ak-activate`;
  return {
    identity,
    machineId,
    tpm: agent,
    challenge,
    activate: async () => {
      const begun = await node.post(path, {
        ek_fingerprint: identity.ek_fingerprint,
        ak_public: b64(agent.akPublic),
      });
      if (begun.status !== 200) return begun;
      const secret = await agent.activate(
        bytes(begun.body.credential_blob),
        bytes(begun.body.encrypted_secret),
      );
      return node.post(path, { activation_id: begun.body.activation_id, secret: b64(secret) });
    },
    signedNonce: async () => {
      const { nonce_id, nonce } = await challenge();
      return { nonce_id, nonce_signature: b64(await agent.sign(bytes(nonce))) };
    },
    quoted: async (pcrs) => {
      const { nonce_id, nonce } = await challenge();
      const { quote, signature } = await agent.quote(bytes(nonce), pcrs);
      return { nonce_id, pcr_quote: b64(quote), pcr_signature: b64(signature) };
    },
    attest: (evidence = {}) => node.post('/api/v1/attest', { ...identity, ...evidence }),
  };
};
