import type { Knex } from 'knex';
import { readHead } from '../../db/broker/audit.js';
import type { AuditHead } from '../../domain/broker/audit-checkpoint.js';
import { CHECKPOINT_ORIGIN, checkpointText } from '../../domain/broker/audit-checkpoint.js';
import type { KeyRing } from '../crypto/key-ring.js';
import { createNoteSigner } from '../crypto/signed-note.js';

export interface SignedCheckpoint extends AuditHead {
  readonly note: string;
  readonly verifierKey: string;
}

/** The head of the chain, signed by a key that follows from the service key: whoever keeps it can prove a cut later. */
export const createAuditCheckpoint = (db: Knex, keyRing: KeyRing): (() => Promise<SignedCheckpoint>) => {
  const signer = createNoteSigner(CHECKPOINT_ORIGIN, keyRing.derive({ purpose: 'svc/audit-checkpoint/v1' }));
  return async () => {
    const head = await readHead(db);
    const text = checkpointText(head, (hex) => Buffer.from(hex, 'hex').toString('base64'));
    return { ...head, note: signer.sign(text), verifierKey: signer.verifierKey };
  };
};
