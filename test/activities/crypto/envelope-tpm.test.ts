import { createDecipheriv } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { EkMaterial } from '../../../activities/crypto/ek.js';
import { parseEkMaterial } from '../../../activities/crypto/ek.js';
import { sealEnvelope } from '../../../activities/crypto/envelope.js';
import { tpmName } from '../../../activities/crypto/tpm-name.js';
import type { Envelope, PcrBinding } from '../../../domain/broker/envelope.js';
import { parsePublicArea } from '../../../domain/broker/tpm/public-area.js';
import type { SoftTpm } from '../../support/swtpm.js';
import { startSoftTpm } from '../../support/swtpm.js';
import type { TpmNode } from '../../support/tpm-node.js';
import { akTypes, createTpmNode } from '../../support/tpm-node.js';

const machineId = '7d1c0a4e-0d43-4c36-8f0e-5b8b5f3f4a11';
const plaintext = Buffer.from('machine:\n  type: worker\n');

const decrypt = (envelope: Envelope, key: Buffer): string => {
  const ciphertext = Buffer.from(envelope.ciphertext);
  const decipher = createDecipheriv('aes-256-gcm', key, envelope.iv, { authTagLength: 16 });
  if (envelope.format !== 'ek-aes256gcm-v1') decipher.setAAD(Buffer.from(`${envelope.format}\n${machineId}`));
  decipher.setAuthTag(ciphertext.subarray(-16));
  return Buffer.concat([decipher.update(ciphertext.subarray(0, -16)), decipher.final()]).toString();
};

let tpm: SoftTpm;
beforeAll(async () => {
  tpm = await startSoftTpm();
});
afterAll(() => tpm.stop());

describe.each(['ecdsa-p256', 'ecdsa-p384'] as const)('a real TPM, AK %s', (type) => {
  let ek: EkMaterial;
  let node: TpmNode;
  beforeAll(async () => {
    ek = parseEkMaterial((await tpm.ekCertificate(akTypes[type].ek)).toString('base64'), 'cert');
    node = await createTpmNode(tpm, type);
  });

  const seal = (format: Envelope['format'], more: { pcrBinding?: PcrBinding } = {}) =>
    sealEnvelope({
      format,
      machineId,
      ek,
      akName: tpmName(parsePublicArea(node.akPublic)),
      plaintext,
      ...more,
    });

  it('opens a credential envelope', async () => {
    const envelope = await seal('ek-credential-aes256gcm-v1');
    if (envelope.format !== 'ek-credential-aes256gcm-v1') throw new Error('other format');
    const key = await node.activate(envelope.credentialBlob, envelope.encryptedSecret);
    expect(decrypt(envelope, key)).toBe(plaintext.toString());
  });

  it('opens an import envelope', async () => {
    const envelope = await seal('ek-import-aes256gcm-v1');
    if (envelope.format !== 'ek-import-aes256gcm-v1') throw new Error('other format');
    expect(decrypt(envelope, await node.unsealImported(envelope))).toBe(plaintext.toString());
  });

  it('opens a PCR-bound envelope, and no longer after the PCR moved', async () => {
    await tpm.tool('pcrread', 'sha256:7,11', '-o', 'pcrs.bin');
    const values = await tpm.read('pcrs.bin');
    const pcrBinding: PcrBinding = {
      bank: 'sha256',
      values: { 7: values.subarray(0, 32).toString('hex'), 11: values.subarray(32).toString('hex') },
    };
    const envelope = await seal('ek-import-aes256gcm-v1', { pcrBinding });
    if (envelope.format !== 'ek-import-aes256gcm-v1') throw new Error('other format');
    expect(envelope.pcrSelection).toBe('sha256:7,11');
    expect(decrypt(envelope, await node.unsealImported(envelope, envelope.pcrSelection))).toBe(
      plaintext.toString(),
    );
    await tpm.tool('pcrextend', `11:sha256=${'ab'.repeat(32)}`);
    await expect(node.unsealImported(envelope, envelope.pcrSelection)).rejects.toThrow(/policy/i);
  });
});

it('a standard RSA EK refuses the first format: it is a restricted key', async () => {
  const ek = parseEkMaterial((await tpm.ekCertificate('rsa')).toString('base64'), 'cert');
  const envelope = await sealEnvelope({ format: 'ek-aes256gcm-v1', machineId, ek, plaintext });
  if (envelope.format !== 'ek-aes256gcm-v1') throw new Error('other format');
  await tpm.write('wrapped', envelope.wrappedKey);
  await tpm.tool('startauthsession', '--policy-session', '-S', 'rsa.session');
  await tpm.tool('policysecret', '-S', 'rsa.session', '-c', 'e');
  await expect(
    tpm.tool(
      'rsadecrypt',
      '-c',
      '0x81010001',
      '-p',
      'session:rsa.session',
      '-s',
      'oaep',
      '-o',
      'key',
      'wrapped',
    ),
  ).rejects.toThrow(/0x182/);
  await tpm.tool('flushcontext', 'rsa.session');
});

it('an unrestricted decrypt key registered as public key opens the first format', async () => {
  await tpm.tool(
    'createprimary',
    ...['-C', 'e', '-G', 'rsa2048:null:null', '-g', 'sha256', '-c', 'plain.ctx'],
    ...['-a', 'fixedtpm|fixedparent|sensitivedataorigin|userwithauth|decrypt'],
  );
  await tpm.tool('readpublic', '-c', 'plain.ctx', '-f', 'tss', '-o', 'plain.pub');
  const ek = parseEkMaterial((await tpm.read('plain.pub')).toString('base64'), 'pub');
  const envelope = await sealEnvelope({ format: 'ek-aes256gcm-v1', machineId, ek, plaintext });
  if (envelope.format !== 'ek-aes256gcm-v1') throw new Error('other format');
  await tpm.write('wrapped', envelope.wrappedKey);
  await tpm.tool('rsadecrypt', '-c', 'plain.ctx', '-s', 'oaep', '-o', 'key', 'wrapped');
  expect(decrypt(envelope, await tpm.read('key'))).toBe(plaintext.toString());
  const impossible = sealEnvelope({ format: 'ek-import-aes256gcm-v1', machineId, ek, plaintext });
  await expect(impossible).rejects.toThrow('possible: ek-aes256gcm-v1');
  await expect(impossible).rejects.toMatchObject({ kind: 'not_acceptable' });
});
