import { z } from 'zod';

/**
 * Settings are environment variables, declared once with their documentation and parsed strictly:
 * a typo stops the start, and every problem is told at once. `docs/configuration.md` is generated from them.
 */
export interface Setting<T> {
  readonly schema: z.ZodType<T, string | undefined>;
  readonly doc: string;
  /** The default as a reader would write it; empty when there is none. */
  readonly fallback: string;
  /** May also come from the file named by `<NAME>_FILE`; never logged or shown. */
  readonly secret: boolean;
}

export type SettingSpec = Readonly<Record<string, Setting<unknown>>>;
export type Settings<S extends SettingSpec> = {
  readonly [K in keyof S]: S[K] extends Setting<infer T> ? T : never;
};
export type Env = Readonly<Record<string, string | undefined>>;

/** All the problems of an environment, one a line, each naming its variable. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(`configuration is not usable:\n${problems.map((p) => `  - ${p}`).join('\n')}`);
    this.problems = problems;
  }
}

const setting = <T>(
  schema: z.ZodType<T, string | undefined>,
  doc: string,
  fallback = '',
  secret = false,
): Setting<T> => ({ schema, doc, fallback, secret });

/** `true/false`, `1/0`, `yes/no`, `on/off` in any case; anything else is refused. */
export const flag = (fallback: boolean, doc: string): Setting<boolean> =>
  setting(z.union([z.undefined().transform(() => fallback), z.stringbool()]), doc, String(fallback));

export const text = (fallback: string, doc: string): Setting<string> =>
  setting(z.string().default(fallback), doc, fallback);

export const optionalText = (doc: string): Setting<string | undefined> => setting(z.string().optional(), doc);

/** An optional value that must never be shown; `<NAME>_FILE` names a file to read it from. */
export const secret = (doc: string): Setting<string | undefined> =>
  setting(z.string().min(1).optional(), doc, '', true);

const integer = (min: number, max: number) =>
  z
    .string()
    .regex(/^-?\d{1,15}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().int().min(min).max(max));

export const count = (fallback: number, doc: string, min = 0, max = 2_147_483_647): Setting<number> =>
  setting(z.union([z.undefined().transform(() => fallback), integer(min, max)]), doc, String(fallback));

export const port = (fallback: number, doc: string): Setting<number> => count(fallback, doc, 0, 65_535);

export const oneOf = <const T extends readonly [string, ...string[]]>(
  values: T,
  fallback: T[number],
  doc: string,
): Setting<T[number]> =>
  setting(
    z.enum(values).default(fallback as never) as unknown as z.ZodType<T[number], string | undefined>,
    `${doc} One of ${values.map((v) => `\`${v}\``).join(', ')}.`,
    fallback,
  );

const commaSeparated = (value: string): string[] =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');

/** A comma-separated list; empty items are dropped. */
export const list = (fallback: string, doc: string): Setting<readonly string[]> =>
  setting(z.string().default(fallback).transform(commaSeparated), doc, fallback);

export const listOf = <const T extends readonly [string, ...string[]]>(
  values: T,
  fallback: string,
  doc: string,
): Setting<readonly T[number][]> =>
  setting(
    z
      .string()
      .default(fallback)
      .transform(commaSeparated)
      .pipe(z.array(z.enum(values))) as unknown as z.ZodType<readonly T[number][], string | undefined>,
    `${doc} Comma-separated, of ${values.map((v) => `\`${v}\``).join(', ')}.`,
    fallback,
  );

const httpUrl = z
  .string()
  .refine(
    (value) => URL.canParse(value) && /^https?:$/.test(new URL(value).protocol),
    'must be an http(s) URL',
  )
  .transform((value) => value.replace(/\/+$/, ''));

/** An http(s) address; a trailing slash is cut. */
export const url = (fallback: string, doc: string): Setting<string> =>
  setting(z.union([z.undefined().transform(() => fallback), httpUrl]), doc, fallback);

export const optionalUrl = (doc: string): Setting<string | undefined> => setting(httpUrl.optional(), doc);

/** A setting whose text is parsed by the caller's own schema. */
export const custom = <T>(
  schema: z.ZodType<T, string | undefined>,
  doc: string,
  fallback = '',
  isSecret = false,
): Setting<T> => setting(schema, doc, fallback, isSecret);

interface ParseOptions {
  /** Reads the text of a `<NAME>_FILE`; throws when it cannot. */
  readonly readFile: (path: string) => string;
  /** Variables with one of these beginnings that no setting knows are refused (a typo must not be silent). */
  readonly strictPrefix?: string;
  /** Names of that prefix that another program reads. */
  readonly elsewhere?: RegExp;
}

/** Parses every setting of `spec` from `env`. An empty variable counts as unset. Throws ConfigError with all problems. */
export const parseSettings = <S extends SettingSpec>(
  spec: S,
  env: Env,
  options: ParseOptions,
): Settings<S> => {
  const problems: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, item] of Object.entries(spec)) {
    try {
      const parsed = item.schema.safeParse(rawValue(name, item, env, options.readFile));
      if (parsed.success) values[name] = parsed.data;
      else problems.push(`${name}: ${parsed.error.issues.map((issue) => issue.message).join('; ')}`);
    } catch (error) {
      problems.push(`${name}_FILE: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  problems.push(...unknownNames(spec, env, options));
  if (problems.length > 0) throw new ConfigError(problems);
  return values as Settings<S>;
};

const rawValue = (
  name: string,
  item: Setting<unknown>,
  env: Env,
  readFile: (path: string) => string,
): string | undefined => {
  const direct = nonEmpty(env[name]);
  const file = item.secret ? nonEmpty(env[`${name}_FILE`]) : undefined;
  if (file === undefined) return direct;
  if (direct !== undefined) throw new Error(`set either ${name} or ${name}_FILE, not both`);
  return nonEmpty(readFile(file).replace(/\r?\n$/, ''));
};

const nonEmpty = (value: string | undefined): string | undefined => (value === '' ? undefined : value);

const unknownNames = (spec: SettingSpec, env: Env, { strictPrefix, elsewhere }: ParseOptions): string[] => {
  if (strictPrefix === undefined) return [];
  const known = new Set(
    Object.keys(spec).flatMap((name) => (spec[name]?.secret ? [name, `${name}_FILE`] : [name])),
  );
  return Object.keys(env)
    .filter((name) => name.startsWith(strictPrefix) && !known.has(name) && nonEmpty(env[name]) !== undefined)
    .filter((name) => elsewhere?.test(name) !== true)
    .map((name) => `${name}: no such setting (see docs/configuration.md)`);
};
