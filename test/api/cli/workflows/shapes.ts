import {
  ApplicationFailure,
  condition,
  defineSignal,
  proxyActivities,
  setHandler,
  sleep,
} from '@temporalio/workflow';

const { flaky } = proxyActivities<{ flaky: (key: string) => Promise<string> }>({
  startToCloseTimeout: '5 seconds',
  retry: { initialInterval: '20 milliseconds', backoffCoefficient: 1 },
});

export const finishSignal = defineSignal('finish');

/** Two steps with a timer between: enough of a history to reset to, and to break. */
export const twoSteps = async (key: string): Promise<string> => {
  const first = await flaky(key);
  await sleep(1);
  return `${first} ${await flaky(key)}`;
};

export const failing = async (why: string): Promise<void> => {
  await sleep(1);
  throw ApplicationFailure.nonRetryable(why, 'conflict');
};

/** Its tasks fail for ever, as those of a workflow with a bug do. */
export const throwing = async (): Promise<void> => {
  await sleep(1);
  throw new TypeError('cannot read properties of undefined');
};

export const waiting = async (): Promise<void> => {
  let finished = false;
  setHandler(finishSignal, () => {
    finished = true;
  });
  await condition(() => finished);
};
