import type { Context } from 'koa';
import { AppError } from '../../domain/errors.js';
import { createSecretCheck } from '../http/constant-equal.js';

/** Checks that a header carries the configured secret; without a secret every request passes. Throws `unauthenticated`. */
export const requireSharedSecret = (
  header: string,
  secret: string | undefined,
  refusal: string,
): ((ctx: Context) => void) => {
  if (secret === undefined) return () => undefined;
  const isSecret = createSecretCheck(secret);
  return (ctx) => {
    if (!isSecret(ctx.get(header))) throw new AppError('unauthenticated', refusal);
  };
};
