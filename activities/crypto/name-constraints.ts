import type { Certificate } from './certificate.js';
import { extensionOid } from './certificate-extensions.js';
import { children, context, derError, readSequence } from './der.js';
import type { GeneralName } from './general-names.js';
import { emailsIn, readGeneralName, readGeneralNames, readRdns } from './general-names.js';

/** Name constraints of a CA (RFC 5280, 4.2.1.10). */
export interface NameConstraints {
  readonly permitted: readonly GeneralName[];
  readonly excluded: readonly GeneralName[];
}

const maxSubtrees = 256;

/** Undefined when the extension is absent; malformed or unsupported subtrees throw. */
export const nameConstraints = (certificate: Certificate): NameConstraints | undefined => {
  const value = certificate.extensions.get(extensionOid.nameConstraints)?.value;
  if (value === undefined) return undefined;
  const parts = readSequence(value);
  const unknown = parts.some(({ tag }) => tag !== context(0) && tag !== context(1));
  if (parts.length === 0 || unknown) throw derError('name constraints');
  const subtrees = (number: number) =>
    parts
      .filter(({ tag }) => tag === context(number))
      .flatMap(children)
      .map((subtree) => {
        const [base, ...bounds] = children(subtree);
        if (base === undefined || bounds.length > 0) throw derError('name constraint with bounds');
        return supported(readGeneralName(base));
      });
  const [permitted, excluded] = [subtrees(0), subtrees(1)];
  if (permitted.length + excluded.length > maxSubtrees) throw derError('too many name constraints');
  return { permitted, excluded };
};

const supported = (base: GeneralName): GeneralName => {
  if (base.kind === 'other') throw derError('name constraint of an unsupported type');
  if (base.kind === 'ip' && !isMasked(base.bytes)) throw derError('name constraint on addresses');
  if (base.kind === 'dns' && (base.text.startsWith('.') || base.text.includes('*'))) {
    throw derError('name constraint on domains');
  }
  return base;
};

/** Address and mask of IPv4 or IPv6, the mask being a prefix. */
const isMasked = (bytes: Buffer): boolean => {
  if (bytes.length !== 8 && bytes.length !== 32) return false;
  const mask = [...bytes.subarray(bytes.length / 2)]
    .map((byte) => byte.toString(2).padStart(8, '0'))
    .join('');
  return /^1*0*$/.test(mask);
};

/** All names of a certificate that constraints speak about. */
export const namesOf = (certificate: Certificate): GeneralName[] => {
  const rdns = readRdns(certificate.subject);
  const directory: GeneralName[] = rdns.length === 0 ? [] : [{ kind: 'directory', rdns }];
  const emails = emailsIn(rdns).map((text): GeneralName => ({ kind: 'email', text }));
  const alternative = certificate.extensions.get(extensionOid.subjectAltName)?.value;
  return [...directory, ...emails, ...(alternative === undefined ? [] : readGeneralNames(alternative))];
};

/** Why `names` break the constraints; undefined when they keep them. */
export const breach = (constraints: NameConstraints, names: readonly GeneralName[]): string | undefined => {
  for (const name of names) {
    const same = (base: GeneralName) => base.kind === name.kind;
    if (constraints.excluded.filter(same).some((base) => covers(base, name) || wildcardMeets(base, name))) {
      return `a ${name.kind} name is excluded`;
    }
    const permitted = constraints.permitted.filter(same);
    if (permitted.length > 0 && !permitted.some((base) => covers(base, name))) {
      return `a ${name.kind} name is not among the permitted ones`;
    }
  }
  return undefined;
};

const covers = (base: GeneralName, name: GeneralName): boolean => {
  if (base.kind === 'directory') {
    return name.kind === 'directory' && base.rdns.every((rdn, index) => rdn === name.rdns[index]);
  }
  if (base.kind === 'ip') return name.kind === 'ip' && inNetwork(base.bytes, name.bytes);
  if (base.kind === 'other' || name.kind !== base.kind) return false;
  const [wanted, text] = [base.text.toLowerCase(), name.text.toLowerCase()];
  if (base.kind === 'dns') return wanted === '' || text === wanted || text.endsWith(`.${wanted}`);
  return base.kind === 'email' ? coversEmail(wanted, text) : coversHost(wanted, hostOf(text));
};

/** `*.example.org` stands for names that an excluded subtree below it covers. */
const wildcardMeets = (base: GeneralName, name: GeneralName): boolean =>
  base.kind === 'dns' &&
  name.kind === 'dns' &&
  name.text.startsWith('*.') &&
  `.${base.text.toLowerCase()}`.endsWith(name.text.slice(1).toLowerCase());

const coversEmail = (wanted: string, address: string): boolean => {
  if (wanted.includes('@')) return wanted === address;
  return coversHost(wanted, address.slice(address.lastIndexOf('@') + 1));
};

const coversHost = (wanted: string, host: string | undefined): boolean => {
  if (host === undefined) return false;
  return wanted.startsWith('.') ? host.endsWith(wanted) : host === wanted;
};

const hostOf = (uri: string): string | undefined =>
  /^[a-z][a-z0-9+.-]*:\/\/(?:[^/?#@]*@)?([^/?#:@]+)/.exec(uri)?.[1];

const inNetwork = (network: Buffer, address: Buffer): boolean => {
  const size = network.length / 2;
  if (address.length !== size) return false;
  return address.every((byte, index) => {
    const mask = network[size + index] ?? 0;
    return (byte & mask) === ((network[index] ?? 0) & mask);
  });
};
