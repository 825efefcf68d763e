import type { Stack } from '../../db/iac/stacks.js';
import type { StackName } from '../../domain/iac/names.js';
import type { Update, UpdateStatus } from '../../domain/iac/update.js';

/** JSON as the CLI reads it (reference: `apitype` of CLI 3.259). */
const unix = (time: string | null): number => (time === null ? 0 : Math.floor(Date.parse(time) / 1000));

export const presentUser = (org: string) => {
  const self = { githubLogin: org, name: org, avatarUrl: '' };
  return { ...self, email: '', organizations: [self] };
};

/** Where the CLI may be told more than it would assume. */
export const capabilities = {
  capabilities: [
    {
      capability: 'delta-checkpoint-uploads-v2',
      version: 2,
      configuration: { checkpointCutoffSizeBytes: 1_048_576 },
    },
    { capability: 'batch-encrypt', version: 1 },
    { capability: 'deployment-schema-version', version: 1, configuration: { version: 4 } },
  ],
};

export const presentStack = (stack: Stack, running: Update | undefined) => ({
  id: stack.id,
  orgName: stack.org,
  projectName: stack.project,
  stackName: stack.stack,
  tags: stack.tags,
  activeUpdate: stack.activeUpdate ?? '',
  version: stack.version,
  ...(stack.config === null ? {} : { config: stack.config }),
  ...(running === undefined
    ? {}
    : {
        currentOperation: {
          kind: running.kind,
          author: running.author,
          started: unix(running.startedAt ?? running.createdAt),
        },
      }),
});

export const presentStackSummary = (stack: Stack) => ({
  id: stack.id,
  orgName: stack.org,
  projectName: stack.project,
  stackName: stack.stack,
  ...(stack.activeUpdate !== null
    ? { lastUpdate: 0 }
    : stack.lastUpdateAt === null
      ? {}
      : { lastUpdate: unix(stack.lastUpdateAt) }),
  resourceCount: stack.resourceCount,
  links: { self: '' },
});

/** Opaque to the CLI: the last name of a page. */
export const continuationAfter = ({ org, project, stack }: StackName): string =>
  Buffer.from(`${org}/${project}/${stack}`).toString('base64url');

const results: Readonly<Record<UpdateStatus, string>> = {
  'not started': 'not-started',
  running: 'in-progress',
  succeeded: 'succeeded',
  failed: 'failed',
  cancelled: 'failed',
};

export const presentUpdate = (update: Update) => ({
  kind: update.kind,
  startTime: unix(update.startedAt ?? update.createdAt),
  endTime: unix(update.endedAt),
  message: update.message,
  environment: update.environment,
  config: update.config,
  result: results[update.status],
  version: update.version ?? 0,
  updateID: update.id,
  requestedBy: { name: update.author, githubLogin: update.author },
  cliVersion: update.cliVersion,
  ...(update.resourceChanges === null ? {} : { resourceChanges: update.resourceChanges }),
  ...(update.resourceCount === null ? {} : { resourceCount: update.resourceCount }),
});

export const presentProgress = (update: Update) => ({
  status: update.status,
  events: [],
  ...(update.endedAt === null ? { continuationToken: update.id } : {}),
});
