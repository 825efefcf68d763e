import type { TpmHash } from './algorithms.js';
import { hashOf, hashes } from './algorithms.js';
import type { TpmReader } from './bytes.js';
import { concat, u16, u32 } from './bytes.js';

/** One bank of a TPML_PCR_SELECTION; `pcrs` ascend. */
export interface PcrSelection {
  readonly bank: TpmHash;
  readonly pcrs: readonly number[];
}

const maxBanks = 16;
/** PCR_SELECT_MAX of the reference implementation: 32 registers. */
const maxBitmap = 4;
const usualBitmap = 3;

const setBits = (bitmap: Uint8Array): number[] =>
  Array.from({ length: bitmap.length * 8 }, (_, pcr) => pcr).filter(
    (pcr) => ((bitmap[pcr >> 3] ?? 0) >> (pcr & 7)) & 1,
  );

/** TPML_PCR_SELECTION (TPM 2.0 part 2, 10.9.7). SHA-1 banks and a bank named twice are refused. */
export const readPcrSelections = (reader: TpmReader): PcrSelection[] => {
  const count = reader.u32();
  if (count > maxBanks) throw reader.error(`${count} PCR selections, at most ${maxBanks} are possible`);
  const selections: PcrSelection[] = [];
  for (let index = 0; index < count; index += 1) {
    const id = reader.u16();
    const bank = hashOf(id);
    if (bank === undefined) throw reader.error(`PCR bank 0x${id.toString(16)} is not accepted`);
    if (selections.some((earlier) => earlier.bank === bank)) throw reader.error(`PCR bank ${bank} twice`);
    const size = reader.u8();
    if (size > maxBitmap) throw reader.error(`a PCR bitmap of ${size} bytes`);
    selections.push({ bank, pcrs: setBits(reader.bytes(size)) });
  }
  return selections;
};

const bitmapOf = (pcrs: readonly number[]): Uint8Array => {
  const bitmap = new Uint8Array(usualBitmap);
  for (const pcr of pcrs) bitmap[pcr >> 3] = (bitmap[pcr >> 3] ?? 0) | (1 << (pcr & 7));
  return bitmap;
};

/** The bytes of a TPML_PCR_SELECTION over PCRs 0 to 23. */
export const encodePcrSelections = (selections: readonly PcrSelection[]): Uint8Array =>
  concat(
    u32(selections.length),
    ...selections.map(({ bank, pcrs }) =>
      concat(u16(hashes[bank].id), Uint8Array.of(usualBitmap), bitmapOf(pcrs)),
    ),
  );
