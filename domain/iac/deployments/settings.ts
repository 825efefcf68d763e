/** Settings of a stack's deployments: the CLI's own JSON, kept as it is. */
export type SettingsJson =
  null | boolean | number | string | readonly SettingsJson[] | { readonly [member: string]: SettingsJson };

type SettingsObject = Readonly<Record<string, SettingsJson>>;

const isObject = (value: SettingsJson | undefined): value is SettingsObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A secret as it was shown: whoever sends it back means the stored one. */
const isShownSecret = (value: SettingsJson): boolean => isObject(value) && 'ciphertext' in value;

/** JSON merge patch (RFC 7396): null removes a member. A secret that was only shown keeps its stored value. */
export const mergeSettings = (stored: SettingsObject, patch: SettingsObject): SettingsObject => {
  const merged = new Map(Object.entries(stored));
  for (const [member, value] of Object.entries(patch)) {
    const old = merged.get(member);
    if (value === null) merged.delete(member);
    else if (isShownSecret(value)) continue;
    else if (isObject(value) && !isSecret(value))
      merged.set(member, mergeSettings(isObject(old) ? old : {}, value));
    else merged.set(member, value);
  }
  return Object.fromEntries(merged);
};

const isSecret = (value: SettingsObject): boolean => 'secret' in value || value['isSecret'] === true;

/** For whoever asks: every secret gives way to a mark. */
export const showSettings = (value: SettingsJson): SettingsJson => {
  if (Array.isArray(value)) return (value as readonly SettingsJson[]).map(showSettings);
  if (!isObject(value)) return value;
  if (isSecret(value)) return { ciphertext: 'stored' };
  return Object.fromEntries(Object.entries(value).map(([member, inner]) => [member, showSettings(inner)]));
};
