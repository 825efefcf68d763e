import type { LogPage } from '../../activities/iac/deployments/commands.js';
import type { LogPiece } from '../../db/iac/deployment-logs.js';
import type { Deployment } from '../../domain/iac/deployments/deployment.js';
import type { StackName } from '../../domain/iac/names.js';
import type { Update } from '../../domain/iac/update.js';
import { presentUpdate } from './presenters.js';

/** The members of the specification, and beside them those that the CLI reads. Times are ISO 8601 UTC. */
export const presentDeployment = (
  deployment: Deployment,
  { project, stack }: StackName,
  updates: readonly Update[] = [],
) => {
  const modified = deployment.completedAt ?? deployment.startedAt ?? deployment.createdAt;
  const step = {
    name: `pulumi ${deployment.operation}`,
    status: deployment.status,
    started: deployment.startedAt ?? '',
    lastUpdated: modified,
  };
  return {
    id: deployment.id,
    status: deployment.status,
    operation: deployment.operation,
    startedAt: deployment.startedAt,
    completedAt: deployment.completedAt,
    exitCode: deployment.exitCode,
    reason: deployment.reason,
    source: deployment.source,
    created: deployment.createdAt,
    modified,
    version: deployment.number,
    requestedBy: { name: deployment.requestedBy, githubLogin: deployment.requestedBy, avatarUrl: '' },
    projectName: project,
    stackName: stack,
    pulumiOperation: deployment.operation,
    updates: updates.map(presentLinkedUpdate),
    jobs: [{ status: deployment.status, started: step.started, lastUpdated: modified, steps: [step] }],
    initiator: deployment.initiator,
  };
};

export const presentLinkedUpdate = (update: Update) => ({ ...presentUpdate(update), id: update.id });

/** The CLI prints a line as it is, so each keeps its end. */
const linesOf = ({ text, createdAt }: LogPiece) =>
  (text.match(/[^\n]*\n/g) ?? []).map((line) => ({ timestamp: createdAt, line }));

/** `nextToken` is empty when the log is complete. */
export const presentLogs = ({ pieces, next }: LogPage) => ({
  lines: pieces.flatMap(linesOf),
  nextToken: next === undefined ? '' : String(next),
});

export const logText = (pieces: readonly LogPiece[]): string => pieces.map(({ text }) => text).join('');
