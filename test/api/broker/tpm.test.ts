import { createDecipheriv } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { HttpAnswer } from '../../support/http.js';
import type { SoftTpm } from '../../support/swtpm.js';
import { startSoftTpm } from '../../support/swtpm.js';
import { tpmMachine } from '../../support/tpm-machine.js';
import type { TpmMachine } from '../../support/tpm-machine.js';
import { fromBase64, tpmVectors } from '../../support/tpm-vectors.js';
import { brokerWorld } from '../../support/world.js';
import type { BrokerWorld } from '../../support/world.js';

const envelopeType = 'application/vnd.svc.config.encrypted+json';

let tpm: SoftTpm;
let world: BrokerWorld;
beforeAll(async () => {
  [tpm, world] = await Promise.all([
    startSoftTpm(),
    brokerWorld({ settings: { SVC_ATTEST_FAILURE_THRESHOLD: '2' } }),
  ]);
});
afterAll(async () => {
  await Promise.all([tpm.stop(), world.close()]);
});

const approve = (machineId: string) =>
  world.admin.post(`/api/v1/machines/${machineId}/approve`, { role: 'worker-app' });
const detail = async (machineId: string) => (await world.admin.get(`/api/v1/machines/${machineId}`)).body;

const decrypt = (envelope: Record<string, string>, key: Buffer): string => {
  const sealed = fromBase64(envelope['ciphertext']!);
  const decipher = createDecipheriv('aes-256-gcm', key, fromBase64(envelope['iv']!), { authTagLength: 16 });
  decipher.setAAD(Buffer.from(`${envelope['format']!}\n${envelope['machine_id']!}`));
  decipher.setAuthTag(sealed.subarray(-16));
  return Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()]).toString();
};

describe.each(['rsassa', 'rsapss', 'ecdsa-p256', 'ecdsa-p384', 'rsassa-sha384'] as const)('AK %s', (type) => {
  let machine: TpmMachine;
  beforeAll(async () => {
    machine = await tpmMachine(world.node, tpm, type);
  });

  it('is activated, which MachineDetail shows', async () => {
    const activated = await machine.activate();
    expect(activated.status).toBe(200);
    expect(activated.body).toMatchObject({ machine_id: machine.machineId });
    expect(activated.body.ak_pub).toMatch(/^-----BEGIN PUBLIC KEY-----/);
    expect(await detail(machine.machineId)).toMatchObject({ ak_pub: activated.body.ak_pub });
  });

  it('proves a nonce by signature and by quote, each once', async () => {
    await approve(machine.machineId);
    const signed = await machine.signedNonce();
    const first = await machine.attest(signed);
    expect([first.status, first.body.status]).toEqual([200, 'attested']);
    expect((await machine.attest(signed)).status).toBe(409);
    const quoted = await machine.quoted('sha256:0,7,11');
    expect((await machine.attest(quoted)).status).toBe(200);
    expect((await machine.attest(quoted)).status).toBe(409);
    const seen = await detail(machine.machineId);
    expect(seen.attestation).toMatchObject({
      reset_count: expect.any(Number),
      clock_safe: expect.any(Boolean),
    });
    expect(seen.attestation.quoted_at).not.toBeNull();
  });

  it('refuses bad evidence even though none was required', async () => {
    const signed = await machine.signedNonce();
    const { nonce_id } = await machine.challenge();
    const otherNonce = await machine.attest({ ...signed, nonce_id });
    expect([otherNonce.status, otherNonce.body.detail[0].type]).toEqual([422, 'nonce_signature']);
    const quoted = await machine.quoted('sha256:7');
    const { nonce_id: fresh } = await machine.challenge();
    const oldQuote = await machine.attest({ ...quoted, nonce_id: fresh });
    expect([oldQuote.status, oldQuote.body.detail[0].type]).toEqual([422, 'quote_nonce']);
    const { pcr_quote, pcr_signature } = await machine.quoted('sha256:7');
    expect((await machine.attest({ pcr_quote, pcr_signature })).status).toBe(422);
    expect((await machine.attest({ nonce_signature: signed['nonce_signature'] })).status).toBe(422);
    expect((await machine.attest()).status).toBe(200);
  });

  it('opens its config inside the TPM from each format that its EK allows', async () => {
    await approve(machine.machineId);
    const { body } = await machine.attest(await machine.signedNonce());
    const admitted = body.config_token ?? (await refreshedToken(machine));
    const fetchAs = (format: string): Promise<HttpAnswer> =>
      world.node.get(`/api/v1/config/${String(admitted)}`, { accept: `${envelopeType};format=${format}` });

    const imported = (await fetchAs('ek-import-aes256gcm-v1')).body;
    const key = await machine.tpm.unsealImported({
      importPublic: fromBase64(imported.import_public),
      importDuplicate: fromBase64(imported.import_duplicate),
      importSeed: fromBase64(imported.import_seed),
    });
    expect(decrypt(imported, key)).toContain(machine.machineId);

    const credential = (await fetchAs('ek-credential-aes256gcm-v1')).body;
    const secret = await machine.tpm.activate(
      fromBase64(credential.credential_blob),
      fromBase64(credential.encrypted_secret),
    );
    expect(decrypt(credential, secret)).toContain(machine.machineId);

    const unknown = await fetchAs('ek-nothing-v9');
    expect([unknown.status, unknown.body.detail]).toEqual([
      406,
      expect.stringContaining('ek-import-aes256gcm-v1'),
    ]);
    const v1 = await fetchAs('ek-aes256gcm-v1');
    const isRsa = machine.identity.ek_cert_pem.length > 1200;
    expect(v1.status).toBe(isRsa ? 200 : 406);
  });
});

