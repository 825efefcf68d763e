const LEVELS: Readonly<Record<number, string>> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'error',
  60: 'fatal',
};

const levelName = (level: unknown): string =>
  typeof level === 'number' ? (LEVELS[level] ?? String(level)) : String(level);

const clock = (time: unknown): string => {
  const date = new Date(typeof time === 'number' || typeof time === 'string' ? time : Date.now());
  return Number.isNaN(date.getTime()) ? '--:--:--' : date.toTimeString().slice(0, 8);
};

const shown = (value: unknown): string => {
  if (typeof value === 'string') return /[\s"=]/.test(value) || value === '' ? JSON.stringify(value) : value;
  return JSON.stringify(value);
};

const stackOf = (error: unknown): string => {
  if (typeof error !== 'object' || error === null || !('stack' in error)) return '';
  return `\n${String(error.stack).replace(/^/gm, '    ')}`;
};

const HIDDEN = new Set(['level', 'time', 'msg', 'pid', 'hostname', 'name']);

const parse = (line: string): Record<string, unknown> | undefined => {
  if (!line.startsWith('{')) return undefined;
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return undefined;
  }
};

/** One line of a child's output for a person: a pino record as `12:00:00 broker   info  text key=value`, anything else as it is. */
export const readableLine = (source: string, line: string): string => {
  const label = source.padEnd(8);
  const record = parse(line);
  if (record === undefined) return `${clock(undefined)} ${label} ${line}`;
  const { level, time, msg, err } = record;
  const fields = Object.entries(record)
    .filter(([key]) => !HIDDEN.has(key) && !(key === 'err' && stackOf(err) !== ''))
    .map(([key, value]) => ` ${key}=${shown(value)}`);
  const text = typeof msg === 'string' ? msg : '';
  return `${clock(time)} ${label} ${levelName(level).padEnd(5)} ${text}${fields.join('')}${stackOf(err)}`;
};
