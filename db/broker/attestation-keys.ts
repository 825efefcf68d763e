import type { Knex } from 'knex';
import type { PcrPolicy } from '../../domain/broker/pcr-policy.js';
import { prepared } from '../connect.js';

/** A machine's activated AK, what its quotes have shown, and the PCR policy of its role. */
export interface AkRecord {
  readonly machineId: string;
  /** TPMT_PUBLIC. */
  readonly akPublic: Buffer;
  readonly akName: Buffer;
  /** SubjectPublicKeyInfo in PEM. */
  readonly akPub: string;
  readonly activatedAt: string;
  /** What the first quote named as its signer. */
  readonly qualifiedSigner: Buffer | null;
  readonly quotedAt: string | null;
  readonly clockMs: string | null;
  readonly resetCount: number | null;
  readonly restartCount: number | null;
  readonly safe: boolean | null;
  readonly firmwareVersion: string | null;
  readonly lastResetAt: string | null;
  readonly countersFellAt: string | null;
  readonly policyFailures: number;
  readonly policyBreach: string | null;
}

const columns = {
  machineId: 'machine_id',
  akPublic: 'ak_public',
  akName: 'ak_name',
  akPub: 'ak_pub',
  activatedAt: 'activated_at',
  qualifiedSigner: 'qualified_signer',
  quotedAt: 'quoted_at',
  clockMs: 'clock_ms',
  resetCount: 'reset_count',
  restartCount: 'restart_count',
  safe: 'safe',
  firmwareVersion: 'firmware_version',
  lastResetAt: 'last_reset_at',
  countersFellAt: 'counters_fell_at',
  policyFailures: 'policy_failures',
  policyBreach: 'policy_breach',
} as const satisfies Record<keyof AkRecord, string>;

const selection = Object.entries(columns)
  .map(([name, column]) => `k.${column} as "${name}"`)
  .join(', ');

export const findAk = async (db: Knex, machineId: string): Promise<AkRecord | undefined> => {
  const rows = await prepared<AkRecord>(
    db,
    'attestation-key',
    `select ${selection} from attestation_keys k where k.machine_id = ?`,
    [machineId],
  );
  return rows[0];
};

export interface MachineTrust {
  readonly ak: AkRecord | undefined;
  /** The PCR policy of the machine's role. */
  readonly policy: PcrPolicy | undefined;
  /** Subject of the TPM maker's root that the EK certificate chains to. */
  readonly ekRoot: string | null;
}
type TrustRow = Omit<AkRecord, 'machineId'> & {
  readonly machineId: string | null;
  readonly policy: PcrPolicy | null;
  readonly ekRoot: string | null;
};

/** The AK of a machine and the PCR policy of its role, in one round trip. */
export const findTrust = async (db: Knex, machineId: string): Promise<MachineTrust> => {
  const rows = await prepared<TrustRow>(
    db,
    'attestation-trust',
    `select ${selection}, case when p.role is null then null
       else jsonb_build_object('bank', p.bank, 'pcrs', p.pcrs, 'mode', p.mode) end as policy,
       m.ek_root as "ekRoot"
     from machines m left join attestation_keys k using (machine_id) left join pcr_policies p on p.role = m.role
     where m.machine_id = ?`,
    [machineId],
  );
  const [row] = rows;
  if (row === undefined) return { ak: undefined, policy: undefined, ekRoot: null };
  const { policy, ekRoot, machineId: found, ...rest } = row;
  const ak = found === null ? undefined : { machineId: found, ...rest };
  return { ak, policy: policy ?? undefined, ekRoot };
};

/** What a verified, fresh quote says of its TPM. */
export interface QuoteObservation {
  readonly qualifiedSigner: Uint8Array;
  readonly clockMs: bigint;
  readonly resetCount: number;
  readonly restartCount: number;
  readonly safe: boolean;
  readonly firmwareVersion: string;
  readonly rebooted: boolean;
  readonly fell: boolean;
  /** Why the quote breaks the PCR policy; null when it keeps it. */
  readonly breach: string | null;
}

