import { chmod, mkdir, realpath, stat, writeFile } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { AppError } from '../../domain/errors.js';
import type { DeploymentSource } from '../../domain/iac/deployments/deployment.js';
import { checkSource, parseRemote } from '../../domain/iac/deployments/source.js';
import type { Remote } from '../../domain/iac/deployments/source.js';
import type { AddressGuard } from './address-guard.js';
import { runInGroup } from './process-group.js';

export interface SourcePolicy {
  readonly allowFile: boolean;
  /** Certificates of private git servers, PEM. */
  readonly caFile: string | undefined;
}

export interface CloneJob {
  readonly source: DeploymentSource;
  /** An empty folder for the clone and, beside it, git's own files. */
  readonly folder: string;
  readonly path: string;
  readonly credentials: { readonly user: string; readonly password: string } | null;
  readonly sshKey: string | null;
  readonly signal: AbortSignal;
  readonly onOutput: (text: string) => void;
}

const STOP_GRACE_MS = 2_000;

/** Reads and judges a source without touching it; throws `malformed` or `invalid`. */
export const judgeSource = (guard: AddressGuard, policy: SourcePolicy, source: DeploymentSource): Remote => {
  checkSource(source);
  const remote = parseRemote(source.repoUrl, policy.allowFile);
  if (remote.kind === 'https') guard.judgeUrl(remote.url);
  if (remote.kind === 'ssh') guard.judgeUrl(`https://${remote.host}/`);
  return remote;
};

/** Clones one commit deep; returns the folder of the program. Connects only to the address that was judged. */
export const createClone =
  (guard: AddressGuard, policy: SourcePolicy) =>
  async (job: CloneJob): Promise<string> => {
    const remote = judgeSource(guard, policy, job.source);
    const home = join(job.folder, 'git');
    const clone = join(job.folder, 'source');
    await mkdir(home, { recursive: true, mode: 0o700 });
    await mkdir(clone, { mode: 0o700 });
    const { url, config, env } = await connectionOf(guard, policy, remote, job, home);
    const git = (...args: readonly string[]): Promise<number> =>
      runInGroup({
        ...{ command: 'git', args: [...hardening(remote.kind), ...config, ...args], cwd: clone },
        env: {
          PATH: job.path,
          HOME: home,
          LANG: 'C.UTF-8',
          GIT_CONFIG_NOSYSTEM: '1',
          GIT_CONFIG_GLOBAL: '/dev/null',
          GIT_TERMINAL_PROMPT: '0',
          ...env,
        },
        ...{ onOutput: job.onOutput, signal: job.signal, graceMs: STOP_GRACE_MS },
      });

    const { branch, commit, repoDir } = job.source;
    const wanted = commit ?? (branch === null ? 'HEAD' : `refs/heads/${branch}`);
    const fetch = [
      'fetch',
      '--quiet',
      '--depth',
      '1',
      '--no-tags',
      '--no-recurse-submodules',
      '--end-of-options',
    ];
    for (const step of [
      ['init', '--quiet'],
      [...fetch, url, wanted],
      ['checkout', '--quiet', 'FETCH_HEAD'],
    ]) {
      const code = await git(...step);
      job.signal.throwIfAborted();
      if (code !== 0)
        throw new AppError(
          'failed',
          `git ${step[0] ?? ''} ended with exit code ${code}: ${wanted} of the repository`,
        );
    }
    return insideClone(clone, repoDir);
  };

/** A link may point anywhere, so the real folder decides. */
const insideClone = async (clone: string, repoDir: string): Promise<string> => {
  const root = await realpath(clone);
  const folder = await realpath(join(root, repoDir)).catch(() => undefined);
  const isInside = folder === root || folder?.startsWith(`${root}${sep}`) === true;
  if (folder === undefined || !isInside || !(await stat(folder)).isDirectory()) {
    throw new AppError('failed', `the repository has no folder '${repoDir}'`);
  }
  return folder;
};

const hardening = (kind: Remote['kind']): readonly string[] =>
  [
    ...['protocol.allow=never', `protocol.${kind}.allow=always`],
    ...['core.hooksPath=/dev/null', 'core.fsmonitor=false', 'submodule.recurse=false'],
    ...['http.followRedirects=false', 'http.proxy=', 'credential.helper='],
  ].flatMap((setting) => ['-c', setting]);

interface GitConnection {
  readonly url: string;
  readonly config: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

const connectionOf = async (
  guard: AddressGuard,
  policy: SourcePolicy,
  remote: Remote,
  { credentials, sshKey }: CloneJob,
  home: string,
): Promise<GitConnection> => {
  switch (remote.kind) {
    case 'file':
      return { url: `file://${remote.path}`, config: ['-c', 'safe.directory=*'], env: {} };
    case 'https': {
      const { hostname, origin, port } = guard.judgeUrl(remote.url);
      const address = await guard.pin(hostname, origin);
      const shown = address.includes(':') ? `[${address}]` : address;
      const pinned = `http.curloptResolve=${hostname.replace(/^\[|\]$/g, '')}:${port || '443'}:${shown}`;
      const ca = policy.caFile === undefined ? {} : { GIT_SSL_CAINFO: policy.caFile };
      return {
        url: remote.url,
        config: ['-c', pinned],
        env: { ...ca, ...(credentials === null ? {} : await askPass(home, credentials)) },
      };
    }
    case 'ssh': {
      const address = await guard.pin(remote.host, '');
      return {
        url: sshUrl(remote),
        config: [],
        env: { GIT_SSH_COMMAND: await sshCommand(home, remote, address, sshKey) },
      };
    }
  }
};

const sshUrl = ({ user, host, port, path }: Extract<Remote, { kind: 'ssh' }>): string =>
  `ssh://${user}@${host}:${port}${path.startsWith('/') ? path : `/${path}`}`;

/** Answers git's questions from the environment, so that no argument and no file holds the password. */
const askPass = async (
  home: string,
  { user, password }: { readonly user: string; readonly password: string },
): Promise<Record<string, string>> => {
  const script = join(home, 'askpass');
  const text =
    '#!/bin/sh\ncase "$1" in User*) printf %s "$KEYSTEAD_GIT_USER";; *) printf %s "$KEYSTEAD_GIT_PASSWORD";; esac\n';
  await writeFile(script, text, { mode: 0o700 });
  return { GIT_ASKPASS: script, KEYSTEAD_GIT_USER: user, KEYSTEAD_GIT_PASSWORD: password };
};

const sshCommand = async (
  home: string,
  { host }: Extract<Remote, { kind: 'ssh' }>,
  address: string,
  key: string | null,
): Promise<string> => {
  const options = [
    ...[
      'BatchMode=yes',
      'StrictHostKeyChecking=accept-new',
      `UserKnownHostsFile=${join(home, 'known_hosts')}`,
    ],
    ...[
      `HostName=${address}`,
      `HostKeyAlias=${host}`,
      'ProxyCommand=none',
      'ForwardAgent=no',
      'IdentityAgent=none',
    ],
  ];
  if (key !== null) {
    const file = join(home, 'key');
    await writeFile(file, key.endsWith('\n') ? key : `${key}\n`, { mode: 0o600 });
    await chmod(file, 0o600);
    options.push(`IdentityFile=${file}`, 'IdentitiesOnly=yes');
  }
  return ['ssh', '-F', '/dev/null', ...options.flatMap((option) => ['-o', `'${option}'`])].join(' ');
};