const refreshedToken = async (machine: TpmMachine): Promise<string> =>
  (await world.node.post('/api/v1/register', machine.identity)).body.config_token as string;

describe('activation that fails', () => {
  const begin = (machineId: string, body: unknown) =>
    world.node.post(`/api/v1/machines/${machineId}/ak-activate`, body);
  let machine: TpmMachine;
  beforeAll(async () => {
    machine = await tpmMachine(world.node, tpm, 'ecdsa-p256');
  });
  const request = () => ({
    ek_fingerprint: machine.identity.ek_fingerprint,
    ak_public: machine.tpm.akPublic.toString('base64'),
  });

  it('answers alike for a wrong fingerprint, secret, activation and a second use', async () => {
    const wrongEk = await begin(machine.machineId, { ...request(), ek_fingerprint: 'ab'.repeat(48) });
    const begun = (await begin(machine.machineId, request())).body;
    const secret = Buffer.alloc(32).toString('base64');
    const wrongSecret = await begin(machine.machineId, { activation_id: begun.activation_id, secret });
    const again = await begin(machine.machineId, { activation_id: begun.activation_id, secret });
    const unknown = await begin(machine.machineId, { activation_id: crypto.randomUUID(), secret });
    const answers = [wrongEk, wrongSecret, again, unknown];
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 403]);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  });

  it('404 for an unknown machine, 422 for a key that is no attestation key', async () => {
    expect((await begin(crypto.randomUUID(), request())).status).toBe(404);
    const unrestricted = tpmVectors.aks['rsa/neg_unrestricted_signer']!.ak_public_tpm2b_b64;
    const refused = await begin(machine.machineId, { ...request(), ak_public: unrestricted });
    expect([refused.status, refused.text]).toEqual([422, expect.stringContaining('restricted')]);
    expect((await begin(machine.machineId, { ...request(), ak_public: 'AAAA' })).status).toBe(422);
    expect((await begin(machine.machineId, {})).status).toBe(422);
  });

  it('a key of another TPM cannot be activated: its TPM does not give the secret out', async () => {
    const foreign = tpmVectors.aks['rsa/ak_ecdsa_p256']!.ak_public_tpm2b_b64;
    const begun = (await begin(machine.machineId, { ...request(), ak_public: foreign })).body;
    const opened = machine.tpm.activate(
      fromBase64(begun.credential_blob),
      fromBase64(begun.encrypted_secret),
    );
    await expect(opened).rejects.toThrow(/0x1df|integrity/i);
  });

  it('only so many activations of one machine are open', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => begin(machine.machineId, request())));
    expect(answers.filter(({ status }) => status === 429).length).toBeGreaterThan(0);
    await world.db('ak_activations').delete();
  });

  it('a replaced key stops at once, and the replacement is audited', async () => {
    const before = await tpmMachine(world.node, tpm, 'ecdsa-p256');
    expect((await before.activate()).status).toBe(200);
    const after = await tpmMachine(world.node, tpm, 'rsassa');
    expect((await after.activate()).status).toBe(200);
    expect((await before.attest(await before.signedNonce())).status).toBe(422);
    expect((await after.attest(await after.signedNonce())).status).toBe(200);
    const audit = await world.admin.get(`/api/v1/audit?action=ak_replace&machine_id=${after.machineId}`);
    expect(audit.body.length).toBeGreaterThan(0);
    expect((await world.admin.get('/api/v1/audit/verify')).body.valid).toBe(true);
  });
});

