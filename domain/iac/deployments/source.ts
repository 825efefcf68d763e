import { AppError } from '../../errors.js';
import type { DeploymentSource } from './deployment.js';

/** Where a clone comes from. */
export type Remote =
  | { readonly kind: 'https'; readonly url: string }
  | {
      readonly kind: 'ssh';
      readonly user: string;
      readonly host: string;
      readonly port: number;
      readonly path: string;
    }
  | { readonly kind: 'file'; readonly path: string };

const MAX_URL = 512;
const REF = /^[A-Za-z0-9_][A-Za-z0-9._/@+=#-]{0,254}$/;
const COMMIT = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/;
const HOST = '[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?';
const USER = '[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}';
const PATH = '[A-Za-z0-9_/~][A-Za-z0-9_./~+@=-]{0,400}';
const SSH_URL = new RegExp(`^ssh://(?:(${USER})@)?(${HOST})(?::(\\d{1,5}))?(/${PATH})$`);
const SCP_FORM = new RegExp(`^(${USER})@(${HOST}):(${PATH})$`);
const FILE_URL = /^file:\/\/(\/[A-Za-z0-9_./+@=-]{1,400})$/;

const refused = (why: string): AppError => new AppError('malformed', `source refused: ${why}`);

/**
 * Reads a repository address. Only https, ssh and, where a setting opens it, file: a remote helper (`ext::`), an option in
 * an address's place, credentials in the address and everything else is `malformed`. Addresses are judged elsewhere.
 */
export const parseRemote = (text: string, allowFile: boolean): Remote => {
  if (text.length > MAX_URL) throw refused(`the repository URL has more than ${MAX_URL} characters`);
  if (text.startsWith('https://')) return { kind: 'https', url: text };
  const ssh = SSH_URL.exec(text);
  if (ssh !== null) {
    const [, user = 'git', host = '', port = '22', path = ''] = ssh;
    return { kind: 'ssh', user, host, port: Number(port), path };
  }
  const scp = SCP_FORM.exec(text);
  if (scp !== null) {
    const [, user = '', host = '', path = ''] = scp;
    return { kind: 'ssh', user, host, port: 22, path };
  }
  const file = FILE_URL.exec(text);
  if (file !== null) {
    if (!allowFile) throw refused('file:// is closed here (SVC_IAC_ALLOW_FILE_SOURCES)');
    return { kind: 'file', path: file[1] ?? '' };
  }
  throw refused('the repository URL must be https://, ssh:// or user@host:path');
};

/** Throws `malformed` for a branch, commit or folder that git or the file system could take for something else. */
export const checkSource = ({ branch, commit, repoDir }: DeploymentSource): void => {
  if (branch !== null && (!REF.test(branch) || branch.includes('..') || branch.endsWith('.lock')))
    throw refused('`branch` is not a branch name');
  if (commit !== null && !COMMIT.test(commit)) throw refused('`commit` must be a whole commit id');
  if (commit !== null && branch !== null) throw refused('give either `branch` or `commit`');
  const parts = repoDir.split('/');
  const isInside = !repoDir.startsWith('/') && !parts.includes('..') && !parts.includes('.git');
  if (!isInside || repoDir.length > 400 || /[\\\p{Cc}]/u.test(repoDir) || repoDir.startsWith('-'))
    throw refused('`repoDir` must be a folder inside the repository');
};
