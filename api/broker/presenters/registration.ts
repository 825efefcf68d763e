import type { Registered } from '../../../activities/broker/register.js';

const common = ({ machine }: Registered) => ({
  machine_id: machine.machineId,
  role: machine.role,
  status: machine.status,
});

export const presentRegistered = (registered: Registered) => ({
  ...common(registered),
  iso_url: registered.isoUrl,
  config_token: registered.configToken,
  config_url: registered.configUrl,
  message: registered.isNew
    ? 'Machine registered: boot it from iso_url.'
    : 'Machine was registered already; it has a fresh config token.',
});

export const presentSelfRegistered = (registered: Registered) => ({
  ...common(registered),
  config_token: registered.configToken,
  config_url: registered.configUrl,
  message: registered.isNew
    ? 'Waiting for an operator: poll /api/v1/attest every 60 seconds.'
    : 'This machine is known: go on with /api/v1/attest.',
});
