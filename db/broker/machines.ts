import type { Knex } from 'knex';
import type {
  EkSource,
  HardwareIdentity,
  Machine,
  MachineStatus,
  Role,
} from '../../domain/broker/machine.js';
import { prepared } from '../connect.js';

/** Everything that is stored of a machine but its EK material. */
export interface MachineRecord extends Machine {
  readonly ekSource: EkSource;
  readonly ekFingerprintSha384: string | null;
  readonly isoUrl: string | null;
  readonly configTokenSha256: string | null;
  readonly tokenConsumed: boolean;
  readonly wipeToldAt: string | null;
  readonly wipeCompletedAt: string | null;
}

/** SQL names and the names of the record, once. Later migrations' columns are added here. */
export const machineColumns = {
  machineId: 'm.machine_id',
  ekFingerprint: 'm.ek_fingerprint',
  ekFingerprintSha384: 'm.ek_fingerprint_sha384',
  ekSource: 'm.ek_source',
  hwUuid: 'm.hw_uuid',
  hwMac: 'm.hw_mac',
  hwSerial: 'm.hw_serial',
  hwProduct: 'm.hw_product',
  role: 'm.role',
  status: 'm.status',
  hostname: 'm.hostname',
  assignedIp: 'm.assigned_ip',
  isoUrl: 'm.iso_url',
  configTokenSha256: 'm.config_token_sha256',
  wipePending: 'm.wipe_pending',
  wipeToldAt: 'm.wipe_told_at',
  wipeCompletedAt: 'm.wipe_completed_at',
  registeredAt: 'm.registered_at',
  attestedAt: 'm.attested_at',
  lockedAt: 'm.locked_at',
  revokedAt: 'm.revoked_at',
} as const satisfies Partial<Record<keyof MachineRecord, string>>;

const selection = (columns: Readonly<Record<string, string>>): string =>
  Object.entries(columns)
    .map(([name, column]) => `${column} as "${name}"`)
    .join(', ');

/** `select` list of a MachineRecord over `machines m left join config_tokens t`. */
export const machineSelection = `${selection(machineColumns)}, t.consumed_at is not null as "tokenConsumed"`;
export const machineSource = 'machines m left join config_tokens t on t.token_sha256 = m.config_token_sha256';

/** The same of a CTE that returned the changed row (its current token is a new one or known to the caller). */
export const changedSelection = (from: string): string =>
  selection(machineColumns).replaceAll('m.', `${from}.`);

export const findMachine = async (db: Knex, machineId: string): Promise<MachineRecord | undefined> => {
  const rows = await prepared<MachineRecord>(
    db,
    'machine-by-id',
    `select ${machineSelection} from ${machineSource} where m.machine_id = ?`,
    [machineId],
  );
  return rows[0];
};

/** A machine as an attestation finds it. */
export interface FoundMachine extends MachineRecord {
  /** It has an AK, or its role a PCR policy: there is something to judge evidence by. */
  readonly hasTrust: boolean;
}

/** The machine with one of these fingerprints: the canonical one, what an older row may hold instead, or its key's. */
export const findByFingerprint = async (
  db: Knex,
  fingerprints: readonly string[],
): Promise<FoundMachine | undefined> => {
  const rows = await prepared<FoundMachine>(
    db,
    'machine-by-fingerprint',
    `select ${machineSelection},
       exists (select 1 from attestation_keys k where k.machine_id = m.machine_id)
         or exists (select 1 from pcr_policies p where p.role = m.role) as "hasTrust"
     from ${machineSource} where m.ek_fingerprint = any(?) or m.ek_spki_sha384 = any(?)
     order by m.ek_fingerprint = any(?) desc limit 1`,
    [fingerprints, fingerprints, fingerprints] as Knex.RawBinding[],
  );
  return rows[0];
};

export interface StoredEkMaterial {
  /** Base64 of the canonical DER. */
  readonly ekCertPem: string;
  readonly ekSource: EkSource;
  /** TPMT_PUBLIC, when the node sent it. */
  readonly ekPublic: Buffer | null;
}

export const findEkMaterial = async (db: Knex, machineId: string): Promise<StoredEkMaterial | undefined> =>
  db('machines')
    .first<StoredEkMaterial | undefined>({
      ekCertPem: 'ek_cert_pem',
      ekSource: 'ek_source',
      ekPublic: 'ek_public',
    })
    .where({ machine_id: machineId })
    .whereNotNull('ek_cert_pem');

/** Machines that could mean this MAC: two at most, revoked and rejected ones left out. */
export const findByMac = async (db: Knex, mac: string): Promise<readonly MachineRecord[]> =>
  prepared<MachineRecord>(
    db,
    'machine-by-mac',
    `select ${machineSelection} from ${machineSource}
     where m.hw_mac = ? and m.status not in ('revoked', 'rejected') limit 2`,
    [mac],
  );

export interface MachineFilter {
  readonly status?: MachineStatus | undefined;
  readonly role?: Role | undefined;
  readonly page: number;
  readonly perPage: number;
}

const listColumns = {
  machineId: 'machine_id',
  ekFingerprint: 'ek_fingerprint',
  hwUuid: 'hw_uuid',
  hwMac: 'hw_mac',
  hwSerial: 'hw_serial',
  hwProduct: 'hw_product',
  role: 'role',
  status: 'status',
  hostname: 'hostname',
  assignedIp: 'assigned_ip',
  registeredAt: 'registered_at',
  attestedAt: 'attested_at',
  lockedAt: 'locked_at',
  revokedAt: 'revoked_at',
  wipePending: 'wipe_pending',
} as const satisfies Record<keyof Machine, string>;

const filtered = (db: Knex, { status, role }: MachineFilter): Knex.QueryBuilder => {
  const query = db('machines');
  if (status !== undefined) void query.where({ status });
  if (role !== undefined) void query.where({ role });
  return query;
};

/** One page, oldest registration first. */
export const listMachines = async (db: Knex, filter: MachineFilter): Promise<readonly Machine[]> =>
  (await filtered(db, filter)
    .select(listColumns)
    .orderBy([{ column: 'registered_at' }, { column: 'machine_id' }])
    .limit(filter.perPage)
    .offset((filter.page - 1) * filter.perPage)) as Machine[];

export const countMachines = async (db: Knex, filter: MachineFilter): Promise<number> => {
  const rows = (await filtered(db, filter).count({ total: '*' })) as { total: number }[];
  return rows[0]?.total ?? 0;
};

export const countByStatus = async (db: Knex): Promise<Readonly<Partial<Record<MachineStatus, number>>>> => {
  const rows = (await db('machines').select('status').count({ total: '*' }).groupBy('status')) as unknown as {
    status: MachineStatus;
    total: number;
  }[];
  return Object.fromEntries(rows.map(({ status, total }) => [status, total]));
};

/** Everything that a new machine brings. */
export interface NewMachine extends HardwareIdentity {
  readonly machineId: string;
  readonly ekFingerprint: string;
  readonly ekSource: EkSource;
  readonly ekCertPem: string;
  readonly ekSpkiSha384: string;
  /** TPMT_PUBLIC as the node sent it, null when the standard template is assumed. */
  readonly ekPublic: Buffer | null;
  /** Subject of the maker's root that its certificate chains to. */
  readonly ekRoot: string | null;
  readonly role: Role;
  readonly status: Extract<MachineStatus, 'pending_approval' | 'registered'>;
  readonly isoUrl: string | null;
}
