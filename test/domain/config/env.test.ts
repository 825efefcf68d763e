import { describe, expect, it } from '@jest/globals';
import {
  ConfigError,
  count,
  flag,
  list,
  oneOf,
  parseSettings,
  port,
  secret,
  url,
} from '../../../domain/config/env.js';
import { svcSettings } from '../../../domain/config/svc.js';
import { parseVending } from '../../../domain/config/vending.js';

const spec = {
  X_FLAG: flag(false, 'A flag.'),
  X_PORT: port(8081, 'A port.'),
  X_COUNT: count(3, 'A count.', 1, 10),
  X_MODE: oneOf(['a', 'b'], 'a', 'A mode.'),
  X_LIST: list('', 'A list.'),
  X_URL: url('http://127.0.0.1:1', 'An address.'),
  X_SECRET: secret('A secret.'),
};
const files: Record<string, string> = { '/run/secret': 'from-file\n' };
const parse = (env: Record<string, string>) =>
  parseSettings(spec, env, {
    strictPrefix: 'X_',
    readFile: (path) => {
      const text = files[path];
      if (text === undefined) throw new Error(`ENOENT: ${path}`);
      return text;
    },
  });
const problemsOf = (env: Record<string, string>): readonly string[] => {
  try {
    parse(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
};

describe('settings', () => {
  it('have defaults, and an empty variable counts as unset', () => {
    const defaults = {
      X_FLAG: false,
      X_PORT: 8081,
      X_COUNT: 3,
      X_MODE: 'a',
      X_LIST: [],
      X_URL: 'http://127.0.0.1:1',
    };
    expect(parse({})).toEqual(defaults);
    expect(
      parse({ X_FLAG: '', X_PORT: '', X_COUNT: '', X_MODE: '', X_LIST: '', X_URL: '', X_SECRET: '' }),
    ).toEqual(defaults);
  });

  it.each([
    ['TRUE', true],
    ['1', true],
    ['yes', true],
    ['off', false],
    ['No', false],
  ])('reads the flag %s as %s', (text, value) => {
    expect(parse({ X_FLAG: text }).X_FLAG).toBe(value);
  });

  it('tells every problem at once, each with its variable', () => {
    const problems = problemsOf({
      ...{ X_FLAG: 'ture', X_PORT: '70000', X_COUNT: '1.5', X_MODE: 'c' },
      ...{ X_URL: 'ftp://host', X_TYPO: 'yes' },
    });
    expect(problems.map((problem) => problem.split(':')[0])).toEqual([
      'X_FLAG',
      'X_PORT',
      'X_COUNT',
      'X_MODE',
      'X_URL',
      'X_TYPO',
    ]);
  });

  it('reads a secret from the file that <NAME>_FILE names, and never from both', () => {
    expect(parse({ X_SECRET_FILE: '/run/secret' }).X_SECRET).toBe('from-file');
    expect(problemsOf({ X_SECRET_FILE: '/run/secret', X_SECRET: 'x' })).toEqual([
      expect.stringContaining('not both'),
    ]);
    expect(problemsOf({ X_SECRET_FILE: '/nowhere' })).toEqual([expect.stringContaining('X_SECRET_FILE')]);
    expect(problemsOf({ X_PORT_FILE: '/run/secret' })).toEqual([expect.stringContaining('no such setting')]);
  });

  it('never repeat a secret value in a problem', () => {
    const problems = (() => {
      try {
        parseSettings(
          svcSettings,
          { SVC_SHARED_SECRET_MASTER_KEY: 'hunter2-hunter2' },
          { readFile: () => '' },
        );
      } catch (error) {
        return String(error);
      }
      return '';
    })();
    expect(problems).toContain('SVC_SHARED_SECRET_MASTER_KEY');
    expect(problems).not.toContain('hunter2');
  });

  it('know a misspelt VENDING_ name from one that the web UI reads', () => {
    const parseAll = (env: Record<string, string>) =>
      parseVending({ VENDING_CLOUD_TENANT_ID: 't', ...env }, () => '');
    expect(() => parseAll({ VENDING_RETRY_STRATEGIE: 'queue' })).toThrow('VENDING_RETRY_STRATEGIE');
    expect(
      parseAll({ VENDING_UI_PORT: '8080', VENDING_API_URL: 'http://x', VENDING_TOKEN: 'y' }),
    ).toBeDefined();
  });
});
