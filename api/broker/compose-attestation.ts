import type Router from '@koa/router';
import { createActs } from '../../activities/broker/acts.js';
import { createAttestationKeyOf } from '../../activities/broker/ak-cache.js';
import { createAkActivation } from '../../activities/broker/ak-activate.js';
import { createEnroll } from '../../activities/broker/enroll.js';
import { createImportMachine } from '../../activities/broker/import-machine.js';
import type { IssueDeps } from '../../activities/broker/issue-certificate.js';
import { createOfflineBundle } from '../../activities/broker/offline-bundle.js';
import { createIssueOperatorCertificate } from '../../activities/broker/operator-certificates.js';
import { createPcrPolicies } from '../../activities/broker/pcr-policies.js';
import { createReportWipe } from '../../activities/broker/report-wipe.js';
import { createRequestCert } from '../../activities/broker/request-cert.js';
import { createRevocationList } from '../../activities/broker/revocation-list.js';
import { readCsr } from '../../activities/crypto/csr.js';
import { toPem } from '../../activities/crypto/pem.js';
import type { RequestState } from '../http/state.js';
import type { BrokerParts } from './parts.js';
import { akActivateRoutes, pcrPolicyRoutes, wipeReportRoutes } from './routes/attestation.js';
import { pkiNodeRoutes, pkiOperatorRoutes } from './routes/pki.js';

const issuing = ({ config, db, authority, clock }: BrokerParts): IssueDeps => ({
  db,
  authority,
  clock,
  certDays: config.SVC_ENROLLMENT_CERT_DAYS,
});

/** Proof by TPM and the enrollment PKI: what nodes call. */
export const attestationNodeRouters = (parts: BrokerParts): readonly Router<RequestState>[] => {
  const { config, db, authority, clock, nonces, readEk } = parts;
  const redeemNonce = (nonceId: string) => nonces.redeem(nonceId);
  return [
    akActivateRoutes(createAkActivation(db)),
    wipeReportRoutes(
      createReportWipe({
        ...{ redeemNonce, attestationKeyOf: createAttestationKeyOf(db) },
        completeWipe: createActs(db, parts.tokens).completeWipe,
      }),
    ),
    pkiNodeRoutes({
      enroll: createEnroll({
        ...{ db, redeemNonce, checkCertificate: parts.checkOwnCertificate },
        requireNonce: config.SVC_REQUIRE_NONCE,
      }),
      requestCert: createRequestCert({
        ...issuing(parts),
        ...{ readEk, redeemNonce, highAssurance: config.SVC_HIGH_ASSURANCE },
      }),
      revocationList: createRevocationList(db, authority, clock),
      toPem,
    }),
  ];
};

/** Proof by TPM and the enrollment PKI: what operators call. */
export const attestationOperatorRouters = (parts: BrokerParts): readonly Router<RequestState>[] => {
  const { config, db, authority, operator, readEk, tokens } = parts;
  const issueOperator = createIssueOperatorCertificate({
    ...issuing(parts),
    operatorCertDays: config.SVC_OPERATOR_CERT_DAYS,
  });
  return [
    pcrPolicyRoutes(createPcrPolicies(db), operator),
    pkiOperatorRoutes(
      {
        issueOperator: async (actor, commonName, csrPem) =>
          issueOperator(actor, commonName, await readCsr(csrPem)),
        caPem: authority.pem,
        importMachine: createImportMachine({
          db,
          readEk,
          tokens,
          dualControlRoles: config.SVC_DUAL_CONTROL_ROLES,
        }),
        offlineBundle: createOfflineBundle({
          ...issuing(parts),
          ...{ tokens, renderConfig: parts.renderConfig, highAssurance: config.SVC_HIGH_ASSURANCE },
        }),
      },
      operator,
    ),
  ];
};
