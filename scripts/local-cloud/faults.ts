import { setTimeout as sleep } from 'node:timers/promises';
import type { Middleware } from 'koa';
import { ArmFault } from './model.js';
import type { LocalFault } from './model.js';
import type { Store } from './store.js';

/** Renders the refusals of the simulated services; plays the faults that were ordered by the control API. */
export const withFaults =
  (store: Store): Middleware =>
  async (ctx, next) => {
    try {
      const fault = ctx.path.startsWith('/control') ? undefined : takeFault(store, ctx.method, ctx.url);
      if (fault !== undefined) await play(fault, ctx);
      await next();
    } catch (error) {
      if (!(error instanceof ArmFault)) throw error;
      ctx.status = error.status;
      ctx.body = { error: { code: error.code, message: error.message } };
    }
  };

const takeFault = (store: Store, method: string, url: string): LocalFault | undefined => {
  const found = store
    .all<LocalFault>('faults')
    .find((fault) => fault.method === method && url.toLowerCase().includes(fault.path.toLowerCase()));
  if (found === undefined) return undefined;
  if (found.times <= 1) store.remove('faults', found.id);
  else store.put('faults', found.id, { ...found, times: found.times - 1 });
  return found;
};

const play = async (fault: LocalFault, ctx: Parameters<Middleware>[0]): Promise<void> => {
  if (fault.delayMs !== undefined) await sleep(fault.delayMs);
  if (fault.status === 0) ctx.req.socket.destroy();
  if (fault.status === 200) return;
  if (fault.retryAfterSeconds !== undefined) ctx.set('Retry-After', String(fault.retryAfterSeconds));
  throw new ArmFault(fault.status || 500, fault.code, 'ordered by the control API');
};
