import type { Attested } from '../../../activities/broker/attest.js';
import type { AttestAction } from '../../../domain/broker/lifecycle.js';
import type { MachineStatus } from '../../../domain/broker/machine.js';

const told: Readonly<Record<AttestAction, string>> = {
  none: 'Nothing to do.',
  'apply-config': 'Attested: fetch config_url and apply it.',
  wipe: 'Revoked: reset the node and wipe STATE and EPHEMERAL, then report wipe-complete.',
  lock: 'Locked by an operator: stop the enrollment.',
};

const waiting: Partial<Readonly<Record<MachineStatus, string>>> = {
  pending_approval: 'Waiting for an operator: poll again in 60 seconds.',
  revoked: 'This machine is revoked.',
};

export const presentAttested = ({ machine, action, configToken, configUrl, note }: Attested) => {
  const message = action === 'none' ? (waiting[machine.status] ?? told.none) : told[action];
  return {
    machine_id: machine.machineId,
    status: machine.status,
    hostname: machine.hostname,
    role: machine.role,
    message: note === null ? message : `${message} ${note}`,
    action,
    config_url: configUrl,
    config_token: configToken,
  };
};
