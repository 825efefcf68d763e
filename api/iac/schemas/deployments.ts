import { z } from 'zod';
import { deploymentOperations } from '../../../domain/iac/deployments/deployment.js';
import { plainText } from '../../http/validate.js';

const MAX_VARIABLES = 200;
const MAX_COMMANDS = 50;

/** `"plain"`, or one of the CLI's forms of a secret. */
const value = z.union([
  plainText(65_536).transform((text) => ({ text, isSecret: false })),
  z
    .object({ isSecret: z.boolean(), value: plainText(65_536) })
    .transform((given) => ({ text: given.value, isSecret: given.isSecret })),
  z.object({ secret: plainText(65_536) }).transform(({ secret }) => ({ text: secret, isSecret: true })),
]);

const variables = z
  .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,199}$/, 'is not the name of a variable'), value)
  .refine((given) => Object.keys(given).length <= MAX_VARIABLES, `at most ${MAX_VARIABLES} variables`);

const operation = z.enum(deploymentOperations);
const address = plainText(512);

const gitAuth = z.object({
  accessToken: value.nullish(),
  basicAuth: z.object({ userName: value, password: value }).nullish(),
  sshAuth: z.object({ sshPrivateKey: value }).nullish(),
});

/** The body of the specification. */
const plainBody = z.object({
  operation,
  source: z
    .object({ repoURL: address, branch: plainText(255).nullish(), repoDir: plainText(400).nullish() })
    .nullish(),
  environmentVariables: variables.nullish(),
});

/** The body of the CLI; what it leaves out is an empty string there. */
const cliBody = z.object({
  operation,
  sourceContext: z
    .object({
      git: z
        .object({
          repoUrl: address,
          branch: plainText(300).nullish(),
          commit: plainText(64).nullish(),
          repoDir: plainText(400).nullish(),
          gitAuth: gitAuth.nullish(),
        })
        .nullish(),
    })
    .nullish(),
  operationContext: z
    .object({
      preRunCommands: z.array(plainText(10_000)).max(MAX_COMMANDS).nullish(),
      environmentVariables: variables.nullish(),
    })
    .nullish(),
});

const filled = (text: string | null | undefined): string | null =>
  text === undefined || text === '' ? null : text;
const branchName = (text: string | null | undefined): string | null =>
  filled(text)?.replace(/^refs\/heads\//, '') ?? null;

const environmentOf = (given: z.infer<typeof variables> | null | undefined) => {
  const entries = Object.entries(given ?? {});
  return {
    environment: Object.fromEntries(entries.map(([name, { text }]) => [name, text])),
    marked: entries.filter(([, { isSecret }]) => isSecret).map(([name]) => name),
  };
};

const credentialsOf = (auth: z.infer<typeof gitAuth> | null | undefined) => {
  const { accessToken, basicAuth, sshAuth } = auth ?? {};
  const git = basicAuth
    ? { user: basicAuth.userName.text, password: basicAuth.password.text }
    : accessToken
      ? { user: 'x-access-token', password: accessToken.text }
      : null;
  return { git, sshKey: sshAuth?.sshPrivateKey.text ?? null };
};

const fromPlain = plainBody.transform(({ operation: kind, source, environmentVariables }) => ({
  operation: kind,
  source: source
    ? {
        repoUrl: source.repoURL,
        branch: branchName(source.branch),
        commit: null,
        repoDir: source.repoDir ?? '',
      }
    : null,
  preRunCommands: [] as string[],
  secrets: { ...environmentOf(environmentVariables), git: null, sshKey: null },
}));

const fromCli = cliBody.transform(({ operation: kind, sourceContext, operationContext }) => {
  const git = sourceContext?.git;
  const commit = filled(git?.commit);
  return {
    operation: kind,
    source: git
      ? {
          repoUrl: git.repoUrl,
          branch: commit === null ? branchName(git.branch) : null,
          commit,
          repoDir: git.repoDir ?? '',
        }
      : null,
    preRunCommands: operationContext?.preRunCommands ?? [],
    secrets: { ...environmentOf(operationContext?.environmentVariables), ...credentialsOf(git?.gitAuth) },
  };
});

/** Which of the two shapes a body has is told by the members that only the CLI sends. */
export const isCliBody = (body: unknown): boolean =>
  typeof body === 'object' && body !== null && ('sourceContext' in body || 'operationContext' in body);

export const DeploymentRequest = { plain: fromPlain, cli: fromCli };

export const DeploymentsQuery = z.object({
  page: z.coerce.number().int().min(1).max(1_000_000).default(1),
  pageSize: z.coerce.number().int().min(1).max(1_000).optional(),
  asc: z.stringbool().default(false),
});

export const LogsQuery = z.object({
  continuationToken: z
    .string()
    .regex(/^\d{0,10}$/)
    .optional(),
  offset: z.coerce.number().int().min(0).max(1_000_000_000).optional(),
  count: z.coerce.number().int().min(1).max(10_000).optional(),
});
