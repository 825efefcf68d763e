/** `urn:pulumi:<stack>::<project>::<qualified type>::<name>`; the name may itself contain `::`. */
export interface Urn {
  readonly stack: string;
  readonly project: string;
  /** Types of the parents and of the resource, joined by `$`. */
  readonly qualifiedType: string;
  readonly name: string;
}

export const ROOT_STACK_TYPE = 'pulumi:pulumi:Stack';
const PREFIX = 'urn:pulumi:';

/** `undefined` for text that is no URN. */
export const parseUrn = (text: string): Urn | undefined => {
  if (!text.startsWith(PREFIX)) return undefined;
  const [stack, project, qualifiedType, ...name] = text.slice(PREFIX.length).split('::');
  if (stack === undefined || project === undefined || qualifiedType === undefined || name.length === 0) {
    return undefined;
  }
  return { stack, project, qualifiedType, name: name.join('::') };
};

export const formatUrn = ({ stack, project, qualifiedType, name }: Urn): string =>
  `${PREFIX}${stack}::${project}::${qualifiedType}::${name}`;

/** The resource's own type: the last of the qualified type. */
export const ownType = ({ qualifiedType }: Urn): string =>
  qualifiedType.slice(qualifiedType.lastIndexOf('$') + 1);

/** A provider reference is `<URN>::<id>`; the URN part goes through `change`. */
export const mapProviderReference = (reference: string, change: (urn: string) => string): string => {
  const cut = reference.lastIndexOf('::');
  return cut < 0 ? reference : change(reference.slice(0, cut)) + reference.slice(cut);
};
