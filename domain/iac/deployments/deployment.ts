/** A server-side run of the IaC CLI on a stack. */
export const deploymentOperations = [
  'update',
  'preview',
  'refresh',
  'destroy',
  'detect-drift',
  'remediate-drift',
] as const;
export type DeploymentOperation = (typeof deploymentOperations)[number];

export const deploymentStatuses = ['queued', 'running', 'succeeded', 'failed', 'cancelled'] as const;
export type DeploymentStatus = (typeof deploymentStatuses)[number];

export const isOver = (status: DeploymentStatus): boolean => status !== 'queued' && status !== 'running';

/** Public part of what to run; secrets are sealed beside it. */
export interface DeploymentSource {
  readonly repoUrl: string;
  readonly branch: string | null;
  readonly commit: string | null;
  /** Folder of the program inside the clone; empty = its root. */
  readonly repoDir: string;
}

export interface GitCredentials {
  readonly user: string;
  readonly password: string;
}

/** What nobody may read: kept sealed, opened only where the CLI runs. */
export interface DeploymentSecrets {
  readonly environment: Readonly<Record<string, string>>;
  /** Names of the variables that the caller marked as secret. */
  readonly marked: readonly string[];
  readonly git: GitCredentials | null;
  readonly sshKey: string | null;
}

export interface Deployment {
  readonly id: string;
  readonly stackId: string;
  /** Counts up within the stack. */
  readonly number: number;
  readonly operation: DeploymentOperation;
  readonly status: DeploymentStatus;
  readonly source: DeploymentSource | null;
  readonly preRunCommands: readonly string[];
  readonly requestedBy: string;
  readonly initiator: string;
  /** Why it failed, when the CLI did not even run or was stopped. */
  readonly reason: string | null;
  readonly exitCode: number | null;
  readonly createdAt: string;
  readonly startedAt: string | null;
  readonly completedAt: string | null;
}

/** Arguments of the CLI for an operation on `stack` (`org/project/stack`). */
export const cliArguments = (operation: DeploymentOperation, stack: string): readonly string[] => {
  const common = ['--stack', stack, '--non-interactive', '--color', 'never'];
  const apply = ['--yes', '--skip-preview'];
  switch (operation) {
    case 'update':
      return ['up', ...apply, ...common];
    case 'preview':
      return ['preview', ...common];
    case 'refresh':
      return ['refresh', ...apply, ...common];
    case 'destroy':
      return ['destroy', ...apply, ...common];
    case 'detect-drift':
      return ['refresh', '--preview-only', '--expect-no-changes', ...common];
    case 'remediate-drift':
      return ['up', '--refresh', ...apply, ...common];
  }
};

/** Operations that follow the program; the others need only the state. */
export const needsProgram = (operation: DeploymentOperation): boolean =>
  operation === 'update' || operation === 'preview' || operation === 'remediate-drift';
