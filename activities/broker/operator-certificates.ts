import type { KeyObject } from 'node:crypto';
import { insertCertificate } from '../../db/broker/certificates.js';
import type { Actor } from '../../domain/broker/actor.js';
import { AppError } from '../../domain/errors.js';
import type { Issued } from '../crypto/authority.js';
import { issueOperatorCertificate } from '../crypto/authority.js';
import { logAct } from './act-log.js';
import type { IssueDeps } from './issue-certificate.js';

/** Names that the audit log uses for others than operators. */
const reserved = new Set(['system', 'node']);
const usable = /^[\p{L}\p{N}][\p{L}\p{N} ._@+-]{0,62}[\p{L}\p{N}]$|^[\p{L}\p{N}]$/u;

export type OperatorCertificateDeps = Omit<IssueDeps, 'certDays'> & { readonly operatorCertDays: number };
type Issuer = Pick<Actor, 'operatorCn' | 'context'>;

/** Issues a client certificate that makes its holder the operator `commonName`; the only path to OU=operator. */
export const createIssueOperatorCertificate =
  ({ db, authority, clock, operatorCertDays }: OperatorCertificateDeps) =>
  async (actor: Issuer, commonName: string, publicKey: KeyObject): Promise<Issued> => {
    if (!usable.test(commonName) || reserved.has(commonName.toLowerCase())) {
      throw new AppError(
        'invalid',
        'this name cannot be an operator: letters, digits and . _ @ + - up to 64',
      );
    }
    return db.transaction(async (trx) => {
      const now = clock.now();
      const issued = await issueOperatorCertificate(authority, commonName, publicKey, operatorCertDays, now);
      const { serial, notAfter } = issued;
      await insertCertificate(trx, {
        serial,
        machineId: null,
        commonName,
        notAfter,
        issuedBy: actor.operatorCn,
      });
      await logAct(trx, actor, 'operator_cert', `cn=${commonName} serial=${serial}`);
      return issued;
    });
  };
