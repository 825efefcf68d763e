import * as pulumi from '@pulumi/pulumi';
import type { ApprovalInputs, ApprovalState } from './approval-handler.js';
import { handlers } from './installed.js';
import type { ConnectionArgs } from './registered-machine.js';

export interface MachineApprovalArgs extends ConnectionArgs {
  /** Output of a RegisteredMachine. */
  machine_id: pulumi.Input<string>;
  /** `controlplane`, `worker-infra` or `worker-app`. */
  role: pulumi.Input<string>;
  /** FQDN of the node. */
  hostname?: pulumi.Input<string>;
  /** Static address with prefix length, e.g. `10.0.0.7/24`. */
  assigned_ip?: pulumi.Input<string>;
  /** When true, destroy does not revoke the machine. */
  keep_on_delete?: pulumi.Input<boolean>;
  /** How long to wait for the second vote under dual control, in seconds; default 600. */
  approval_timeout_seconds?: pulumi.Input<number>;
}

/** A closure over nothing but `handlers`: this is what the state keeps. */
const provider: pulumi.dynamic.ResourceProvider<ApprovalInputs, ApprovalState> = {
  check: (_olds, news) => Promise.resolve(handlers().approval.check(news)),
  diff: (_id, olds, news) => Promise.resolve(handlers().approval.diff(olds, news)),
  create: (inputs) => handlers().approval.create(inputs),
  read: (id, props) => handlers().approval.read(id, props as ApprovalState),
  update: (id, olds, news) => handlers().approval.update(id, olds, news),
  delete: (id, props) => handlers().approval.delete(id, props),
};

/** The approval of a machine for a role; destroying it revokes the machine unless `keep_on_delete` is true. */
export class MachineApproval extends pulumi.dynamic.Resource {
  declare readonly machine_id: pulumi.Output<string>;
  declare readonly status: pulumi.Output<string>;
  declare readonly role: pulumi.Output<string>;
  declare readonly hostname: pulumi.Output<string | undefined>;
  declare readonly assigned_ip: pulumi.Output<string | undefined>;

  constructor(name: string, args: MachineApprovalArgs, options: pulumi.CustomResourceOptions = {}) {
    super(
      provider,
      name,
      { status: undefined, ...args, token: pulumi.secret(args.token) },
      pulumi.mergeOptions({ additionalSecretOutputs: ['token'] }, options),
      'keystead',
      'MachineApproval',
    );
  }

  /** The approval of a machine by its id; the tool reads it and never changes it. */
  static get(name: string, id: pulumi.Input<pulumi.ID>, connection: ConnectionArgs): MachineApproval {
    return new MachineApproval(name, connection as MachineApprovalArgs, { id });
  }
}
