import { cliUser } from '../../bench/support/pulumi.js';
import type { CliUser } from '../../bench/support/pulumi.js';
import { IAC_TOKEN } from './iac.js';

export { cliFolder, stashProgram } from '../../bench/support/pulumi.js';

export type PulumiUser = CliUser;

interface UserOptions {
  readonly version?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** A user of the real CLI who holds the token of the test backend. */
export const pulumiUser = (url: string, options: UserOptions = {}): Promise<PulumiUser> =>
  cliUser(url, { token: IAC_TOKEN, ...options });

export interface ExportedState {
  readonly version: number;
  readonly deployment: {
    readonly resources?: readonly { readonly urn: string; readonly type: string }[];
    readonly pending_operations?: readonly {
      readonly resource: { readonly urn: string };
      readonly type: string;
    }[];
  };
}

/** The state as `stack export` shows it. */
export const exportedState = async (user: PulumiUser, version?: string): Promise<ExportedState> =>
  JSON.parse(
    await user.run('stack', 'export', ...(version === undefined ? [] : ['--version', version])),
  ) as ExportedState;

const nameOf = ({ urn }: { readonly urn: string }): string => urn.slice(urn.lastIndexOf('::') + 2);

/** Names of the Stash resources, sorted. */
export const stashNames = ({ deployment }: ExportedState): string[] =>
  (deployment.resources ?? [])
    .filter(({ type }) => type === 'pulumi:index:Stash')
    .map(nameOf)
    .sort();

/** Names of the resources that were being created, as far as the state knows. */
export const pendingNames = ({ deployment }: ExportedState): string[] =>
  (deployment.pending_operations ?? []).map(({ resource }) => nameOf(resource)).sort();
