import type { temporal } from '@temporalio/proto';

type Failure = temporal.api.failure.v1.IFailure;

const MAX_LENGTH = 200;

/** The innermost cause in one line: `conflict: machine changed meanwhile`. */
export const failureText = (failure: Failure | null | undefined): string => {
  let innermost = failure ?? undefined;
  while (innermost?.cause) innermost = innermost.cause;
  if (innermost === undefined) return 'no failure recorded';
  const type = innermost.applicationFailureInfo?.type;
  const message = innermost.message || 'no message';
  return oneLine(type ? `${type}: ${message}` : message);
};

export const oneLine = (text: string): string => {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > MAX_LENGTH ? `${line.slice(0, MAX_LENGTH - 1)}…` : line;
};
