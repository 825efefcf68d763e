import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import type { ActivityInboundCallsInterceptor } from '@temporalio/worker';
import { AppError } from '../domain/errors.js';

/** An AppError keeps its kind across Temporal; only `unavailable` is worth a retry, after the wait that it names. */
export const toFailure = (error: unknown): unknown =>
  error instanceof AppError
    ? ApplicationFailure.create({
        message: error.message,
        type: error.kind,
        nonRetryable: error.kind !== 'unavailable',
        details: [error.code ?? null],
        ...(error.kind === 'unavailable' ? {} : { category: ApplicationFailureCategory.BENIGN }),
        ...(error.retryAfterSeconds === undefined
          ? {}
          : { nextRetryDelay: Math.ceil(error.retryAfterSeconds * 1000) }),
      })
    : error;

export const failureInterceptor = (): { inbound: ActivityInboundCallsInterceptor } => ({
  inbound: {
    execute: async (input, next) => {
      try {
        return await next(input);
      } catch (error) {
        throw toFailure(error);
      }
    },
  },
});
