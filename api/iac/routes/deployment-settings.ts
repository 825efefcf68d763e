import type Router from '@koa/router';
import { z } from 'zod';
import { AppError } from '../../../domain/errors.js';
import type { SettingsJson } from '../../../domain/iac/deployments/settings.js';
import { showSettings } from '../../../domain/iac/deployments/settings.js';
import type { RequestState } from '../../http/state.js';
import type { Auth } from '../auth.js';
import type { IacRouteDeps } from '../context.js';
import { nameIn, readJson, STACK } from '../context.js';

const SETTINGS = `${STACK}/deployments/settings`;
const SettingsRequest = z.record(
  z.string(),
  z.custom<SettingsJson>(() => true),
);

/** Settings that deployments with `inheritSettings` start from. */
export const deploymentSettingsRoutes = (
  router: Router<RequestState>,
  { operator }: Auth,
  { useCases }: IacRouteDeps,
): void => {
  const { deploymentSettings } = useCases;
  router.get(
    SETTINGS,
    operator(async (ctx) => {
      const found = await deploymentSettings.read(nameIn(ctx));
      if (found === undefined) throw new AppError('not_found', 'this stack has no deployment settings');
      ctx.body = showSettings(found);
    }),
  );
  router.post(
    SETTINGS,
    operator(async (ctx) => {
      const patch = await readJson(useCases, ctx, SettingsRequest);
      ctx.body = showSettings(await deploymentSettings.patch(nameIn(ctx), patch));
    }),
  );
  router.delete(
    SETTINGS,
    operator(async (ctx) => {
      await deploymentSettings.remove(nameIn(ctx));
      ctx.status = 204;
    }),
  );
};
