import { createHash, randomUUID } from 'node:crypto';
import type { Knex } from 'knex';
import { readLogPieces } from '../../../db/iac/deployment-logs.js';
import type { LogPiece } from '../../../db/iac/deployment-logs.js';
import {
  countDeployments,
  endDeployment,
  findDeployment,
  findDeploymentByNumber,
  findTokenHolder,
  insertDeployment,
  linkUpdate,
  listDeployments,
  listLinkedUpdates,
} from '../../../db/iac/deployments.js';
import type { TokenHolder } from '../../../db/iac/deployments.js';
import { lockStack } from '../../../db/iac/stacks.js';
import { findUpdate } from '../../../db/iac/updates.js';
import { addToOutbox } from '../../../db/outbox.js';
import { AppError } from '../../../domain/errors.js';
import { isOver, needsProgram } from '../../../domain/iac/deployments/deployment.js';
import type {
  Deployment,
  DeploymentOperation,
  DeploymentSecrets,
  DeploymentSource,
} from '../../../domain/iac/deployments/deployment.js';
import type { StackName } from '../../../domain/iac/names.js';
import type { Update } from '../../../domain/iac/update.js';
import { createAddressGuard } from '../../adapters/address-guard.js';
import { judgeSource } from '../../adapters/git.js';
import type { IacDeps } from '../deps.js';
import { requireStack } from '../stacks.js';
import { sealSecrets } from './secrets.js';

/** Outbox topics: start the workflow, tell it of a cancellation, tell it that its turn has come. */
export const DEPLOYMENT_TOPIC = 'iac-deployment';
export const DEPLOYMENT_CANCEL_TOPIC = 'iac-deployment-cancel';
export const DEPLOYMENT_TURN_TOPIC = 'iac-deployment-turn';

const PIECES_A_PAGE = 200;

export interface DeploymentRequest {
  readonly operation: DeploymentOperation;
  readonly source: DeploymentSource | null;
  readonly preRunCommands: readonly string[];
  readonly secrets: DeploymentSecrets;
  readonly requestedBy: string;
  readonly initiator: string;
}

export interface LogPage {
  readonly pieces: readonly LogPiece[];
  /** Number to continue after; `undefined` = that was all there will be. */
  readonly next: number | undefined;
}

export const hashOfToken = (token: string): Buffer => createHash('sha256').update(token).digest();

/** What callers do with deployments; the run itself is the workflow's. */
export const createDeploymentCommands = (deps: IacDeps) => {
  const { db, clock, keyRing, sources } = deps;
  const guard = createAddressGuard({ allowedCidrs: sources.allowedCidrs });

  /** The first words about a deployment are durable with this; the workflow follows by the outbox. */
  const create = async (name: StackName, request: DeploymentRequest): Promise<Deployment> => {
    const { operation, source, preRunCommands, secrets, requestedBy, initiator } = request;
    if (source === null && needsProgram(operation))
      throw new AppError('malformed', `'source' is required for the operation '${operation}'`);
    if (source !== null) judgeSource(guard, sources, source);
    const { id: stackId } = await requireStack(db, name);
    const id = randomUUID();
    const sealed = sealSecrets(keyRing, id, secrets);
    return db.transaction(async (trx) => {
      await lockStack(trx, stackId);
      const row = { id, stackId, operation, source, preRunCommands, requestedBy, initiator, sealed };
      await insertDeployment(trx, row);
      await addToOutbox(trx, [
        { topic: DEPLOYMENT_TOPIC, key: id, payload: { stack: Object.values(name).join('/') } },
      ]);
      return requireDeployment(trx, stackId, id);
    });
  };

  const requireDeployment = async (trx: Knex, stackId: string, id: string): Promise<Deployment> => {
    const deployment = await findDeployment(trx, id);
    if (deployment?.stackId !== stackId) throw new AppError('not_found', 'no such deployment');
    return deployment;
  };

  const find = async (name: StackName, id: string): Promise<Deployment> =>
    requireDeployment(db, (await requireStack(db, name)).id, id);

  const findByNumber = async (name: StackName, number: number): Promise<Deployment> => {
    const deployment = await findDeploymentByNumber(db, (await requireStack(db, name)).id, number);
    if (deployment === undefined) throw new AppError('not_found', 'no such deployment');
    return deployment;
  };

  const list = async (
    name: StackName,
    page: { readonly page: number; readonly pageSize: number; readonly ascending: boolean },
  ) => {
    const { id } = await requireStack(db, name);
    const range = {
      offset: (page.page - 1) * page.pageSize,
      limit: page.pageSize,
      ascending: page.ascending,
    };
    return { deployments: await listDeployments(db, id, range), total: await countDeployments(db, id) };
  };

  /** Durable when it returns; one that is over stays as it is. The CLI, if it runs, is told by the workflow. */
  const cancel = async (name: StackName, id: string): Promise<void> => {
    const deployment = await find(name, id);
    if (isOver(deployment.status)) return;
    await db.transaction(async (trx) => {
      const end = { status: 'cancelled', reason: 'cancelled by a caller', exitCode: null } as const;
      if (!(await endDeployment(trx, deployment.id, end, clock.now()))) return;
      await addToOutbox(trx, [{ topic: DEPLOYMENT_CANCEL_TOPIC, key: deployment.id, payload: {} }]);
    });
  };

  const logs = async (name: StackName, id: string, after: number): Promise<LogPage> => {
    // Status first: what is read after the end of a deployment is all of it.
    const { status } = await find(name, id);
    const pieces = await readLogPieces(db, id, after, PIECES_A_PAGE);
    const last = pieces.at(-1)?.number ?? after;
    return { pieces, next: isOver(status) && pieces.length < PIECES_A_PAGE ? undefined : last };
  };

  const updates = async (name: StackName, id: string): Promise<readonly Update[]> => {
    await find(name, id);
    const found = await Promise.all(
      (await listLinkedUpdates(db, id)).map((updateId) => findUpdate(db, updateId)),
    );
    return found.filter((update) => update !== undefined);
  };

  return {
    create,
    find,
    findByNumber,
    list,
    cancel,
    logs,
    updates,
    /** Who calls with a token that is no operator's. */
    holderOf: (token: string): PromiseLike<TokenHolder | undefined> =>
      findTokenHolder(db, hashOfToken(token)),
    link: (deploymentId: string, updateId: string) => linkUpdate(db, deploymentId, updateId),
  };
};
