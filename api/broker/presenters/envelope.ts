import type { Envelope } from '../../../domain/broker/envelope.js';

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');

const fields = (envelope: Envelope): Record<string, string> => {
  switch (envelope.format) {
    case 'ek-aes256gcm-v1':
      return { wrapped_key: base64(envelope.wrappedKey) };
    case 'ek-import-aes256gcm-v1':
      return {
        import_public: base64(envelope.importPublic),
        import_duplicate: base64(envelope.importDuplicate),
        import_seed: base64(envelope.importSeed),
        ...(envelope.pcrSelection === undefined ? {} : { pcr_selection: envelope.pcrSelection }),
      };
    case 'ek-credential-aes256gcm-v1':
      return {
        credential_blob: base64(envelope.credentialBlob),
        encrypted_secret: base64(envelope.encryptedSecret),
        ak_name: base64(envelope.akName),
      };
  }
};

export const presentEnvelope = (envelope: Envelope) => ({
  format: envelope.format,
  machine_id: envelope.machineId,
  ...fields(envelope),
  iv: base64(envelope.iv),
  ciphertext: base64(envelope.ciphertext),
});
