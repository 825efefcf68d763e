import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import { loadEnrollmentAuthority } from '../../activities/broker/enrollment-authority.js';
import { newEnrollmentKey, privateKeyPem } from '../../activities/broker/issue-certificate.js';
import { createIssueOperatorCertificate } from '../../activities/broker/operator-certificates.js';
import { readCsr } from '../../activities/crypto/csr.js';
import { connectDatabase } from '../../db/connect.js';
import { migrate } from '../../db/migrate.js';
import { systemClock } from '../../domain/clock.js';
import { databaseSettings } from '../../domain/config/database.js';
import { svcSettings } from '../../domain/config/svc.js';
import { environment, loadSettings } from '../process/environment.js';

interface Options {
  readonly cn: string;
  readonly csr?: string;
  readonly out: string;
}

/** `npm run operator-cert -- --cn NAME`: a client certificate for an operator, signed by the CA of this service. */
const run = async ({ cn, csr, out }: Options): Promise<void> => {
  const config = loadSettings({ ...svcSettings, ...databaseSettings }, environment(process.env));
  const db = connectDatabase({ ...config, DATABASE_POOL_MAX: 2 }, 'operator-cert');
  try {
    await migrate(db);
    const authority = await loadEnrollmentAuthority(db, config);
    const pair = csr === undefined ? await newEnrollmentKey() : undefined;
    const publicKey = pair?.publicKey ?? (await readCsr(await readFile(csr ?? '', 'utf8')));
    const issue = createIssueOperatorCertificate({
      ...{ db, authority, clock: systemClock, operatorCertDays: config.SVC_OPERATOR_CERT_DAYS },
    });
    const context = { requestId: null, sourceAddress: null, method: 'system' };
    const issued = await issue({ operatorCn: 'SYSTEM', context }, cn, publicKey);
    const file = join(out, cn.replace(/[^\p{L}\p{N}._-]/gu, '_'));
    if (pair !== undefined)
      await writeFile(`${file}.key`, privateKeyPem(pair.privateKey), { mode: 0o600, flag: 'wx' });
    await writeFile(`${file}.crt`, issued.pem, { flag: 'wx' });
    console.log(
      `${file}.crt${pair === undefined ? '' : ` and ${file}.key`}, valid until ${issued.notAfter.toISOString()}`,
    );
  } finally {
    await db.destroy();
  }
};

await new Command('operator-cert')
  .requiredOption('--cn <name>', 'name of the operator, as the audit log will show it')
  .option('--csr <file>', 'certify the key of this request instead of making one')
  .option('--out <dir>', 'folder of the files', '.')
  .action(run)
  .parseAsync();
