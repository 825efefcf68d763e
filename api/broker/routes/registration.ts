import Router from '@koa/router';
import type { Registered, Registration } from '../../../activities/broker/register.js';
import { AppError } from '../../../domain/errors.js';
import { createSecretCheck } from '../../http/constant-equal.js';
import type { Ctx, RequestState } from '../../http/state.js';
import { validate } from '../../http/validate.js';
import { presentRegistered, presentSelfRegistered } from '../presenters/registration.js';
import { RegisterRequest } from '../schemas/registration.js';

export interface RegistrationUseCases {
  readonly register: (input: Registration) => Promise<Registered>;
  readonly selfRegister: (input: Registration) => Promise<Registered>;
}

/** `SVC_REGISTER_TOKEN`, when set, is asked of the agent that registers machines. */
const requireToken = (token: string | undefined): ((ctx: Ctx) => void) => {
  if (token === undefined) return () => undefined;
  const matches = createSecretCheck(`Bearer ${token}`);
  return (ctx) => {
    if (!matches(ctx.get('Authorization'))) {
      throw new AppError(
        'unauthenticated',
        'this service registers machines only with its registration token',
      );
    }
  };
};

export const registrationRoutes = (
  useCases: RegistrationUseCases,
  registerToken: string | undefined,
): Router<RequestState> => {
  const mayRegister = requireToken(registerToken);
  return new Router<RequestState>()
    .post('/register', async (ctx) => {
      mayRegister(ctx);
      const registered = await useCases.register(validate(RegisterRequest, ctx.request.body));
      ctx.state.logFields = { machineId: registered.machine.machineId };
      ctx.set('Cache-Control', 'no-store');
      ctx.body = presentRegistered(registered);
    })
    .post('/self-register', async (ctx) => {
      const registered = await useCases.selfRegister(validate(RegisterRequest, ctx.request.body));
      ctx.state.logFields = { machineId: registered.machine.machineId };
      ctx.body = presentSelfRegistered(registered);
    });
};
