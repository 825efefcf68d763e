import { z } from 'zod';
import { AppError } from '../../domain/errors.js';
import type { Outbound } from './http.js';
import { expectSuccess, jsonOf } from './json-call.js';

const TIMEOUT_MS = 30_000;
const Answer = z.object({ initiative_id: z.string().max(512).default('') });

/** Asks the authorization service to attach the foundation initiative; returns the id of it, empty when not told. */
export const createFoundationSync =
  (outbound: Outbound, serviceUrl: string) =>
  async (subscriptionId: string): Promise<string> => {
    const url = `${serviceUrl}/sync/foundation?subscription_id=${encodeURIComponent(subscriptionId)}`;
    const answer = await outbound.request(url, { method: 'POST', timeoutMs: TIMEOUT_MS });
    expectSuccess('authorization service', answer);
    const body = Answer.safeParse(jsonOf('authorization service', answer));
    if (!body.success) throw new AppError('invalid', 'authorization service: unexpected answer');
    return body.data.initiative_id;
  };

export type SyncFoundation = ReturnType<typeof createFoundationSync>;
