const { Config } = require('@pulumi/pulumi');
const { MachineApproval, RegisteredMachine } = require('@keystead/provider');

// pulumi config set endpoint https://broker.example.com
// pulumi config set --secret token ...; pulumi config set --secret ekCertPem -- "$(cat ek.pem)"
const config = new Config();
const connection = { endpoint: config.require('endpoint'), token: config.requireSecret('token') };
const role = config.require('role');

const machine = new RegisteredMachine('node', {
  ...connection,
  ek_fingerprint: config.require('ekFingerprint'),
  ek_cert_pem: config.requireSecret('ekCertPem'),
  desired_role: role,
});
const approval = new MachineApproval('node', {
  ...connection,
  machine_id: machine.machine_id,
  role,
  hostname: config.require('hostname'),
});

exports.machineId = approval.machine_id;
exports.image = machine.iso_url;
exports.status = approval.status;
