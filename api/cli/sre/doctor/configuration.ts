import { documentedSettings } from '../../../../domain/config/documented.js';
import { ConfigError, parseSettings } from '../../../../domain/config/env.js';
import type { SettingSpec } from '../../../../domain/config/env.js';
import type { SreDeps } from '../context.js';
import type { Finding } from './finding.js';
import { fail, ok, warn } from './finding.js';

const STRICT_PREFIXES = ['SVC_', 'VENDING_'];

/** Every group of settings by its own parser, and names that no parser knows. */
export const checkConfiguration = (deps: SreDeps): readonly Finding[] => [
  ...documentedSettings.map(({ title, spec }) => checkGroup(title, spec, deps)),
  ...checkNames(deps),
];

const checkGroup = (title: string, spec: SettingSpec, deps: SreDeps): Finding => {
  const check = `settings: ${title}`;
  const given = Object.keys(spec).filter((name) => isSet(deps, name) || isSet(deps, `${name}_FILE`)).length;
  const problems = problemsOf(() => parseSettings(spec, deps.env, { readFile: deps.readFile }));
  if (problems.length === 0) return ok(check, `${given} of ${Object.keys(spec).length} set`);
  if (given === 0) return warn(check, problems.join('; '), 'fine when this process does not run here');
  return fail(check, problems.join('; '), 'correct them (docs/configuration.md)');
};

const checkNames = (deps: SreDeps): readonly Finding[] => {
  const known = new Set(documentedSettings.flatMap(({ spec }) => Object.keys(spec)));
  const unknown = Object.keys(deps.env).filter(
    (name) =>
      STRICT_PREFIXES.some((prefix) => name.startsWith(prefix)) &&
      !known.has(name.replace(/_FILE$/, '')) &&
      !known.has(name) &&
      isSet(deps, name),
  );
  return unknown.length === 0
    ? []
    : [fail('settings: names', `unknown: ${unknown.join(', ')}`, 'a typo? see docs/configuration.md')];
};

const isSet = (deps: SreDeps, name: string): boolean => (deps.env[name] ?? '') !== '';

const problemsOf = (parse: () => unknown): readonly string[] => {
  try {
    parse();
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
};

/** Whose value a check needs while other settings may be wrong: the variable, its file, or undefined. */
export const settingText = (deps: SreDeps, name: string): string | undefined => {
  const direct = deps.env[name];
  if (direct !== undefined && direct !== '') return direct;
  const file = deps.env[`${name}_FILE`];
  return file === undefined || file === '' ? undefined : deps.readFile(file).trim();
};
