import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import type { Knex } from 'knex';
import { countAuditByAction } from '../../db/broker/audit.js';
import { countByStatus } from '../../db/broker/machines.js';
import { readTotals } from '../../db/broker/metric-totals.js';
import { outboxLag } from '../../db/outbox.js';
import { machineStatuses } from '../../domain/broker/machine.js';
import { AppError } from '../../domain/errors.js';
import type { ExtensionInfo } from './routes/extensions.js';

/**
 * The seven metrics of the specification, and what a gateway knows of itself. What happens in several processes
 * (deliveries, audit, machines) is read from rows at a scrape and is the same on every gateway: take the `max` over
 * gateways. What a gateway serves it counts itself: take the `sum`.
 */
export interface BrokerMetrics {
  readonly registry: Registry;
  readonly observeRequest: (request: {
    method: string;
    route: string;
    status: number;
    seconds: number;
  }) => void;
  /** Wraps a use case: its results are counted by what `statusOf` says of them, a refusal as `refused`. */
  readonly countRegistrations: <A extends unknown[], R>(
    call: (...args: A) => Promise<R>,
    statusOf: (result: R) => string,
  ) => (...args: A) => Promise<R>;
  readonly countAttestations: <A extends unknown[], R>(
    call: (...args: A) => Promise<R>,
    labelsOf: (result: R) => { readonly action: string; readonly status: string },
  ) => (...args: A) => Promise<R>;
  /** Wraps every function of a set of use cases; the operation is `<kind>_<function>`. */
  readonly countSecrets: <T extends object>(kind: string, useCases: T) => T;
}

export const metricsExtension: ExtensionInfo = {
  name: 'metrics',
  version: '1.0.0',
  description: 'Prometheus metrics',
};

interface MetricsDeps {
  readonly db: Knex;
  /** Challenges that are outstanding now. */
  readonly activeSessions: () => Promise<number> | number;
}

const REQUEST_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export const createBrokerMetrics = (deps: MetricsDeps): BrokerMetrics => {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[]) =>
    new Counter({ name, help, labelNames, registers: [registry] });
  const registrations = counter('attestation_machine_registrations_total', 'Registrations served', [
    'status',
  ]);
  const attestations = counter('attestation_machine_attestations_total', 'Attestations served', [
    'action',
    'status',
  ]);
  const secrets = counter('attestation_secret_operations_total', 'Operations on secrets', [
    'operation',
    'status',
  ]);
  const requests = new Histogram({
    name: 'keystead_http_request_seconds',
    help: 'Time to answer a request',
    labelNames: ['method', 'route', 'status'] as const,
    buckets: REQUEST_BUCKETS,
    registers: [registry],
  });
  addRowMetrics(registry, deps);

  return {
    registry,
    observeRequest: ({ method, route, status, seconds }) =>
      requests.observe({ method, route, status: `${Math.floor(status / 100)}xx` }, seconds),
    countRegistrations: (call, statusOf) =>
      observed(
        call,
        (result) => registrations.inc({ status: statusOf(result) }),
        () => registrations.inc({ status: 'refused' }),
      ),
    countAttestations: (call, labelsOf) =>
      observed(
        call,
        (result) => attestations.inc(labelsOf(result)),
        () => attestations.inc({ action: 'none', status: 'refused' }),
      ),
    countSecrets: (kind, useCases) =>
      Object.fromEntries(
        Object.entries(useCases).map(([name, call]) => {
          const operation = `${kind}_${name}`;
          return [
            name,
            observed(
              call as (...args: unknown[]) => Promise<unknown>,
              () => secrets.inc({ operation, status: 'success' }),
              (error) => secrets.inc({ operation, status: error instanceof AppError ? error.kind : 'error' }),
            ),
          ];
        }),
      ) as typeof useCases,
  };
};

const observed =
  <A extends unknown[], R>(
    call: (...args: A) => Promise<R>,
    onResult: (result: R) => void,
    onError: (error: unknown) => void,
  ) =>
  async (...args: A): Promise<R> => {
    try {
      const result = await call(...args);
      onResult(result);
      return result;
    } catch (error) {
      onError(error);
      throw error;
    }
  };

/** Metrics that are read at a scrape; a counter of rows is set to its total. */
const addRowMetrics = (registry: Registry, { db, activeSessions }: MetricsDeps): void => {
  const registers = [registry];
  new Counter({
    name: 'attestation_webhook_deliveries_total',
    help: 'Delivery attempts by all workers',
    labelNames: ['event_type', 'status'] as const,
    registers,
    async collect() {
      const totals = await readTotals(db, 'webhook_deliveries');
      this.reset();
      for (const { labels, value } of totals)
        this.inc({ event_type: labels[0] ?? '', status: labels[1] ?? '' }, value);
    },
  });
  new Counter({
    name: 'attestation_audit_log_entries_total',
    help: 'Rows of the audit log',
    labelNames: ['action'] as const,
    registers,
    async collect() {
      const totals = await countAuditByAction(db);
      this.reset();
      for (const { action, total } of totals) this.inc({ action }, total);
    },
  });
  new Gauge({
    name: 'attestation_machines_by_status',
    help: 'Machines by status',
    labelNames: ['status'] as const,
    registers,
    async collect() {
      const counts = await countByStatus(db);
      for (const status of machineStatuses) this.set({ status }, counts[status] ?? 0);
    },
  });
  new Gauge({
    name: 'attestation_active_sessions',
    help: 'Attestation challenges that are outstanding',
    registers,
    async collect() {
      this.set(await activeSessions());
    },
  });
  addServiceMetrics(registry, db);
};

const addServiceMetrics = (registry: Registry, db: Knex): void => {
  const registers = [registry];
  new Gauge({
    name: 'keystead_outbox_waiting',
    help: 'Outbox rows that wait for the relay',
    registers,
    async collect() {
      this.set((await outboxLag(db)).waiting);
    },
  });
  new Gauge({
    name: 'keystead_outbox_oldest_seconds',
    help: 'Age of the oldest outbox row',
    registers,
    async collect() {
      this.set((await outboxLag(db)).oldestSeconds);
    },
  });
  new Gauge({
    name: 'keystead_database_pool',
    help: 'Connections of this process',
    labelNames: ['state'] as const,
    registers,
    collect() {
      const pool = (db.client as { pool: Record<'numUsed' | 'numFree' | 'numPendingAcquires', () => number> })
        .pool;
      this.set({ state: 'used' }, pool.numUsed());
      this.set({ state: 'free' }, pool.numFree());
      this.set({ state: 'waiting' }, pool.numPendingAcquires());
    },
  });
};
