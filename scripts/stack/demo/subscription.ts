import { workflowIds } from '../../../workflows/ids.js';
import { waitUntil } from '../wait.js';
import { LOCAL_CLOUD_VARIABLE } from '../cloud.js';
import { call, linkTo, trusting } from './http.js';

type Env = Readonly<Record<string, string>>;
type Tell = (line: string) => void;

const PROVISIONED_MS = 120_000;

/** A new subscription appears in the local cloud; its event reaches the vending gateway, and the workflow provisions it. */
export const playSubscription = async (env: Env, tell: Tell): Promise<void> => {
  const cloud = env[LOCAL_CLOUD_VARIABLE];
  if (cloud === undefined) return;
  const dispatcher = trusting(env['VENDING_CA_FILE']);
  const cloudCall = <T>(path: string, body?: object) =>
    call<T>(`${cloud}/control/${path}`, {
      ...(body === undefined ? {} : { body }),
      ...(dispatcher === undefined ? {} : { dispatcher }),
    });
  const made = await cloudCall<{ subscription_id: string }>('subscriptions', {
    display_name: 'demo',
    tags: { 'svc-environment': 'development', 'svc-budget': '500', 'svc-owner': 'owner@example.org' },
  });
  const id = made.body.subscription_id;
  tell(`a subscription ${id} appears in the cloud, which sends an event`);
  tell(`  ${linkTo(env, workflowIds.provision(id))}`);
  const state = () => cloudCall<Readonly<Record<string, readonly unknown[]>>>('state');
  const about = (things: readonly unknown[] | undefined): number =>
    (things ?? []).filter((thing) => JSON.stringify(thing).includes(id)).length;
  await waitUntil(
    'the event that tells the outcome',
    async () => about((await state()).body['published']) > 0,
    PROVISIONED_MS,
  );
  const { body } = await state();
  const done = ['roleAssignments', 'initiatives', 'budgets'].map((kind) => `${kind} ${about(body[kind])}`);
  tell(`its run is over and published; in the cloud there are now: ${done.join(', ')}`);
};
