import type { z } from 'zod';
import { AppError } from '../../domain/errors.js';
import type { Issue } from '../../domain/errors.js';

export { plainText } from '../../domain/plain-text.js';

type Part = 'body' | 'query' | 'path' | 'header';

const issueOf = (part: Part, issue: z.core.$ZodIssue): Issue => ({
  loc: [part, ...issue.path.map((key) => (typeof key === 'symbol' ? String(key) : key))],
  msg: issue.message,
  type: issue.code,
});

/** The parsed value, or a 422 that names every field that is wrong. Unknown fields are dropped. */
export const validate = <T>(schema: z.ZodType<T>, value: unknown, part: Part = 'body'): T => {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.slice(0, 20).map((issue) => issueOf(part, issue));
  throw new AppError('invalid', issues[0]?.msg ?? 'invalid request', { issues });
};

/** A UUID in a path: anything else cannot name a row, hence 404 and not 422. */
export const uuidInPath = (value: string | undefined, what: string): string => {
  if (value !== undefined && /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/i.test(value))
    return value.toLowerCase();
  throw new AppError('not_found', `${what} not found`);
};
