import * as pulumi from '@pulumi/pulumi';
import type { MachineInputs, MachineState } from './machine-handler.js';
import { handlers } from './installed.js';

export interface ConnectionArgs {
  /** Base URL of the service. */
  endpoint: pulumi.Input<string>;
  /** Operator bearer token; kept as a secret. */
  token: pulumi.Input<string>;
}

export interface RegisteredMachineArgs extends ConnectionArgs {
  /** SHA-384 of the EK, hex. */
  ek_fingerprint: pulumi.Input<string>;
  /** PEM EK certificate, or what `ek_source` says; kept as a secret. */
  ek_cert_pem: pulumi.Input<string>;
  /** `cert` (default) or `pub`. */
  ek_source?: pulumi.Input<string>;
  hw_serial?: pulumi.Input<string>;
  hw_product?: pulumi.Input<string>;
  hw_mac?: pulumi.Input<string>;
  hw_uuid?: pulumi.Input<string>;
  /** `controlplane`, `worker-infra` or `worker-app`; asked for at registration, changed later by a MachineApproval. */
  desired_role?: pulumi.Input<string>;
  /** When the service registers machines only with `SVC_REGISTER_TOKEN`; kept as a secret. */
  register_token?: pulumi.Input<string>;
  /** When true, destroy leaves the machine as it is. */
  keep_on_delete?: pulumi.Input<boolean>;
}

/** A closure over nothing but `handlers`: this is what the state keeps. */
const provider: pulumi.dynamic.ResourceProvider<MachineInputs, MachineState> = {
  check: (_olds, news) => Promise.resolve(handlers().machine.check(news)),
  diff: (_id, olds, news) => Promise.resolve(handlers().machine.diff(olds, news)),
  create: (inputs) => handlers().machine.create(inputs),
  read: (id, props) => handlers().machine.read(id, props as MachineState),
  update: (id, olds, news) => handlers().machine.update(id, olds, news),
  delete: (id, props) => handlers().machine.delete(id, props),
};

const SECRETS = ['token', 'ek_cert_pem', 'register_token', 'config_token', 'config_url'];

/** A machine registered at the service; destroying it revokes the machine. */
export class RegisteredMachine extends pulumi.dynamic.Resource {
  declare readonly machine_id: pulumi.Output<string>;
  declare readonly status: pulumi.Output<string>;
  /** Where to fetch the node config; it ends in the config token, so it is as secret. */
  declare readonly config_url: pulumi.Output<string>;
  declare readonly config_token: pulumi.Output<string>;
  declare readonly iso_url: pulumi.Output<string>;

  constructor(name: string, args: RegisteredMachineArgs, options: pulumi.CustomResourceOptions = {}) {
    const outputs = {
      machine_id: undefined,
      status: undefined,
      config_url: undefined,
      config_token: undefined,
      iso_url: undefined,
    };
    const secrets = {
      token: pulumi.secret(args.token),
      ek_cert_pem: pulumi.secret(args.ek_cert_pem),
      ...(args.register_token === undefined ? {} : { register_token: pulumi.secret(args.register_token) }),
    };
    super(
      provider,
      name,
      { ...outputs, ...args, ...secrets },
      pulumi.mergeOptions({ additionalSecretOutputs: SECRETS }, options),
      'keystead',
      'RegisteredMachine',
    );
  }

  /** A machine that is registered already, by its id; the tool reads it and never changes it. */
  static get(name: string, id: pulumi.Input<pulumi.ID>, connection: ConnectionArgs): RegisteredMachine {
    return new RegisteredMachine(name, connection as RegisteredMachineArgs, { id });
  }
}
