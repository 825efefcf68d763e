/** How a step behaves in a run. Notifications never change the verdict; a step marked `stopsRun` ends it. */
export interface StepDefinition {
  readonly name: string;
  /** Names of the steps that must have ended before this one starts. */
  readonly after: readonly string[];
  readonly kind: 'step' | 'notification';
  readonly stopsRun?: boolean;
  /** Which activity options apply: writes into the cloud, a call to a service, or a message to somebody. */
  readonly patience: Patience;
}

/** `replication`: fresh subscriptions refuse writes for minutes; `service`: a short call; `message`: best effort. */
export type Patience = 'replication' | 'service' | 'message';

const NAME = /^[A-Z][A-Z0-9_]{0,63}$/;

const step = (name: string, patience: Patience, after: readonly string[]): StepDefinition => ({
  name,
  after,
  kind: 'step',
  patience,
});

export const STEP_MG = 'STEP_MG';
export const STEP_INITIATIVE = 'STEP_INITIATIVE';
export const STEP_RBAC = 'STEP_RBAC';
export const STEP_POLICY = 'STEP_POLICY';
export const STEP_BUDGET = 'STEP_BUDGET';
export const STEP_NOTIFY = 'STEP_NOTIFY';
export const NOTIFY_API = 'NOTIFY_API';
export const TICKET_FEEDBACK = 'TICKET_FEEDBACK';
export const NOTIFY_WEBHOOK = 'NOTIFY_WEBHOOK';

const notification = (name: string, after: string): StepDefinition => ({
  name,
  after: [after],
  kind: 'notification',
  patience: 'message',
});

export const builtInSteps: readonly StepDefinition[] = [
  step(STEP_MG, 'replication', []),
  step(STEP_INITIATIVE, 'service', [STEP_MG]),
  step(STEP_RBAC, 'replication', [STEP_INITIATIVE]),
  step(STEP_POLICY, 'replication', [STEP_RBAC]),
  step(STEP_BUDGET, 'replication', [STEP_POLICY]),
  notification(STEP_NOTIFY, STEP_BUDGET),
];

/** The steps that settings switch on; each runs after STEP_NOTIFY. */
export const optionalSteps = {
  apiNotify: notification(NOTIFY_API, STEP_NOTIFY),
  ticketFeedback: notification(TICKET_FEEDBACK, STEP_NOTIFY),
  webhookNotify: notification(NOTIFY_WEBHOOK, STEP_NOTIFY),
} as const;

/**
 * Order of a run: dependencies first, registration order among equals. Notifications come last, since they tell the verdict.
 * Throws an Error naming the fault for a bad or repeated name, an unknown dependency or a cycle: nothing runs then.
 */
export const orderSteps = (steps: readonly StepDefinition[]): readonly StepDefinition[] => {
  checkNames(steps);
  const ordered: StepDefinition[] = [];
  const done = new Set<string>();
  const waiting = [...steps];
  while (waiting.length > 0) {
    const ready = waiting.filter((candidate) => candidate.after.every((name) => done.has(name)));
    const next = ready.find((candidate) => candidate.kind === 'step') ?? ready[0];
    if (next === undefined) {
      throw new Error(
        `steps depend on each other in a circle: ${waiting.map(({ name }) => name).join(', ')}`,
      );
    }
    waiting.splice(waiting.indexOf(next), 1);
    done.add(next.name);
    ordered.push(next);
  }
  return ordered;
};

const checkNames = (steps: readonly StepDefinition[]): void => {
  const names = new Set<string>();
  for (const { name } of steps) {
    if (!NAME.test(name)) throw new Error(`step name ${name} must be upper case letters, digits and _`);
    if (names.has(name)) throw new Error(`step ${name} is registered twice`);
    names.add(name);
  }
  for (const { name, after } of steps) {
    const unknown = after.find((dependency) => !names.has(dependency));
    if (unknown !== undefined) throw new Error(`step ${name} depends on ${unknown}, which is not registered`);
  }
};
