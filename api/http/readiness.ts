/** One part that a process needs. `degraded` parts work, but an operator should look. */
export interface PartState {
  readonly part: string;
  readonly state: 'ok' | 'degraded' | 'down';
  readonly detail?: string;
}

export interface ReadinessReport {
  readonly ready: boolean;
  readonly parts: readonly PartState[];
}

export type Readiness = () => Promise<ReadinessReport>;

/** Resolves to what an operator should know, or throws when the part cannot serve. */
export type PartCheck = () => Promise<{ readonly degraded: string } | undefined>;

const CHECK_MS = 3_000;

const within = <T>(work: Promise<T>, milliseconds: number): Promise<T> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`no answer within ${milliseconds} ms`));
    }, milliseconds);
  });
  return Promise.race([work, late]).finally(() => {
    clearTimeout(timer);
  });
};

const examine = async (part: string, check: PartCheck): Promise<PartState> => {
  try {
    const finding = await within(check(), CHECK_MS);
    return typeof finding === 'object'
      ? { part, state: 'degraded', detail: finding.degraded }
      : { part, state: 'ok' };
  } catch (error) {
    return { part, state: 'down', detail: error instanceof Error ? error.message : 'failed' };
  }
};

/** Ready when no part is down; the parts are asked at once. */
export const createReadiness =
  (checks: Readonly<Record<string, PartCheck>>): Readiness =>
  async () => {
    const parts = await Promise.all(Object.entries(checks).map(([part, check]) => examine(part, check)));
    return { ready: parts.every(({ state }) => state !== 'down'), parts };
  };

export const presentReadiness = ({ ready, parts }: ReadinessReport) => ({
  status: ready ? 'ok' : 'unavailable',
  parts: Object.fromEntries(
    parts.map(({ part, state, detail }) => [part, detail === undefined ? { state } : { state, detail }]),
  ),
});
