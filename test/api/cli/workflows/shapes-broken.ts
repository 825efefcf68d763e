import { proxyActivities } from '@temporalio/workflow';

const { flaky } = proxyActivities<{ flaky: (key: string) => Promise<string> }>({
  startToCloseTimeout: '5 seconds',
});

/** The next version of `twoSteps`, changed without a patch: the timer is gone. */
export const twoSteps = async (key: string): Promise<string> => `${await flaky(key)} ${await flaky(key)}`;
