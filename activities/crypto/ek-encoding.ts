import { AppError } from '../../domain/errors.js';
import { decodeBase64 } from './base64.js';
import { readElement } from './der.js';
import { firstPemBlock } from './pem.js';

/**
 * EK material arrives as base64 of PEM, DER, a padded NV dump or an NV dump behind a TCG header. One machine must stay
 * one machine, so all of them are brought to the one DER structure inside.
 */
const maxBytes = 8192;
const pemStart = Buffer.from('-----BEGIN ');

export interface EkEncoding {
  /** The bytes as the client sent them; a naive client hashes these. */
  readonly sent: Buffer;
  /** What is inside, not yet cut at the end of its DER structure. */
  readonly inner: Buffer;
}

/** Decodes the outer wrappings; throws `invalid` with the reason. `pemLabel` is the only PEM label accepted. */
export const unwrapEkMaterial = (base64: string, pemLabel: string): EkEncoding => {
  const sent = decodeBase64(base64, 'EK material', maxBytes);
  if (sent.length === 0) throw new AppError('invalid', 'EK material is empty');
  const isPem = sent.subarray(0, pemStart.length).equals(pemStart);
  return {
    sent,
    inner: stripTcgHeader(isPem ? firstPemBlock(sent.toString('latin1'), pemLabel, 'EK material') : sent),
  };
};

const tcgHeader = Buffer.from([0x10, 0x01, 0x00]);
const tcgHeaderBytes = 5;

/** TCG_PCCLIENT_STORED_CERT: tag 1001, type 00 (full certificate), two bytes of length. */
const stripTcgHeader = (bytes: Buffer): Buffer => {
  if (!bytes.subarray(0, tcgHeader.length).equals(tcgHeader)) return bytes;
  const length = bytes.length < tcgHeaderBytes ? 0 : bytes.readUInt16BE(3);
  const rest = bytes.subarray(tcgHeaderBytes);
  if (length === 0 || length > rest.length) throw new AppError('invalid', 'TCG header has a wrong length');
  return rest.subarray(0, length);
};

/** Cuts NV padding (all 00 or all FF) behind the DER structure; any other trailing byte is refused. */
export const cutPadding = (bytes: Buffer): Buffer => {
  const { raw } = readElement(bytes);
  const [first, ...rest] = bytes.subarray(raw.length);
  const isPadding =
    first === undefined || ((first === 0x00 || first === 0xff) && rest.every((b) => b === first));
  if (!isPadding) throw new AppError('invalid', 'EK material has trailing bytes');
  return raw;
};
