import Router from '@koa/router';
import type { Enrollment } from '../../../activities/broker/enroll.js';
import type { ImportedMachine, TpmReceipt } from '../../../activities/broker/import-machine.js';
import type { OfflineBundle } from '../../../activities/broker/offline-bundle.js';
import type { CertificateRequest, IssuedEnrollment } from '../../../activities/broker/request-cert.js';
import type { MachineRecord } from '../../../db/broker/machines.js';
import type { Actor } from '../../../domain/broker/actor.js';
import { actorOf } from '../../auth/actor.js';
import type { RequireOperator } from '../../auth/actor.js';
import type { RequestState } from '../../http/state.js';
import { uuidInPath, validate } from '../../http/validate.js';
import {
  presentBundle,
  presentEnrolled,
  presentImported,
  presentIssued,
  presentOperatorCertificate,
} from '../presenters/pki.js';
import { EnrollRequest, ImportRequest, IssueOperatorRequest, RequestCertRequest } from '../schemas/pki.js';

export interface PkiNodeUseCases {
  readonly enroll: (input: Enrollment) => Promise<MachineRecord>;
  readonly requestCert: (machineId: string, request: CertificateRequest) => Promise<IssuedEnrollment>;
  /** DER. */
  readonly revocationList: () => Promise<Buffer>;
  readonly toPem: (label: string, der: Uint8Array) => string;
}

/** The enrollment PKI as nodes and relying parties see it. */
export const pkiNodeRoutes = (useCases: PkiNodeUseCases): Router<RequestState> =>
  new Router<RequestState>()
    .post('/machines/enroll', async (ctx) => {
      const machine = await useCases.enroll(validate(EnrollRequest, ctx.request.body));
      ctx.state.logFields = { machineId: machine.machineId };
      ctx.body = presentEnrolled(machine);
    })
    .post('/machines/:machine_id/request-cert', async (ctx) => {
      const machineId = uuidInPath(ctx.params['machine_id'], 'Machine');
      ctx.state.logFields = { machineId };
      ctx.set('Cache-Control', 'no-store');
      const request = validate(RequestCertRequest, ctx.request.body);
      ctx.body = presentIssued(await useCases.requestCert(machineId, request));
    })
    .get('/ca/crl', async (ctx) => {
      ctx.type = 'application/pkix-crl';
      ctx.body = await useCases.revocationList();
    })
    .get('/ca/crl.pem', async (ctx) => {
      ctx.type = 'application/x-pem-file';
      ctx.body = useCases.toPem('X509 CRL', await useCases.revocationList());
    });

export interface PkiOperatorUseCases {
  readonly issueOperator: (
    actor: Actor,
    commonName: string,
    csrPem: string,
  ) => Promise<{ readonly pem: string; readonly serial: string; readonly notAfter: Date }>;
  readonly caPem: string;
  readonly importMachine: (actor: Actor, receipt: TpmReceipt) => Promise<ImportedMachine>;
  readonly offlineBundle: (actor: Actor, machineId: string) => Promise<OfflineBundle>;
}

/** The enrollment PKI as operators see it. */
export const pkiOperatorRoutes = (
  useCases: PkiOperatorUseCases,
  operator: RequireOperator,
): Router<RequestState> =>
  new Router<RequestState>()
    .post('/operators/:cn/issue-cert', operator, async (ctx) => {
      const { csr_pem: csrPem } = validate(IssueOperatorRequest, ctx.request.body);
      const issued = await useCases.issueOperator(actorOf(ctx), ctx.params['cn'] ?? '', csrPem);
      ctx.status = 201;
      ctx.body = presentOperatorCertificate(issued, useCases.caPem);
    })
    .post('/machines/import', operator, async (ctx) => {
      const imported = await useCases.importMachine(actorOf(ctx), validate(ImportRequest, ctx.request.body));
      ctx.state.logFields = { ...ctx.state.logFields, machineId: imported.machine.machineId };
      ctx.set('Cache-Control', 'no-store');
      ctx.body = presentImported(imported);
    })
    .get('/machines/:machine_id/offline-bundle', operator, async (ctx) => {
      const machineId = uuidInPath(ctx.params['machine_id'], 'Machine');
      ctx.state.logFields = { ...ctx.state.logFields, machineId };
      ctx.set('Cache-Control', 'no-store');
      ctx.body = presentBundle(await useCases.offlineBundle(actorOf(ctx), machineId));
    });
