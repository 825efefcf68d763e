import {
  ServiceError,
  WorkflowExecutionAlreadyStartedError,
  WorkflowFailedError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { AppError, isErrorKind } from '../../domain/errors.js';

/** The AppError that an activity or workflow threw, as the interceptor of the workers sent it over. */
const appErrorIn = (error: unknown): AppError | undefined => {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof ApplicationFailure && isErrorKind(cause.type ?? '')) {
      const [code] = (cause.details ?? []) as [string | null | undefined];
      return new AppError(cause.type as AppError['kind'], cause.message, {
        cause: error,
        code: code ?? undefined,
      });
    }
  }
  return undefined;
};

/** What a caller is told when a workflow call failed. Temporal being away is `unavailable`, never a hang or a 500. */
export const fromTemporal = (error: unknown): unknown => {
  if (error instanceof WorkflowUpdateFailedError || error instanceof WorkflowFailedError) {
    return appErrorIn(error) ?? unavailable(error);
  }
  if (
    error instanceof ServiceError ||
    error instanceof WorkflowUpdateRPCTimeoutOrCancelledError ||
    error instanceof WorkflowExecutionAlreadyStartedError
  ) {
    return unavailable(error);
  }
  return appErrorIn(error) ?? error;
};

const unavailable = (cause: unknown): AppError =>
  new AppError('unavailable', 'the workflow engine did not answer in time; the request may be repeated', {
    cause,
    retryAfterSeconds: 5,
  });
