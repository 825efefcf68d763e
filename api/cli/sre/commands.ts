import { writeFileSync } from 'node:fs';
import type { SreDeps } from './context.js';
import { temporalConfig, withTemporal } from './context.js';
import { workflowLink } from '../../temporal/ui-link.js';
import { diagnose } from './doctor/run.js';
import { renderFindings } from './doctor/finding.js';
import { findFailed } from './failed.js';
import type { FailedReport } from './failed.js';
import { fetchHistory, historyText, parseHistory } from './history.js';
import { parseResetTarget, rerunWorkflow, resetWorkflow } from './recover.js';
import type { NewRun } from './recover.js';
import { renderTable } from './table.js';

export interface FailedOptions {
  readonly since: number;
  readonly type?: string;
  readonly attempts: number;
  readonly idle: number;
  readonly limit: number;
  readonly output: 'table' | 'json';
  readonly check?: true;
}

/** Each command prints its answer and returns the exit code. */
export const failed = async (deps: SreDeps, options: FailedOptions): Promise<number> => {
  const report = await withTemporal(deps, (temporal) =>
    findFailed(temporal, {
      sinceMs: options.since,
      attempts: options.attempts,
      idleMs: options.idle * 1000,
      limit: options.limit,
      now: deps.now(),
      ...(options.type === undefined ? {} : { type: options.type }),
    }),
  );
  deps.out(options.output === 'json' ? JSON.stringify(report, undefined, 2) : failedTable(report));
  return options.check && report.workflows.length > 0 ? 1 : 0;
};

const failedTable = ({ workflows, truncated }: FailedReport): string => {
  if (workflows.length === 0) return 'no failed or stuck workflows';
  const table = renderTable(
    ['TYPE', 'STATUS', 'WORKFLOW', 'REASON', 'LINK'],
    workflows.map((w) => [w.type, w.status, w.workflowId, w.reason, w.link]),
  );
  return truncated ? `${table}\nthere are more: raise --limit, or narrow with --type or --since` : table;
};

export interface ReplayOptions {
  readonly file?: string;
  readonly runId?: string;
}

export const replay = async (
  deps: SreDeps,
  workflowId: string | undefined,
  { file, runId }: ReplayOptions,
): Promise<number> => {
  if ((workflowId === undefined) === (file === undefined))
    throw new Error('give either a workflow id or --file');
  const history =
    file === undefined
      ? await withTemporal(deps, ({ client }) => fetchHistory(client, workflowId ?? '', runId))
      : parseHistory(deps.readFile(file));
  const { replayHistory, bundleOfHistory } = await import('./replay.js');
  const bundle = await deps.workflowBundle(bundleOfHistory(history));
  const verdict = await replayHistory(history, workflowId ?? 'from-file', bundle);
  if (verdict.deterministic) {
    deps.out(`deterministic: ${verdict.workflowType}, ${verdict.events} events`);
    return 0;
  }
  const where = verdict.divergedAt;
  deps.out(
    `NOT deterministic: ${verdict.workflowType}${where === undefined ? '' : `, at event ${where.eventId} ${where.eventType}`}\n  ${verdict.message ?? ''}`,
  );
  return 1;
};

export interface ResetOptions {
  readonly to: readonly string[];
  readonly runId?: string;
  readonly reason: string;
}

export const reset = async (deps: SreDeps, workflowId: string, options: ResetOptions): Promise<number> => {
  const target = parseResetTarget(options.to.join(' '));
  const { reason, runId } = options;
  const run = await withTemporal(deps, (temporal) =>
    resetWorkflow(temporal, workflowId, { target, reason, ...(runId === undefined ? {} : { runId }) }),
  );
  printRun(deps, `reset to event ${run.eventId}`, run);
  return 0;
};

export const rerun = async (
  deps: SreDeps,
  workflowId: string,
  options: { readonly runId?: string },
): Promise<number> => {
  printRun(deps, 'started again', await withTemporal(deps, (t) => rerunWorkflow(t, workflowId, options)));
  return 0;
};

const printRun = (deps: SreDeps, what: string, { workflowId, runId }: NewRun): void =>
  deps.out(`${workflowId} ${what}, run ${runId}\n${workflowLink(temporalConfig(deps), workflowId, runId)}`);

export const exportHistory = async (
  deps: SreDeps,
  workflowId: string,
  { out, runId }: { readonly out?: string; readonly runId?: string },
): Promise<number> => {
  const history = await withTemporal(deps, ({ client }) => fetchHistory(client, workflowId, runId));
  if (out === undefined) deps.out(historyText(history).trimEnd());
  else {
    writeFileSync(out, historyText(history));
    deps.out(`${history.events?.length ?? 0} events written to ${out}`);
  }
  return 0;
};

export const doctor = async (
  deps: SreDeps,
  options: { readonly output: 'table' | 'json'; readonly strict?: true },
): Promise<number> => {
  const findings = await diagnose(deps);
  deps.out(options.output === 'json' ? JSON.stringify(findings, undefined, 2) : renderFindings(findings));
  const bad = options.strict ? ['fail', 'warn'] : ['fail'];
  return findings.some(({ level }) => bad.includes(level)) ? 1 : 0;
};