/** Records a quote by this very AK; returns how many in a row have broken the policy, undefined when the AK was replaced meanwhile. */
export const recordQuote = async (
  db: Knex,
  machineId: string,
  akName: Uint8Array,
  seen: QuoteObservation,
): Promise<number | undefined> => {
  const rows = await prepared<{ failures: number }>(
    db,
    'record-quote',
    `update attestation_keys set quoted_at = now(), qualified_signer = coalesce(qualified_signer, ?),
       clock_ms = ?, reset_count = ?, restart_count = ?, safe = ?, firmware_version = ?,
       last_reset_at = case when ? then now() else last_reset_at end,
       counters_fell_at = case when ? then now() else counters_fell_at end,
       policy_failures = case when ?::text is null then 0 else policy_failures + 1 end,
       policy_broken_at = case when ?::text is null then policy_broken_at else now() end,
       policy_breach = ?
     where machine_id = ? and ak_name = ? returning policy_failures as failures`,
    [
      ...[Buffer.from(seen.qualifiedSigner), seen.clockMs.toString(), seen.resetCount, seen.restartCount],
      ...[seen.safe, seen.firmwareVersion, seen.rebooted, seen.fell],
      ...[seen.breach, seen.breach, seen.breach, machineId, Buffer.from(akName)],
    ] as Knex.RawBinding[],
  );
  return rows[0]?.failures;
};

/** After a lock the count begins anew, or the unlocked machine would be locked again at once. */
export const clearPolicyFailures = (db: Knex, machineId: string): PromiseLike<number> =>
  db('attestation_keys').where({ machine_id: machineId }).update({ policy_failures: 0 });

export interface NewAk {
  readonly machineId: string;
  readonly akPublic: Uint8Array;
  readonly akName: Uint8Array;
  readonly akPub: string;
}

/** Stores an AK; everything known of the one before goes with it. Returns the replaced AK's name, null for the first. */
export const storeAk = async (
  trx: Knex,
  ak: NewAk,
): Promise<{ readonly replaced: Buffer | null; readonly activatedAt: string }> => {
  const before = await trx('attestation_keys')
    .first<{ ak_name: Buffer } | undefined>('ak_name')
    .where({ machine_id: ak.machineId })
    .forUpdate();
  const fresh = Object.fromEntries(Object.values(columns).map((column) => [column, trx.raw('default')]));
  const row = {
    ...fresh,
    machine_id: ak.machineId,
    ak_public: Buffer.from(ak.akPublic),
    ak_name: Buffer.from(ak.akName),
    ak_pub: ak.akPub,
  };
  const rows = await trx('attestation_keys')
    .insert(row)
    .onConflict('machine_id')
    .merge()
    .returning<{ activated_at: string }[]>('activated_at');
  return { replaced: before?.ak_name ?? null, activatedAt: rows[0]?.activated_at ?? '' };
};

export interface Activation {
  readonly activationId: string;
  readonly machineId: string;
  readonly akPublic: Uint8Array;
  readonly secretSha256: Uint8Array;
  readonly lifetimeMs: number;
}

/** Opens an activation unless the machine has `most` open ones; lapsed ones are swept. Returns when it expires. */
export const openActivation = async (
  db: Knex,
  activation: Activation,
  most: number,
): Promise<string | undefined> => {
  const rows = await prepared<{ expiresAt: string }>(
    db,
    'open-activation',
    `with swept as (delete from ak_activations where expires_at < now())
     insert into ak_activations (activation_id, machine_id, ak_public, secret_sha256, expires_at)
     select ?::uuid, ?::uuid, ?::bytea, ?::bytea, now() + ? * interval '1 millisecond'
     where (select count(*) from ak_activations where machine_id = ? and expires_at >= now()) < ?
     returning expires_at as "expiresAt"`,
    [
      ...[activation.activationId, activation.machineId, Buffer.from(activation.akPublic)],
      ...[Buffer.from(activation.secretSha256), activation.lifetimeMs, activation.machineId, most],
    ] as Knex.RawBinding[],
  );
  return rows[0]?.expiresAt;
};

/** Takes an activation, once, whatever becomes of it; undefined when it is unknown, lapsed or another machine's. */
export const takeActivation = async (
  db: Knex,
  activationId: string,
  machineId: string,
): Promise<{ readonly akPublic: Buffer; readonly secretSha256: Buffer } | undefined> => {
  const rows = await prepared<{ akPublic: Buffer; secretSha256: Buffer; live: boolean }>(
    db,
    'take-activation',
    `delete from ak_activations where activation_id = ? and machine_id = ?
     returning ak_public as "akPublic", secret_sha256 as "secretSha256", expires_at >= now() as live`,
    [activationId, machineId],
  );
  return rows[0]?.live === true ? rows[0] : undefined;
};
