import type { TemporalConfig } from '../../domain/config/temporal.js';

/** Address of a workflow in the Temporal UI; without a run id, of its latest run. */
export const workflowLink = (
  config: Pick<TemporalConfig, 'TEMPORAL_UI_URL' | 'TEMPORAL_NAMESPACE'>,
  workflowId: string,
  runId?: string,
): string => {
  const base = config.TEMPORAL_UI_URL.replace(/\/+$/, '');
  const workflow = `${base}/namespaces/${encodeURIComponent(config.TEMPORAL_NAMESPACE)}/workflows/${encodeURIComponent(workflowId)}`;
  return runId === undefined ? workflow : `${workflow}/${runId}/history`;
};
