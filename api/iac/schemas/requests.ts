import { z } from 'zod';
import type { Json } from '../../../domain/iac/json.js';
import { finalStatuses } from '../../../domain/iac/update.js';
import { plainText } from '../../http/validate.js';

/** What the CLI sends. Unknown members are dropped; names are the CLI's own. */
const tags = z.record(z.string(), z.string());
const json = z.custom<Json>(() => true);
const MAX_VALUES = 1_000;
const base64 = z.string().max(64 * 1_048_576);

export const CreateStackRequest = z.object({
  stackName: z.string(),
  tags: tags.nullish(),
  config: json.optional(),
});

export const TagsRequest = tags;
export const ConfigRequest = z.looseObject({ environment: plainText(1000).nullish() });
export const RenameRequest = z.object({
  newName: z.string().default(''),
  newProject: z.string().default(''),
});

export const ProgramRequest = z.object({
  options: z.object({ dryRun: z.boolean().nullish() }).nullish(),
  config: z.record(z.string(), json).nullish(),
  metadata: z
    .object({
      message: plainText(10_000).nullish(),
      environment: z.record(plainText(200), plainText(100_000)).nullish(),
    })
    .nullish(),
});

export const StartRequest = z.object({ tags: tags.nullish(), journalVersion: z.int().min(0).nullish() });
export const RenewRequest = z.object({ duration: z.int().min(0).default(300) });
export const CompleteRequest = z.object({ status: z.enum(finalStatuses) });

export const EncryptRequest = z.object({ plaintext: base64 });
export const DecryptRequest = z.object({ ciphertext: base64 });
export const BatchEncryptRequest = z.object({ plaintexts: z.array(base64).max(MAX_VALUES) });
export const BatchDecryptRequest = z.object({ ciphertexts: z.array(base64).max(MAX_VALUES) });

export const checkpointVersion = z.int().min(1);
export const sequenceNumber = z.int().min(1).max(2_147_483_647);
export const checkpointHash = z.string().regex(/^[0-9a-f]{64}$/, 'must be lower-case hex SHA-256');
export const featureList = z.array(z.string().max(100)).max(100).nullish();

const pageNumber = z.coerce.number().int().min(1).max(1_000_000);
export const PageQuery = z.object({
  page: pageNumber.default(1),
  pageSize: z.coerce.number().int().min(1).max(1_000).default(10),
});
export const StacksQuery = z.object({
  organization: z.string().optional(),
  project: z.string().optional(),
  tagName: z.string().optional(),
  tagValue: z.string().optional(),
  continuationToken: z.string().max(2_000).optional(),
});
export const EventsQuery = z.object({
  continuationToken: z
    .string()
    .regex(/^\d{1,10}$/)
    .optional(),
  type: z.string().max(100).optional(),
  urn: z.string().max(5_000).optional(),
});
export const RemoveQuery = z.object({ force: z.stringbool().default(false) });
