import { parse, stringify } from 'yaml';
import { z } from 'zod';

/** The factory's schematic; a field it does not know is an error there too. Order of the fields = order of the canonical form. */
const Schematic = z.strictObject({
  overlay: z
    .strictObject({
      image: z.string().default(''),
      name: z.string().default(''),
      options: z.record(z.string(), z.unknown()).optional(),
    })
    .optional(),
  customization: z
    .strictObject({
      extraKernelArgs: z.array(z.string()).optional(),
      meta: z.array(z.strictObject({ key: z.int().min(0).max(255), value: z.string() })).optional(),
      systemExtensions: z.strictObject({ officialExtensions: z.array(z.string()).optional() }).optional(),
      secureboot: z.strictObject({ includeWellKnownCertificates: z.boolean().optional() }).optional(),
    })
    .nullish()
    .transform((value) => value ?? {}),
});

const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === false ||
  (Array.isArray(value) && value.length === 0) ||
  (typeof value === 'object' && Object.keys(value).length === 0);

/** Leaves out what is empty, as the factory's encoder does. */
const withoutEmpty = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutEmpty);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value)
    .map(([key, item]) => [key, withoutEmpty(item)] as const)
    .filter(([, item]) => !isEmpty(item));
  return Object.fromEntries(kept);
};

/** The canonical YAML of a schematic (4 spaces, empty fields left out); its SHA-256 is the id. Throws on anything else. */
export const canonicalSchematic = (yaml: string): string => {
  const parsed = Schematic.safeParse(parse(yaml) ?? {});
  if (!parsed.success) throw new Error(`invalid schematic: ${z.prettifyError(parsed.error)}`);
  const { overlay, customization } = parsed.data;
  const ordered = {
    ...(overlay === undefined || (overlay.image === '' && overlay.name === '') ? {} : { overlay }),
    customization: withoutEmpty(customization),
  };
  return stringify(ordered, { indent: 4, lineWidth: 0, indentSeq: true });
};
