import { AppError } from '../../domain/errors.js';
import type { JudgeEvidence } from './attest.js';

/** Judges evidence for machines without an attestation key: it cannot be judged, so it is refused when required. */
export const createJudgeEvidence =
  (requireQuote: boolean): JudgeEvidence =>
  (_machine, { nonceSignature, pcrQuote, pcrSignature }) => {
    if (requireQuote) {
      return Promise.reject(
        new AppError('invalid', 'a quote by an activated attestation key is required', {
          code: 'ak_required',
        }),
      );
    }
    const given = nonceSignature !== null || pcrQuote !== null || pcrSignature !== null;
    return Promise.resolve(
      given ? 'The evidence was not judged: this machine has no attestation key.' : null,
    );
  };
