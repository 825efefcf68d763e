import { describe, expect, it } from '@jest/globals';
import type { DeploymentSource } from '../../../../domain/iac/deployments/deployment.js';
import { maskedValues, maskText } from '../../../../domain/iac/deployments/log-mask.js';
import { checkSource, parseRemote } from '../../../../domain/iac/deployments/source.js';

const source = (more: Partial<DeploymentSource>): DeploymentSource => ({
  ...{ repoUrl: 'https://git.example.com/x.git', branch: 'main', commit: null, repoDir: '' },
  ...more,
});

describe('sources of deployments', () => {
  it.each([
    ['https://git.example.com/a/b.git', { kind: 'https', url: 'https://git.example.com/a/b.git' }],
    [
      'git@git.example.com:a/b.git',
      { kind: 'ssh', user: 'git', host: 'git.example.com', port: 22, path: 'a/b.git' },
    ],
    [
      'ssh://git.example.com:2222/a',
      { kind: 'ssh', user: 'git', host: 'git.example.com', port: 2222, path: '/a' },
    ],
  ])('reads %s', (url, remote) => expect(parseRemote(url, false)).toEqual(remote));

  it('opens file:// only where it is allowed', () => {
    expect(() => parseRemote('file:///srv/x.git', false)).toThrow('file:// is closed');
    expect(parseRemote('file:///srv/x.git', true)).toEqual({ kind: 'file', path: '/srv/x.git' });
  });

  it.each([
    'ext::sh -c id',
    'fd::17',
    '--upload-pack=touch x',
    '-oProxyCommand=id',
    'http://git.example.com/x',
    'git://git.example.com/x',
    'ssh://-oProxyCommand=id/x',
    'ssh://git@-oProxyCommand=id/x',
    '-oProxyCommand=id@host:x',
    "git@host:x'; id",
    'git@host:-x',
    'ssh://host/x y',
    'ssh://host/$(id)',
    '/srv/x.git',
    'file://host/x',
    'https://x/' + 'a'.repeat(600),
    '',
  ])('refuses %s', (url) => expect(() => parseRemote(url, true)).toThrow('source refused'));

  it.each([
    { branch: '--upload-pack=id' },
    { branch: 'a b' },
    { branch: 'a..b' },
    { branch: 'a:b' },
    { branch: 'a\nb' },
    { branch: null, commit: 'HEAD' },
    { commit: 'a'.repeat(40) },
    { repoDir: '/etc' },
    { repoDir: 'a/../../b' },
    { repoDir: '.git/hooks' },
    { repoDir: '-x' },
    { repoDir: 'a\0b' },
  ])('refuses %j', (more) => expect(() => checkSource(source(more))).toThrow('source refused'));

  it('takes a branch, a commit, and a folder', () => {
    expect(() => checkSource(source({ branch: 'feature/x-1', repoDir: 'infra/prod' }))).not.toThrow();
    expect(() => checkSource(source({ branch: null, commit: 'a'.repeat(40) }))).not.toThrow();
  });
});

describe('masking of logs', () => {
  it('hides values, their lines and their URL form, the longest first', () => {
    const values = maskedValues({ A: 'pass/word', B: 'pass/word-longer', KEY: 'line-one\nline-two' }, []);
    expect(maskText('x pass/word-longer pass/word pass%2Fword line-two', values)).toBe(
      'x [secret] [secret] [secret] [secret]',
    );
  });

  it('leaves short values that nobody marked: they are words', () => {
    const values = maskedValues({ MODE: 'true', PIN: '1234' }, ['PIN']);
    expect(maskText('true 1234', values)).toBe('true [secret]');
  });
});
