import type { dynamic } from '@pulumi/pulumi';
import { approvalRules, failuresOf, isKnown } from './check.js';
import type { Connection, Wait } from './client.js';
import { isDrifted } from './machines.js';
import type { Machine, Machines, Proposal } from './machines.js';

export interface ApprovalInputs extends Proposal, Connection {
  readonly machine_id: string;
  readonly keep_on_delete?: boolean | undefined;
  readonly approval_timeout_seconds?: number | undefined;
}
export interface ApprovalState extends ApprovalInputs {
  /** The machine's status, or `pending_second_approval` while another operator's vote is missing. */
  readonly status: string;
}

export const PENDING = 'pending_second_approval';
/** The service's default window: a first vote that nobody seconds is forgotten after it. */
const DEFAULT_TIMEOUT_SECONDS = 600;
const POLL_MS = 2_000;

const PROPOSAL = ['role', 'hostname', 'assigned_ip'] as const;
const SETTINGS = ['endpoint', 'token', 'keep_on_delete', 'approval_timeout_seconds'] as const;

const proposalOf = ({ role, hostname, assigned_ip }: Proposal): Proposal => ({ role, hostname, assigned_ip });

/** Approved as proposed; what the proposal leaves open may be anything. */
const isAsProposed = (machine: Machine, proposal: Proposal): boolean =>
  (machine.status === 'registered' || machine.status === 'attested') &&
  PROPOSAL.every((field) => proposal[field] === undefined || machine[field] === proposal[field]);

/** Created in the engine's eyes, and not complete: it is in the state, and the next `up` goes on with it. */
class WaitingForSecondVote extends Error {
  readonly id: string;
  readonly properties: ApprovalState;
  readonly reasons: string[];
  constructor(inputs: ApprovalInputs, why: string) {
    const text = `machine ${inputs.machine_id} as ${inputs.role} needs the vote of a second operator: ${why}`;
    super(text);
    this.id = inputs.machine_id;
    this.properties = { ...inputs, status: PENDING };
    this.reasons = [text];
  }
}

interface Deps {
  readonly machines: Machines;
  readonly wait: Wait;
  /** Milliseconds that never go back. */
  readonly elapsed: () => number;
  /** Machines that this run of the tool approved: the end of an older approval of one of them must not revoke it. */
  readonly approved: Set<string>;
}

/** The approval of a machine: one vote, or the first of two under dual control. */
export const createApprovalHandler = ({ machines, wait, elapsed, approved }: Deps) => {
  const requireMachine = async (inputs: ApprovalInputs): Promise<Machine> => {
    const machine = await machines.read(inputs, inputs.machine_id);
    if (machine === undefined)
      throw new Error(`machine ${inputs.machine_id} is not known at ${inputs.endpoint}`);
    return machine;
  };

  /** Votes are read first: once none is open, what the machine says is final. */
  const awaitSecondVote = async (inputs: ApprovalInputs): Promise<Machine> => {
    const timeoutMs = (inputs.approval_timeout_seconds ?? DEFAULT_TIMEOUT_SECONDS) * 1_000;
    const started = elapsed();
    for (;;) {
      const votes = await machines.openVotes(inputs, inputs.machine_id);
      const machine = await requireMachine(inputs);
      if (isDrifted(machine.status)) {
        throw new Error(`machine ${inputs.machine_id} is ${machine.status} and was not approved`);
      }
      if (votes.length === 0) {
        if (isAsProposed(machine, inputs)) return machine;
        throw new WaitingForSecondVote(inputs, 'the window ended without it; the next `up` opens a new one');
      }
      if (elapsed() - started >= timeoutMs) {
        throw new WaitingForSecondVote(
          inputs,
          `none came in ${timeoutMs / 1_000} s (the window ends ${votes[0]?.expires_at ?? 'soon'}); ` +
            'have another operator approve the same proposal and run `up` again',
        );
      }
      await wait(POLL_MS);
    }
  };

  const approve = async (inputs: ApprovalInputs): Promise<ApprovalState> => {
    const verdict = await machines.approve(inputs, inputs.machine_id, proposalOf(inputs));
    const machine = verdict === 'pending' ? await awaitSecondVote(inputs) : await requireMachine(inputs);
    approved.add(inputs.machine_id);
    return { ...inputs, status: machine.status };
  };

  /** A vote that somebody seconded meanwhile is done; voting again would open a new window. */
  const resume = async (inputs: ApprovalInputs): Promise<ApprovalState> => {
    const machine = await requireMachine(inputs);
    if (!isAsProposed(machine, inputs) || (await machines.openVotes(inputs, inputs.machine_id)).length > 0) {
      return approve(inputs);
    }
    approved.add(inputs.machine_id);
    return { ...inputs, status: machine.status };
  };

  return {
    check: (inputs: ApprovalInputs): dynamic.CheckResult => ({
      inputs,
      failures: failuresOf(approvalRules, { ...inputs }),
    }),

    diff: (olds: ApprovalState, news: ApprovalInputs): dynamic.DiffResult => {
      const replaces: string[] =
        !isKnown(news.machine_id) || olds.machine_id !== news.machine_id ? ['machine_id'] : [];
      if (isDrifted(olds.status)) replaces.push('status');
      const updated =
        olds.status === PENDING || [...PROPOSAL, ...SETTINGS].some((field) => olds[field] !== news[field]);
      return { changes: updated || replaces.length > 0, replaces };
    },

    /** A machine that attested in this very role already was approved before, e.g. by hand: it is taken over. */
    create: async (inputs: ApprovalInputs): Promise<dynamic.CreateResult> => {
      const machine = await requireMachine(inputs);
      const isDone = machine.status === 'attested' && isAsProposed(machine, inputs);
      const outs = isDone ? { ...inputs, status: machine.status } : await approve(inputs);
      approved.add(inputs.machine_id);
      return { id: inputs.machine_id, outs };
    },

    read: async (id: string, props: ApprovalState): Promise<dynamic.ReadResult> => {
      const machine = await machines.read(props, id);
      if (machine !== undefined) return { id, props: { ...props, ...seen(props, machine) } };
      if (isLookup(props)) throw new Error(`machine ${id} is not known at ${props.endpoint}`);
      return { id: '', props: {} };
    },

    update: async (_id: string, olds: ApprovalState, news: ApprovalInputs): Promise<dynamic.UpdateResult> => {
      if (olds.status === PENDING) return { outs: await resume(news) };
      const proposed = PROPOSAL.some((field) => olds[field] !== news[field]);
      if (proposed) return { outs: await approve(news) };
      return { outs: { ...news, status: (await requireMachine(news)).status } };
    },

    delete: async (id: string, props: ApprovalState): Promise<void> => {
      if (props.keep_on_delete === true || approved.has(id)) return;
      await machines.revoke(props, id);
    },
  };
};

/** Looked up by its id, so that only the connection is known. */
const isLookup = (props: ApprovalState): boolean => (props.role as string | undefined) === undefined;

/** What the service says now; fields only where the program sets them, all for one that was looked up by its id. */
const seen = (props: ApprovalState, machine: Machine): Partial<ApprovalState> => {
  const isWaiting = props.status === PENDING && !isDrifted(machine.status);
  const proposal = isWaiting ? [] : PROPOSAL.filter((field) => isLookup(props) || props[field] !== undefined);
  return {
    machine_id: machine.machine_id,
    status: isWaiting ? PENDING : machine.status,
    ...Object.fromEntries(proposal.map((field) => [field, machine[field] ?? undefined])),
  };
};
