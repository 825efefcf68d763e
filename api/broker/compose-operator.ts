import type Router from '@koa/router';
import { createActs, requireMachine } from '../../activities/broker/acts.js';
import { createAuditCheckpoint } from '../../activities/broker/audit-checkpoint.js';
import { verifyAudit } from '../../activities/broker/verify-audit.js';
import { findTrust } from '../../db/broker/attestation-keys.js';
import { findOpenVote } from '../../db/broker/approvals.js';
import { countAudit, listAudit } from '../../db/broker/audit.js';
import { countMachines, listMachines } from '../../db/broker/machines.js';
import type { RequestState } from '../http/state.js';
import { createBrokerCommands } from '../temporal/broker-commands.js';
import { createApprove } from './approve.js';
import type { BrokerParts } from './parts.js';
import { auditRoutes } from './routes/audit.js';
import { extensionRoutes } from './routes/extensions.js';
import { machineRoutes } from './routes/machines.js';

/** What operators call. */
export const operatorRouters = (parts: BrokerParts): readonly Router<RequestState>[] => {
  const { config, db, operator } = parts;
  const acts = createActs(db, parts.tokens);
  const commands = createBrokerCommands(parts.temporal, config.SVC_DUAL_CONTROL_WINDOW_SECONDS);
  return [
    machineRoutes(
      {
        ...acts,
        approve: createApprove({
          acts,
          read: (machineId) => requireMachine(db, machineId),
          commands,
          dualControlRoles: config.SVC_DUAL_CONTROL_ROLES,
          breakGlassMayVote: !config.SVC_HIGH_ASSURANCE,
        }),
        read: (machineId) => requireMachine(db, machineId),
        trustOf: (machineId) => findTrust(db, machineId),
        list: async (filter) => {
          const machines = await listMachines(db, filter);
          const isWhole = filter.page === 1 && machines.length < filter.perPage;
          return { machines, total: isWhole ? machines.length : await countMachines(db, filter) };
        },
        openVotes: async (machineId) => {
          await requireMachine(db, machineId);
          const vote = await findOpenVote(db, machineId);
          return vote === undefined ? [] : [vote];
        },
      },
      operator,
    ),
    auditRoutes(
      {
        list: async (filter, page) => ({
          entries: await listAudit(db, filter, page),
          total: await countAudit(db, filter),
        }),
        verify: (known) => verifyAudit(db, known),
        checkpoint: createAuditCheckpoint(db, parts.keyRing),
      },
      operator,
    ),
    extensionRoutes(parts.extensions, operator),
  ];
};
