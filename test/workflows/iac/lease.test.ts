import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { createIacActivities } from '../../../activities/iac/index.js';
import { startRelay } from '../../../workers/relay.js';
import type { Relay } from '../../../workers/relay.js';
import { createIacOutboxHandlers } from '../../../workers/iac-outbox.js';
import { runWorkers } from '../../../workers/run.js';
import type { RunningWorkers } from '../../../workers/run.js';
import { workflowIds } from '../../../workflows/ids.js';
import { createEntries, iacClient } from '../../support/iac-client.js';
import { iacWorld, silent } from '../../support/iac.js';
import type { IacWorld } from '../../support/iac.js';
import { testBundle, timeSkippingServer } from '../../support/temporal.js';

const MINUTE = 60_000;

describe('the lease of an update', () => {
  let temporal: TestWorkflowEnvironment;
  let world: IacWorld;
  let workers: RunningWorkers;
  let relay: Relay;
  let time = Date.parse('2026-01-01T12:00:00Z');
  /** Each look at a lease passes this much time beforehand: the wait that the workflow was told. */
  let looks: string[];

  beforeAll(async () => {
    temporal = await timeSkippingServer();
  });
  afterAll(() => temporal.teardown());
  beforeEach(async () => {
    world = await iacWorld({ clock: { now: () => new Date(time) } });
    looks = [];
    const real = createIacActivities(world.deps);
    const activities = {
      ...real,
      endLapsedUpdate: async (input: { readonly updateId: string }) => {
        const answer = await real.endLapsedUpdate(input);
        looks.push(answer.waitMs === null ? 'over' : `wait ${answer.waitMs}`);
        if (answer.waitMs !== null) time += answer.waitMs;
        return answer;
      },
    };
    workers = await runWorkers(temporal.nativeConnection, 'default', 10, [
      { queue: 'iac', activities, workflowBundle: testBundle('iac') },
    ]);
    relay = startRelay({
      db: world.database.db,
      databaseUrl: world.database.url,
      log: silent,
      handlers: createIacOutboxHandlers(temporal.client),
    });
  });
  afterEach(async () => {
    await relay.stop();
    await workers.shutdown();
    await world.close();
  });

  const leaseOf = async (updateId: string): Promise<void> => {
    const handle = temporal.client.workflow.getHandle(workflowIds.lease(updateId));
    for (;;) {
      try {
        await handle.describe();
        break;
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
    await handle.result();
  };

  it('ends by itself: the journal is folded and the stack is free without any request', async () => {
    const stack = iacClient(world.url).stack('dev');
    await stack.create();
    const update = await stack.start();
    await update.send('PATCH', '/journalentries', { entries: createEntries('a', 1) });
    await leaseOf(update.id);
    expect(looks).toEqual([`wait ${5 * MINUTE}`, 'over']);
    const row = await world.database
      .db('extension_iac_state_stacks')
      .first('active_update', 'resource_count');
    expect(row).toEqual({ active_update: null, resource_count: 1 });
    const { body } = await stack.call<{ updates: { result: string; message: string }[] }>('GET', '/updates');
    expect(body.updates).toMatchObject([
      { result: 'failed', message: expect.stringContaining('lease') as unknown },
    ]);
  });

  it('of an update that completed is over at the next look', async () => {
    const stack = iacClient(world.url).stack('dev');
    await stack.create();
    const update = await stack.start();
    await update.complete();
    await leaseOf(update.id);
    expect(looks.at(-1)).toBe('over');
    const { body } = await stack.call<{ updates: { result: string }[] }>('GET', '/updates');
    expect(body.updates.map(({ result }) => result)).toEqual(['succeeded']);
  });

  it('of a removed stack purges it after seven days, and not when it was restored', async () => {
    const client = iacClient(world.url);
    for (const name of ['gone', 'back']) {
      await client.stack(name).create();
      await client.stack(name).call('DELETE');
    }
    await client.stack('back').call('POST', '/restore');
    const ids = await world.database
      .db('extension_iac_state_stacks')
      .select<{ id: string; name: string }[]>('id', 'name');
    time += 7 * 24 * 60 * MINUTE;
    for (const { id } of ids) {
      const handle = temporal.client.workflow.getHandle(workflowIds.purge(id));
      for (;;) {
        try {
          await handle.describe();
          break;
        } catch {
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      }
      await handle.result();
    }
    expect(await world.database.db('extension_iac_state_stacks').pluck('name')).toEqual(['back']);
  });
});
