import type { KeyObject } from 'node:crypto';
import type { AkScheme } from '../../domain/broker/tpm/key-rules.js';
import { requireAttestationKey } from '../../domain/broker/tpm/key-rules.js';
import type { PublicArea } from '../../domain/broker/tpm/public-area.js';
import { parsePublicArea } from '../../domain/broker/tpm/public-area.js';
import { tpmName } from './tpm-name.js';
import { publicKeyOf, tpmKeyOf } from './tpm-key.js';

/** An attestation key: its public area, checked, and what follows from it. */
export interface AttestationKey {
  readonly area: PublicArea;
  readonly scheme: AkScheme;
  readonly name: Buffer;
  readonly publicKey: KeyObject;
}

/** Parses TPM2B_PUBLIC or TPMT_PUBLIC of an attestation key; throws `invalid` naming the rule it breaks. */
export const parseAttestationKey = (bytes: Uint8Array): AttestationKey => {
  const area = parsePublicArea(bytes);
  const scheme = requireAttestationKey(area);
  const publicKey = publicKeyOf(area.key);
  tpmKeyOf(publicKey, 'attestation key');
  return { area, scheme, name: tpmName(area), publicKey };
};

/** SubjectPublicKeyInfo in PEM, as MachineDetail shows it. */
export const akPem = (ak: AttestationKey): string =>
  ak.publicKey.export({ type: 'spki', format: 'pem' }).toString();
