import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

interface Line {
  readonly c: string;
  readonly k: string;
  /** Absent: the entry is removed. */
  readonly v?: unknown;
}

/** What the local cloud remembers: named collections of JSON values, kept in a journal so that a killed process forgets nothing. */
export const openStore = (dir: string) => {
  mkdirSync(dir, { recursive: true });
  const journal = join(dir, 'journal.jsonl');
  const collections = new Map<string, Map<string, unknown>>();
  const collection = (name: string): Map<string, unknown> => {
    const found = collections.get(name) ?? new Map<string, unknown>();
    collections.set(name, found);
    return found;
  };
  const apply = ({ c, k, v }: Line): void => {
    if (v === undefined) collection(c).delete(k);
    else collection(c).set(k, v);
  };
  if (existsSync(journal)) readLines(journal).forEach(apply);
  const write = (line: Line): void => {
    appendFileSync(journal, `${JSON.stringify(line)}\n`);
    apply(line);
  };
  return {
    /* eslint-disable @typescript-eslint/no-unnecessary-type-parameters -- the reader knows what it stored */
    get: <T>(name: string, key: string): T | undefined => collection(name).get(key) as T | undefined,
    all: <T>(name: string): T[] => [...collection(name).values()] as T[],
    /* eslint-enable @typescript-eslint/no-unnecessary-type-parameters */
    put: (name: string, key: string, value: unknown): void => write({ c: name, k: key, v: value }),
    remove: (name: string, key: string): void => write({ c: name, k: key }),
    clear: (): void => {
      for (const [name, entries] of collections)
        for (const key of [...entries.keys()]) write({ c: name, k: key });
    },
  };
};

export type Store = ReturnType<typeof openStore>;

/** A process killed while it wrote leaves half a line at the end. */
const readLines = (path: string): Line[] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .flatMap((line) => {
      try {
        return [JSON.parse(line) as Line];
      } catch {
        return [];
      }
    });
