import { randomUUID } from 'node:crypto';
import Router from '@koa/router';
import { AppError } from '../../../domain/errors.js';
import { decodeJob } from '../../../domain/vending/job.js';
import { requireSharedSecret } from '../../auth/shared-secret.js';
import type { RequestState } from '../../http/state.js';
import { validate } from '../../http/validate.js';
import { presentFound, presentJobs, presentStats } from '../presenters/jobs.js';
import { EnqueueRequest, PeekQuery, ProcessJobRequest } from '../schemas/requests.js';
import type { VendingUseCases } from '../use-cases.js';

const RETRY_AFTER_SECONDS = 30;

/** The queue view of jobs. */
export const jobRoutes = ({ jobs }: Pick<VendingUseCases, 'jobs'>): Router<RequestState> => {
  const router = new Router<RequestState>({ prefix: '/jobs' });
  router.get('/stats', async (ctx) => {
    ctx.body = presentStats(await jobs.stats());
  });
  router.get('/list', async (ctx) => {
    const { queue, jobs: found } = await jobs.list(
      'provisioning',
      validate(PeekQuery, ctx.query, 'query').count,
    );
    ctx.body = presentJobs(queue, found);
  });
  router.get('/dlq', async (ctx) => {
    const { queue, jobs: found } = await jobs.list(
      'deadLetter',
      validate(PeekQuery, ctx.query, 'query').count,
    );
    ctx.body = presentJobs(queue, found);
  });
  router.delete('/dlq', async (ctx) => {
    ctx.body = await jobs.clearDeadLetters();
  });
  router.post('/enqueue', async (ctx) => {
    const body = validate(EnqueueRequest, ctx.request.body);
    const jobId = body.job_id || randomUUID();
    const { messageId, queue } = await jobs.enqueue({
      jobId,
      subscriptionId: body.subscription_id,
      subscriptionName: body.subscription_name,
      managementGroupId: body.management_group_id,
      attempt: body.attempt,
    });
    ctx.status = 202;
    ctx.body = { job_id: jobId, message_id: messageId, queue };
  });
  router.get('/:job_id', async (ctx) => {
    ctx.body = presentFound(await jobs.find(ctx.params['job_id'] ?? ''));
  });
  return router;
};

/** The endpoint for an outside reader of the queue. */
export const workerRoutes = (
  workerSecret: string | undefined,
  { processJob }: Pick<VendingUseCases, 'processJob'>,
  fallbackJobId: (message: string) => string,
): Router<RequestState> => {
  const router = new Router<RequestState>();
  const requireSecret = requireSharedSecret('x-worker-secret', workerSecret, 'Invalid worker secret');
  router.post('/worker/process-job', async (ctx) => {
    requireSecret(ctx);
    const { message, delivery_count: deliveryCount } = validate(ProcessJobRequest, ctx.request.body);
    const job = decodeJob(message, fallbackJobId(message));
    const outcome = await processJob(job, deliveryCount);
    if (outcome.kind === 'failed')
      throw new AppError('failed', `Provisioning failed: ${outcome.errors.join('; ')}`);
    if (outcome.kind === 'running') {
      throw new AppError('unavailable', 'Provisioning is still running', {
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      });
    }
    ctx.body = { status: outcome.kind, subscription_id: job.subscriptionId, job_id: job.jobId };
  });
  return router;
};
