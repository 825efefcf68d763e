import type { IacUseCases } from '../../activities/iac/index.js';
import type { Caller } from '../../activities/iac/deps.js';
import { stackName } from '../../domain/iac/names.js';
import type { StackName } from '../../domain/iac/names.js';
import { validate } from '../http/validate.js';
import type { Ctx } from '../http/state.js';
import type { z } from 'zod';

export interface IacRouteDeps {
  readonly useCases: IacUseCases;
  readonly token: string;
  readonly org: string;
}

export const STACK = '/api/stacks/:org/:project/:stack';
/** Both spellings of the update lifecycle: the CLI's and the specification's. */
export const updatePaths = (rest = ''): string[] => [
  `${STACK}/update/:updateId${rest}`,
  `${STACK}/updates/:updateId${rest}`,
];

export const nameIn = (ctx: Ctx): StackName => {
  const { org = '', project = '', stack = '' } = ctx.params as Record<string, string | undefined>;
  return stackName(org, project, stack);
};

/** `pulumi-cli/1 (v3.259.0; linux; cmd=up)` names the version. */
const CLI = /^pulumi-cli\/\S+ \((v\d{1,4}\.\d{1,6}\.\d{1,6}[\w.+-]{0,40})/;

export const callerOf = (ctx: Ctx, org: string): Caller => ({
  author: org,
  cliVersion: CLI.exec(ctx.get('User-Agent'))?.[1] ?? '',
});

/** The parsed JSON body; an empty one counts as `{}`. */
export const readJson = async <T>({ bodies }: IacUseCases, ctx: Ctx, schema: z.ZodType<T>): Promise<T> => {
  const bytes = await bodies.read(ctx.req);
  return validate(schema, bytes.length === 0 ? {} : await bodies.json(bytes));
};
