import Router from '@koa/router';
import type { Attestation, Attested } from '../../../activities/broker/attest.js';
import type { IssuedNonce } from '../../../domain/broker/nonce.js';
import { limitedSource } from '../../http/source.js';
import type { RequestState } from '../../http/state.js';
import { validate } from '../../http/validate.js';
import { presentAttested } from '../presenters/attest.js';
import { AttestRequest } from '../schemas/attest.js';

export interface AttestUseCases {
  /** `source` is as `limitedSource` has it. */
  readonly issueNonce: (source: string | undefined) => Promise<IssuedNonce>;
  readonly attest: (input: Attestation) => Promise<Attested>;
}

export const attestRoutes = ({ issueNonce, attest }: AttestUseCases): Router<RequestState> =>
  new Router<RequestState>()
    .get('/attest/challenge', async (ctx) => {
      const issued = await issueNonce(limitedSource(ctx.state));
      ctx.set('Cache-Control', 'no-store');
      ctx.body = {
        nonce_id: issued.nonceId,
        nonce: Buffer.from(issued.nonce).toString('base64'),
        expires_at: issued.expiresAt.toISOString().replace('Z', '+00:00'),
      };
    })
    .post('/attest', async (ctx) => {
      const attested = await attest(validate(AttestRequest, ctx.request.body));
      ctx.state.logFields = { machineId: attested.machine.machineId, action: attested.action };
      ctx.set('Cache-Control', 'no-store');
      ctx.body = presentAttested(attested);
    });
