import { AppError } from '../../domain/errors.js';

/** Does something for every item, whatever happens to the others. Results keep the order of the items. */
export const attemptAll = async <T, R>(
  items: readonly T[],
  attempt: (item: T) => Promise<R>,
): Promise<{ readonly results: readonly R[]; readonly failures: readonly AppError[] }> => {
  const settled = await Promise.allSettled(items.map(attempt));
  return {
    results: settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])),
    failures: settled.flatMap((one) => (one.status === 'rejected' ? [asAppError(one.reason)] : [])),
  };
};

const asAppError = (reason: unknown): AppError =>
  reason instanceof AppError ? reason : new AppError('unavailable', String(reason), { cause: reason });

/** One error for all failures; it is worth a retry when one of them is. */
export const throwIfAnyFailed = (failures: readonly AppError[]): void => {
  const [first] = failures;
  if (first === undefined) return;
  const leading = failures.find(({ kind }) => kind === 'unavailable') ?? first;
  throw new AppError(leading.kind, failures.map(({ message }) => message).join('; '), {
    cause: leading,
    code: leading.code,
    retryAfterSeconds: Math.max(0, ...failures.map((failure) => failure.retryAfterSeconds ?? 0)) || undefined,
  });
};
