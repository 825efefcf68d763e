import type Router from '@koa/router';
import { createAkActivation } from '../../activities/broker/ak-activate.js';
import { createPcrPolicies } from '../../activities/broker/pcr-policies.js';
import type { RequestState } from '../http/state.js';
import type { BrokerParts } from './parts.js';
import { akActivateRoutes, pcrPolicyRoutes } from './routes/attestation.js';

/** Proof by TPM: what nodes call. */
export const attestationNodeRouters = ({ db }: BrokerParts): readonly Router<RequestState>[] => [
  akActivateRoutes(createAkActivation(db)),
];

/** Proof by TPM: what operators call. */
export const attestationOperatorRouters = ({
  db,
  operator,
}: BrokerParts): readonly Router<RequestState>[] => [pcrPolicyRoutes(createPcrPolicies(db), operator)];