describe('PCR policies and reboots', () => {
  let machine: TpmMachine;
  beforeAll(async () => {
    machine = await tpmMachine(world.node, tpm, 'ecdsa-p384');
    await machine.activate();
    await approve(machine.machineId);
    await machine.attest(await machine.signedNonce());
  });
  const policyPath = '/api/v1/pcr-policies/worker-app';
  const registers = async (): Promise<Record<string, string>> => {
    await tpm.tool('pcrread', 'sha256:7,11', '-o', 'pcrs.bin');
    const values = await tpm.read('pcrs.bin');
    return { 7: values.subarray(0, 32).toString('hex'), 11: values.subarray(32).toString('hex') };
  };
  const only = (values: Record<string, string>) =>
    Object.fromEntries(Object.entries(values).map(([pcr, value]) => [pcr, [value]]));

  it('refuses policies that prove nothing', async () => {
    for (const pcrs of [{}, { 16: ['00'.repeat(32)] }, { 24: ['00'.repeat(32)] }, { 7: ['00'] }, { 7: [] }]) {
      const answer = await world.admin.put(policyPath, { bank: 'sha256', pcrs, mode: 'enforce' });
      expect(answer.status).toBe(422);
    }
    expect((await world.admin.get(policyPath)).status).toBe(404);
    expect((await world.node.put(policyPath, {})).status).toBe(401);
    expect((await world.admin.put('/api/v1/pcr-policies/nobody', {})).status).toBe(404);
  });

  it('an enforced policy demands a quote, binds the config key, and locks after breaches in a row', async () => {
    const values = await registers();
    const stored = await world.admin.put(policyPath, { bank: 'sha256', pcrs: only(values), mode: 'enforce' });
    expect(stored.body).toMatchObject({ role: 'worker-app', mode: 'enforce', updated_by: 'SYSTEM' });
    const bare = await machine.attest();
    expect([bare.status, bare.text]).toEqual([422, expect.stringContaining('quote_required')]);
    const kept = await machine.attest(await machine.quoted('sha256:7,11'));
    expect(kept.status).toBe(200);
    expect((await machine.attest(await machine.quoted('sha256:7'))).text).toContain('does not cover');
    const more = await machine.quoted('sha256:0,7,11');
    expect((await machine.attest(more)).text).toContain('pcr_values');
    await world.admin.post(`/api/v1/machines/${machine.machineId}/unlock`);

    const token = await refreshedToken(machine);
    const accept = `${envelopeType};format=ek-import-aes256gcm-v1`;
    const envelope = (await world.node.get(`/api/v1/config/${token}`, { accept })).body;
    const blobs = {
      importPublic: fromBase64(envelope.import_public),
      importDuplicate: fromBase64(envelope.import_duplicate),
      importSeed: fromBase64(envelope.import_seed),
    };
    expect(envelope.pcr_selection).toBe('sha256:7,11');
    expect(decrypt(envelope, await machine.tpm.unsealImported(blobs, 'sha256:7,11'))).toContain(
      machine.machineId,
    );

    await tpm.tool('pcrextend', `11:sha256=${'cd'.repeat(32)}`);
    await expect(machine.tpm.unsealImported(blobs, 'sha256:7,11')).rejects.toThrow(/policy/i);
    expect((await machine.attest(await machine.quoted('sha256:7,11'))).text).toContain('pcr_policy');
    expect((await detail(machine.machineId)).status).toBe('attested');
    expect((await machine.attest(await machine.quoted('sha256:7,11'))).status).toBe(422);
    expect((await detail(machine.machineId)).status).toBe('locked');
    const [lock] = (await world.admin.get(`/api/v1/audit?action=lock&machine_id=${machine.machineId}`)).body;
    expect(lock).toMatchObject({ operator_cn: 'SYSTEM', new_state: 'locked' });
    expect(lock.detail).toContain('PCR policy');
  });

  it('nobody else can lock a machine out: only failures that its own AK signed count', async () => {
    await world.admin.post(`/api/v1/machines/${machine.machineId}/unlock`);
    const quoted = await machine.quoted('sha256:7,11');
    for (let attempt = 0; attempt < 4; attempt += 1) {
      const { nonce_id } = await machine.challenge();
      expect((await machine.attest({ ...quoted, nonce_id })).status).toBe(422);
      expect((await machine.attest()).status).toBe(422);
    }
    expect((await detail(machine.machineId)).status).toBe('attested');
  });

  it('with pcr_values a larger quote is judged, and lies about the values are seen', async () => {
    const values = await registers();
    await world.admin.put(policyPath, { bank: 'sha256', pcrs: only(values), mode: 'enforce' });
    await tpm.tool('pcrread', 'sha256:0', '-o', 'pcr0.bin');
    const pcr0 = (await tpm.read('pcr0.bin')).toString('hex');
    const all = { sha256: { ...values, 0: pcr0 } };
    expect(
      (await machine.attest({ ...(await machine.quoted('sha256:0,7,11')), pcr_values: all })).status,
    ).toBe(200);
    const lie = { sha256: { ...all.sha256, 0: 'ff'.repeat(32) } };
    const refused = await machine.attest({ ...(await machine.quoted('sha256:0,7,11')), pcr_values: lie });
    expect(refused.text).toContain('do not hash');
  });

  it('a policy in mode warn says so and lets the machine pass', async () => {
    const wrong = { 7: ['11'.repeat(32)] };
    await world.admin.put(policyPath, { bank: 'sha256', pcrs: wrong, mode: 'warn' });
    const warned = await machine.attest(await machine.quoted('sha256:7'));
    expect([warned.status, warned.body.message]).toEqual([200, expect.stringContaining('PCR policy')]);
    expect((await detail(machine.machineId)).attestation.policy_breach).toContain('PCR');
    expect((await world.admin.delete(policyPath)).status).toBe(204);
    expect((await world.admin.delete(policyPath)).status).toBe(404);
    const acts = (await world.admin.get('/api/v1/audit?action=pcr_policy')).body as unknown[];
    expect(acts.length).toBeGreaterThanOrEqual(4);
  });

  it('a reboot is noticed', async () => {
    await machine.attest(await machine.quoted('sha256:0'));
    const before = (await detail(machine.machineId)).attestation;
    expect(before.last_reset_at).toBeNull();
    await tpm.reboot();
    expect((await machine.attest(await machine.quoted('sha256:0'))).status).toBe(200);
    const after = (await detail(machine.machineId)).attestation;
    expect(after.reset_count).toBe(Number(before.reset_count) + 1);
    expect(after.last_reset_at).not.toBeNull();
    expect(after.counters_fell_at).toBeNull();
  });
});
