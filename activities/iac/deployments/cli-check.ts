import { execFile } from 'node:child_process';

/** Degraded, not down: without the CLI everything but deployments works. Looks on this process's own path. */
export const checkCli = (cli: string) => (): Promise<{ readonly degraded: string } | undefined> =>
  new Promise((resolve) => {
    execFile('/bin/sh', ['-c', 'command -v -- "$0"', cli], (error) =>
      resolve(
        error === null
          ? undefined
          : { degraded: `the IaC CLI '${cli}' is not on the path: deployments fail (SVC_IAC_CLI)` },
      ),
    );
  });
