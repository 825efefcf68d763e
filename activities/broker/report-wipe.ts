import type { MachineRecord } from '../../db/broker/machines.js';
import type { ActContext } from '../../domain/broker/audit.js';
import { AppError } from '../../domain/errors.js';
import type { AttestationKey } from '../crypto/ak.js';
import { decodeBase64 } from '../crypto/base64.js';
import { verifyNonceSignature } from '../crypto/nonce-signature.js';
import type { Acts } from './acts.js';

export interface WipeReport {
  readonly nonceId: string;
  readonly nonceSignature: string;
  readonly context: ActContext;
}

export interface ReportWipeDeps {
  readonly completeWipe: Acts['completeWipe'];
  readonly redeemNonce: (nonceId: string) => Promise<Buffer>;
  readonly attestationKeyOf: (machineId: string) => Promise<AttestationKey | undefined>;
}

/** The node itself says that its wipe is done, proved by its AK; one `forbidden` whatever is wrong with the proof. */
export const createReportWipe =
  ({ completeWipe, redeemNonce, attestationKeyOf }: ReportWipeDeps) =>
  async (machineId: string, { nonceId, nonceSignature, context }: WipeReport): Promise<MachineRecord> => {
    const nonce = await redeemNonce(nonceId);
    const ak = await attestationKeyOf(machineId);
    const signature = decodeBase64(nonceSignature, 'nonce_signature', 2048);
    if (ak === undefined || !(await verifyNonceSignature(ak, nonce, signature))) {
      throw new AppError('forbidden', 'the wipe was not reported by this machine', {
        code: 'wipe_not_proved',
      });
    }
    return completeWipe({ operatorCn: 'NODE', identity: 'NODE', context }, machineId);
  };
