import type { z } from 'zod';
import type { Operation } from '../openapi/document.js';
import * as requests from './schemas/requests.js';
import * as responses from './schemas/responses.js';

type Responses = Operation['responses'];

const ok = (schema: z.ZodType, description = 'OK'): Responses => ({ 200: { description, schema } });
const error = (description: string) => ({ description, schema: responses.ErrorResponse });
const unauthenticated = { 401: error('Missing or wrong secret or token') };
const forbidden = { 403: error('The token lacks the required role') };
const invalid = { 422: { description: 'A field is wrong', schema: responses.ValidationErrorResponse } };
const unavailable = { 503: error('Try again later') };
const malformedBody = {
  413: error('The body is too large'),
  415: error('The body is not JSON'),
  ...invalid,
};
const secured = { ...unauthenticated, ...forbidden, ...unavailable };

interface Mounted {
  readonly worker: boolean;
  readonly mockMode: boolean;
}

const always: readonly Operation[] = [
  {
    method: 'get',
    path: '/health',
    tag: 'service',
    summary: 'Alive',
    open: true,
    responses: ok(responses.HealthResponse),
  },
  {
    method: 'post',
    path: '/webhook/',
    tag: 'events',
    summary: 'Event delivery: handshake, Event Grid events, CloudEvents',
    body: requests.EventsRequest,
    headers: ['aeg-event-type', 'aeg-sas-key'],
    responses: {
      200: { description: 'Handshake answered, or events accepted (empty body)' },
      400: error('Empty, malformed, or a handshake without a code'),
      413: error('The body is too large'),
      415: error('The body is not JSON'),
      500: error('Provisioning failed (strategy dead_letter)'),
      ...secured,
    },
  },
  {
    method: 'post',
    path: '/webhook/preflight',
    tag: 'provisioning',
    summary: 'Plan without changing anything',
    body: requests.PreflightRequest,
    responses: { ...ok(responses.PreflightResponse), ...malformedBody, ...secured },
  },
  {
    method: 'post',
    path: '/webhook/replay',
    tag: 'provisioning',
    summary: 'Provision again without an event',
    body: requests.ReplayRequest,
    headers: ['x-replay-secret'],
    responses: { ...ok(responses.ReplayResponse), ...malformedBody, ...secured },
  },
  {
    method: 'get',
    path: '/config',
    tag: 'service',
    summary: 'Active settings, secrets redacted',
    responses: { ...ok(responses.ConfigResponse), ...secured },
  },
  {
    method: 'get',
    path: '/jobs/stats',
    tag: 'jobs',
    summary: 'Approximate message counts',
    responses: { ...ok(responses.JobStatsResponse), ...secured },
  },
  {
    method: 'get',
    path: '/jobs/list',
    tag: 'jobs',
    summary: 'Peek the provisioning queue',
    query: requests.PeekQuery,
    responses: { ...ok(responses.JobListResponse), ...invalid, ...secured },
  },
  {
    method: 'get',
    path: '/jobs/dlq',
    tag: 'jobs',
    summary: 'Peek the dead-letter queue',
    query: requests.PeekQuery,
    responses: { ...ok(responses.JobListResponse), ...invalid, ...secured },
  },
  {
    method: 'delete',
    path: '/jobs/dlq',
    tag: 'jobs',
    summary: 'Clear the dead-letter queue',
    responses: { ...ok(responses.ClearResponse), ...secured },
  },
  {
    method: 'post',
    path: '/jobs/enqueue',
    tag: 'jobs',
    summary: 'Queue a job',
    body: requests.EnqueueRequest,
    responses: {
      202: { description: 'Queued', schema: responses.EnqueueResponse },
      ...malformedBody,
      ...secured,
    },
  },
  {
    method: 'get',
    path: '/jobs/{job_id}',
    tag: 'jobs',
    summary: 'Find a job in both queues',
    responses: { ...ok(responses.FindJobResponse), ...secured },
  },
  {
    method: 'get',
    path: '/runs',
    tag: 'runs',
    summary: 'Runs, newest first',
    query: requests.RunsQuery,
    responses: { ...ok(responses.RunListResponse), ...invalid, ...secured },
  },
  {
    method: 'get',
    path: '/runs/{subscription_id}',
    tag: 'runs',
    summary: 'The latest run of a subscription, step by step, and the runs before',
    responses: { ...ok(responses.RunHistoryResponse), 404: error('No run'), ...secured },
  },
];

const worker: Operation = {
  method: 'post',
  path: '/worker/process-job',
  tag: 'jobs',
  summary: 'Process one queue message',
  body: requests.ProcessJobRequest,
  headers: ['x-worker-secret'],
  responses: {
    ...ok(responses.ProcessJobResponse),
    500: error('Provisioning failed'),
    ...malformedBody,
    ...secured,
  },
};

const mockEvent: Operation = {
  method: 'post',
  path: '/webhook/test',
  tag: 'provisioning',
  summary: 'Provision as if an event had arrived (mock mode)',
  body: requests.MockEventRequest,
  responses: { ...ok(responses.MockEventResponse), ...malformedBody, ...secured },
};

/** Every endpoint that is mounted with these settings. */
export const vendingOperations = ({ worker: withWorker, mockMode }: Mounted): readonly Operation[] => [
  ...always,
  ...(withWorker ? [worker] : []),
  ...(mockMode ? [mockEvent] : []),
];
