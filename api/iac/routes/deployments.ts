import type Router from '@koa/router';
import type { LogPiece } from '../../../db/iac/deployment-logs.js';
import { AppError } from '../../../domain/errors.js';
import { mergeSettings } from '../../../domain/iac/deployments/settings.js';
import type { SettingsJson } from '../../../domain/iac/deployments/settings.js';
import type { StackName } from '../../../domain/iac/names.js';
import type { Ctx, RequestState } from '../../http/state.js';
import { uuidInPath, validate } from '../../http/validate.js';
import type { Auth } from '../auth.js';
import type { IacRouteDeps } from '../context.js';
import { nameIn, readJson, STACK } from '../context.js';
import { logText, presentDeployment, presentLinkedUpdate, presentLogs } from '../deployment-presenters.js';
import { DeploymentRequest, DeploymentsQuery, isCliBody, LogsQuery } from '../schemas/deployments.js';
import { z } from 'zod';

const DEPLOYMENTS = `${STACK}/deployments`;
const DEPLOYMENT = `${DEPLOYMENTS}/:deploymentId`;
/** A list without paging: everything that an operator could want to read. */
const ALL = 1_000;
const FEW = 10;

const SettingsBody = z.record(
  z.string(),
  z.custom<SettingsJson>(() => true),
);
const NUMBER = /^\d{1,9}$/;

/** Server-side runs: queue, look, follow the log, cancel. */
export const deploymentRoutes = (
  router: Router<RequestState>,
  { operator }: Auth,
  { useCases, org }: IacRouteDeps,
): void => {
  const { deployments } = useCases;

  /** By id or, as people say it, by the number within the stack. */
  const deploymentIdIn = async (ctx: Ctx): Promise<string> => {
    const { deploymentId = '' } = ctx.params as Record<string, string | undefined>;
    if (!NUMBER.test(deploymentId)) return uuidInPath(deploymentId, 'deployment');
    return (await deployments.findByNumber(nameIn(ctx), Number(deploymentId))).id;
  };

  const inherited = async (name: StackName, given: z.infer<typeof SettingsBody>) =>
    mergeSettings((await useCases.deploymentSettings.read(name)) ?? {}, given);

  router.post(
    DEPLOYMENTS,
    operator(async (ctx) => {
      const given = await readJson(useCases, ctx, SettingsBody);
      const body = given['inheritSettings'] === true ? await inherited(nameIn(ctx), given) : given;
      const request = validate(isCliBody(body) ? DeploymentRequest.cli : DeploymentRequest.plain, body);
      const initiator = ctx.get('X-Pulumi-Deployment-Initiator').slice(0, 100) || 'api';
      const name = nameIn(ctx);
      const created = await deployments.create(name, { ...request, requestedBy: org, initiator });
      ctx.status = 202;
      ctx.body = { ...presentDeployment(created, name), consoleUrl: '' };
    }),
  );

  router.get(
    DEPLOYMENTS,
    operator(async (ctx) => {
      const { page, pageSize, asc } = validate(DeploymentsQuery, ctx.query, 'query');
      const size = pageSize ?? (ctx.query['page'] === undefined ? ALL : FEW);
      const name = nameIn(ctx);
      const found = await deployments.list(name, { page, pageSize: size, ascending: asc });
      ctx.body = {
        deployments: found.deployments.map((deployment) => presentDeployment(deployment, name)),
        itemsPerPage: size,
        total: found.total,
      };
    }),
  );

  const sendOne = async (ctx: Ctx, name: StackName, id: string): Promise<void> => {
    const deployment = await deployments.find(name, id);
    const updates = await deployments.updates(name, id);
    const pieces = await wholeLog(name, id);
    ctx.body = { ...presentDeployment(deployment, name, updates), logs: logText(pieces) };
  };

  const wholeLog = async (name: StackName, id: string): Promise<readonly LogPiece[]> => {
    const pieces: LogPiece[] = [];
    for (;;) {
      const page = await deployments.logs(name, id, pieces.at(-1)?.number ?? 0);
      pieces.push(...page.pieces);
      if (page.pieces.length === 0 || page.next === undefined) return pieces;
    }
  };

  router.get(
    `${DEPLOYMENTS}/version/:number`,
    operator(async (ctx) => {
      const { number = '' } = ctx.params as Record<string, string | undefined>;
      if (!NUMBER.test(number)) throw new AppError('not_found', 'no such deployment');
      const name = nameIn(ctx);
      await sendOne(ctx, name, (await deployments.findByNumber(name, Number(number))).id);
    }),
  );

  router.get(
    DEPLOYMENT,
    operator(async (ctx) => sendOne(ctx, nameIn(ctx), await deploymentIdIn(ctx))),
  );

  router.get(
    `${DEPLOYMENT}/logs`,
    operator(async (ctx) => {
      const { continuationToken, offset, count } = validate(LogsQuery, ctx.query, 'query');
      const [name, id] = [nameIn(ctx), await deploymentIdIn(ctx)];
      if (offset === undefined && count === undefined) {
        ctx.body = presentLogs(await deployments.logs(name, id, Number(continuationToken ?? 0)));
        return;
      }
      const { lines } = presentLogs({ pieces: await wholeLog(name, id), next: undefined });
      const from = offset ?? 0;
      ctx.body = { lines: lines.slice(from, from + (count ?? lines.length)), nextToken: '' };
    }),
  );

  router.get(
    `${DEPLOYMENT}/updates`,
    operator(async (ctx) => {
      const updates = await deployments.updates(nameIn(ctx), await deploymentIdIn(ctx));
      ctx.body = updates.map(presentLinkedUpdate);
    }),
  );

  router.delete(
    `${DEPLOYMENT}/cancel`,
    operator(async (ctx) => {
      await deployments.cancel(nameIn(ctx), await deploymentIdIn(ctx));
      ctx.status = 204;
    }),
  );

  router.post(
    `${DEPLOYMENT}/cancel`,
    operator(async (ctx) => {
      await deployments.cancel(nameIn(ctx), await deploymentIdIn(ctx));
      ctx.body = {};
    }),
  );
};
