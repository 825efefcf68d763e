import { expect } from '@jest/globals';
import { softwareEk } from './ek.js';
import type { HttpAnswer } from './http.js';
import type { BrokerWorld } from './world.js';

/** A 4xx whose body says why, in the broker's own shape. */
export const refusal = (answer: HttpAnswer): string | undefined => {
  const { detail } = answer.body as { detail?: unknown };
  const reasons = Array.isArray(detail) ? detail.map((issue: { msg?: unknown }) => issue.msg) : [detail];
  const told = reasons.length > 0 && reasons.every((reason) => typeof reason === 'string' && reason !== '');
  return answer.status >= 400 && answer.status < 500 && told
    ? undefined
    : `${answer.status} ${answer.text.slice(0, 200)}`;
};
export const expectRefused = (answer: HttpAnswer, ...statuses: number[]): void => {
  expect(refusal(answer)).toBeUndefined();
  if (statuses.length > 0) expect(statuses).toContain(answer.status);
};
export const fineOrRefused = (answer: HttpAnswer): string | undefined =>
  answer.status >= 200 && answer.status < 300 ? undefined : refusal(answer);

/** Text that has no reason to be refused. */
export const isPlain = (text: string, max: number): boolean =>
  text.isWellFormed() && !text.includes('\u0000') && text.length <= max;

/** Runs `work` over all items, sixteen at a time, and gives the complaints. */
export const complaints = async <T>(
  items: readonly T[],
  work: (item: T) => Promise<string | undefined>,
): Promise<string[]> => {
  const found: string[] = [];
  const queue = items.entries();
  const runner = async (): Promise<void> => {
    for (const [, item] of queue) {
      const complaint = await work(item);
      if (complaint !== undefined) found.push(`${JSON.stringify(item).slice(0, 80)}: ${complaint}`);
    }
  };
  await Promise.all(Array.from({ length: 16 }, runner));
  return found;
};

const ek = ['ek_fingerprint', 'ek_cert_pem', 'ek_source'];
/** Free text that one rule judges: set together, to save requests. */
const names = 'hw_uuid+hw_serial+hw_product';
interface BodyOf {
  readonly path: string;
  readonly method?: 'put';
  readonly fields: readonly string[];
  readonly base: () => object;
}
/** Every string field of every body: path, fields, and the rest of the body. */
export const bodies: readonly BodyOf[] = [
  { path: 'register', fields: [...ek, names, 'hw_mac', 'desired_role'], base: softwareEk },
  { path: 'self-register', fields: [...ek, names, 'hw_mac', 'desired_role'], base: softwareEk },
  {
    path: 'attest',
    fields: [...ek, names, 'hw_mac', 'nonce_id', 'nonce_signature', 'pcr_quote', 'pcr_signature'],
    base: softwareEk,
  },
  {
    path: 'machines/:id/approve',
    fields: ['role', 'hostname', 'assigned_ip'],
    base: () => ({ role: 'worker-app' }),
  },
  { path: 'machines/:id/lock', fields: ['reason'], base: () => ({}) },
  { path: 'machines/:id/reject', fields: ['reason'], base: () => ({}) },
  { path: 'machines/:id/revoke', fields: ['reason'], base: () => ({}) },
  {
    path: 'machines/:id/ak-activate',
    fields: ['ek_fingerprint', 'ak_public'],
    base: () => ({ ek_fingerprint: 'a'.repeat(96), ak_public: 'AAAA' }),
  },
  {
    path: 'machines/:id/ak-activate',
    fields: ['activation_id', 'secret'],
    base: () => ({ activation_id: '6f1d7d2c-5b1e-4c9f-8a55-0d9b7c1f2e3a', secret: 'AAAA' }),
  },
  {
    path: 'pcr-policies/worker-app',
    method: 'put',
    fields: ['bank', 'mode', 'pcrs'],
    base: () => ({ bank: 'sha256', pcrs: { 7: ['00'.repeat(32)] } }),
  },
];
export const everyField = bodies.flatMap(({ fields, ...rest }) =>
  fields.map((field) => ({ ...rest, field })),
);
export const setting = (field: string, value: unknown): object =>
  Object.fromEntries(field.split('+').map((name) => [name, value]));
/** Sends a body to a path of `bodies`, `:id` being the machine. */
export const sender =
  (world: BrokerWorld, machineId: string) =>
  (path: string, body: unknown, method: 'post' | 'put' = 'post'): Promise<HttpAnswer> =>
    world.admin[method](`/api/v1/${path.replace(':id', machineId)}`, body);

/** A new machine that waits for approval; gives its id. */
export const newMachine = async (world: BrokerWorld): Promise<string> => {
  const answer = await world.node.post('/api/v1/self-register', softwareEk());
  expect(answer.status).toBe(200);
  return answer.body.machine_id as string;
};
